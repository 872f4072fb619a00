/** What a worker stands on, and how it waits for it. */
import type { EventKey } from '@platen/contract/event.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { RenderQueue } from '@platen/contract/port/render-queue.ts'
import type { RendererMeter } from '@platen/contract/port/renderer-meter.ts'
import type { ReplyChannel } from '@platen/contract/port/reply-channel.ts'
import type { Lane } from '@platen/contract/render.ts'
import { retryWhileUnavailable } from '@platen/contract/retry.ts'
import { STORE_RETRY_MS_MAX } from '@platen/contract/worker-limit.ts'
import type { RenderEngine } from '../port/engine.ts'
import type { WorkSource } from './work-source.ts'

export interface WorkerPorts {
  readonly queue: RenderQueue
  readonly ledger: RenderLedger
  readonly artifacts: ArtifactStore
  readonly events: EventLog
  readonly replies: ReplyChannel
  readonly limiter: Limiter
  readonly directory: Directory
  readonly clock: Clock
  readonly log: Log
  readonly meter: RendererMeter
}

export interface WorkerSettings {
  /** Names this process and this start of it in claims. */
  readonly owner: string
  /** Where manifests and templates stand. */
  readonly serviceBucket: string
  readonly eventKey: EventKey
  /** The lanes it takes renders from; absent = all. */
  readonly lanes?: readonly Lane[]
}

/** The worker of one engine, as the steps of a render know it. */
export interface Worker extends WorkerPorts {
  readonly engine: RenderEngine
  readonly settings: WorkerSettings
  readonly source: WorkSource
  /** Aborts when it is to begin nothing more. */
  readonly drain: AbortSignal
  /** Aborts when it is to leave what it has in hand to others, whatever that is at. */
  readonly forceStop: AbortSignal
}

/**
 * Repeats a step until what it needs can be reached. The slot waits with it: other renders would fare no better, and one whose
 * outcome is known must not be rendered again. Only `forceStop` ends it, in the middle of the step if need be.
 */
export function withRetry<T>(worker: Worker, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, log, forceStop: signal } = worker
  return retryWhileUnavailable(() => step(signal), { clock, log, signal, waitMsMax: STORE_RETRY_MS_MAX })
}

/** Repeats a step as `withRetry` does, but no longer than until `deadline` aborts, of which a step may know. Undefined = it did. */
export async function retryUntil<T>(
  worker: Worker,
  deadline: AbortSignal,
  step: () => Promise<T>,
): Promise<T | undefined> {
  const { clock, log, forceStop } = worker
  const signal = AbortSignal.any([forceStop, deadline])
  try {
    return await retryWhileUnavailable(step, { clock, log, signal, waitMsMax: STORE_RETRY_MS_MAX })
  } catch (error) {
    if (deadline.aborted && error === deadline.reason) return undefined
    throw error
  }
}
