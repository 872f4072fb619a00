/** What a pool and its threads say to each other. */
import type { FailureCode } from '@platen/contract/error.ts'
import type { Rendering, RenderWork } from '../port/engine.ts'
import type { CheckFault, CheckRequest } from '../template/check.ts'
import type { ScannedHtml } from '../template/html/fill.ts'

export type RenderTask =
  | { readonly kind: 'react_pdf'; readonly work: RenderWork }
  | { readonly kind: 'fill'; readonly work: RenderWork }
  | { readonly kind: 'check'; readonly check: CheckRequest }

export type TaskKind = RenderTask['kind']

export interface TaskResults {
  readonly react_pdf: Rendering<Uint8Array<ArrayBuffer>>
  readonly fill: ScannedHtml
  readonly check: readonly CheckFault[]
}

/** What a thread is sent: a task, or to warm up, as the first render of a thread takes ten times as long as the hundredth. */
export type ThreadMessage = RenderTask | { readonly kind: 'warm_up' }

/** What a thread says: once that it is loaded, then one answer to each message. */
export type ThreadReply =
  | { readonly kind: 'loaded' }
  | { readonly kind: 'warm' }
  | { readonly kind: 'done'; readonly value: TaskResults[TaskKind] }
  /** It is to be asked again with these files. */
  | { readonly kind: 'wanting'; readonly urls: readonly string[] }
  /** Without a code it is a defect of the service. */
  | { readonly kind: 'failed'; readonly code?: FailureCode; readonly message: string; readonly stack?: string }
