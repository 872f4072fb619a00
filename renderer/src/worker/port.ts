/** The ports of a worker, and how it retries while one is unavailable. */
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
  /** Identifies this process and this start of it in claims. */
  readonly owner: string
  /** The bucket of manifests and templates. */
  readonly serviceBucket: string
  readonly eventKey: EventKey
  /** The lanes that it takes renders from. Absent means all. */
  readonly lanes?: readonly Lane[]
}

/** The worker of one engine, as the stages of a render see it. */
export interface Worker extends WorkerPorts {
  readonly engine: RenderEngine
  readonly settings: WorkerSettings
  readonly source: WorkSource
  /** Aborts when the worker must begin nothing more. */
  readonly drain: AbortSignal
  /** Aborts when the worker must leave its running renders to others, at whatever stage they are. */
  readonly forceStop: AbortSignal
}

/**
 * Repeats a step until the port it needs is available. The slot waits meanwhile: other renders would wait for the same port, and a render
 * with a known outcome must not run again. Only `forceStop` ends it, also in the middle of a step.
 */
export function withRetry<T>(worker: Worker, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, log, forceStop: signal } = worker
  return retryWhileUnavailable(() => step(signal), { clock, log, signal, waitMsMax: STORE_RETRY_MS_MAX })
}

/** Repeats a step as `withRetry` does, but only until `deadline` aborts. Then returns undefined. The step may use the same deadline. */
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
