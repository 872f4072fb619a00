import { type FailureCode, ServiceError } from '@platen/contract/domain/error.ts'
import type { CheckFault, CheckRequest } from '@platen/contract/domain/template-check.ts'
import type { ConsoleLine, Rendering, RenderWork } from '../../port/engine.ts'
import type { FontFace } from '../../template/asset/font/default-fonts.ts'
import { FilesNeeded } from '../../template/asset/remote-images.ts'
import type { ScannedHtml } from '../../template/html/fill.ts'

export type RenderTask =
  | { readonly kind: 'react_pdf'; readonly work: RenderWork; readonly isConsoleKept?: boolean }
  | { readonly kind: 'fill'; readonly work: RenderWork }
  | { readonly kind: 'check'; readonly check: CheckRequest }

export type TaskKind = RenderTask['kind']

export interface TaskResults {
  readonly react_pdf: Rendering<Uint8Array<ArrayBuffer>>
  readonly fill: ScannedHtml
  readonly check: readonly CheckFault[]
}

export interface ThreadData {
  readonly kinds: readonly TaskKind[]
  readonly faces: readonly FontFace[]
  readonly isLow: boolean
}

/** The first render of a thread takes ten times as long as the hundredth, hence the warm-up. */
export type ThreadMessage = RenderTask | { readonly kind: 'warm_up' }

/** `loaded` once, then one reply to each message. `console` comes while a task runs. */
export type ThreadReply =
  | { readonly kind: 'loaded' }
  | { readonly kind: 'warm' }
  | { readonly kind: 'console'; readonly line: ConsoleLine }
  /** `keptBytes` is the memory that the thread keeps after the task. Asking a thread for it takes longer. */
  | (TaskEnd & { readonly keptBytes: number })

export type TaskEnd =
  | { readonly kind: 'done'; readonly value: TaskResults[TaskKind] }
  /** The task needs these files. Send it again with them. */
  | { readonly kind: 'wanting'; readonly urls: readonly string[] }
  /** A failure without a code is a defect of the service. */
  | { readonly kind: 'failed'; readonly code?: FailureCode; readonly message: string; readonly stack?: string }

export function errorOf(reply: Extract<TaskEnd, { kind: 'failed' | 'wanting' }>): Error {
  if (reply.kind === 'wanting') return new FilesNeeded(reply.urls)
  const { code, message, stack } = reply
  if (code !== undefined) return new ServiceError(code, message)
  return Object.assign(new Error(message), stack === undefined ? {} : { stack })
}

export function isOutOfMemory(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

/** The failure of a task whose thread has exited by itself, with `cause` if the thread gave one. */
export function exitError(cause: unknown, heapMibMax: number): ServiceError {
  return isOutOfMemory(cause)
    ? outOfMemory(heapMibMax)
    : new ServiceError('render_crashed', 'the render thread died', { cause })
}

export function outOfCpu(cpuMsMax: number): ServiceError {
  return new ServiceError('template_error', `it or its types take more than ${cpuMsMax / 1000} s of CPU`)
}

export function outOfMemory(heapMibMax: number): ServiceError {
  return new ServiceError('template_error', `the document needs more than ${heapMibMax} MiB of memory`)
}
