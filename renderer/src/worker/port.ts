/** The ports of a worker, and which of their calls are repeated while a port is unavailable. */
import type { EventKey } from '@platen/contract/domain/event.ts'
import type { Lane } from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { QueuedRender, RenderQueue } from '@platen/contract/port/render-queue.ts'
import type { RendererMeter } from '@platen/contract/port/renderer-meter.ts'
import type { ReplyChannel } from '@platen/contract/port/reply-channel.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { retrying } from '@platen/lib/retry.ts'
import type { Tracer } from '@platen/lib/tracer.ts'
import type { RenderEngine } from '../port/engine.ts'
import { STORE_RETRY_MS_MAX } from './limit.ts'
import type { RenderObserver } from './observer.ts'
import type { DeferredRenders } from './without-slot/deferred-renders.ts'
import { openWorkSource } from './work-source.ts'

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
  readonly tracer: Tracer
}

export interface WorkerSettings {
  /** Identifies this start of this process in claims. */
  readonly owner: string
  readonly serviceBucket: string
  readonly eventKey: () => EventKey
  /** The lanes that it serves. Absent means all. */
  readonly lanes?: readonly Lane[]
}

/** The worker of one engine, for the stages of a render. They report to the observer, and log and count nothing themselves. */
export interface Worker
  extends Omit<WorkerPorts, 'queue' | 'log' | 'meter' | 'tracer' | keyof RetryingPorts>,
    RetryingPorts,
    StopSignals {
  readonly observer: RenderObserver
  readonly engine: RenderEngine
  readonly settings: WorkerSettings
  readonly deferred: DeferredRenders
}

interface StopSignals {
  /** Aborts when the worker must begin no more renders. */
  readonly drain: AbortSignal
  /** Aborts when the worker must leave its running renders to others, at whatever stage they are. */
  readonly forceStop: AbortSignal
}

type RetryingPorts = ReturnType<typeof retryingPorts>

/**
 * Repeats the calls that a render depends on until the port is available or the signal of the call aborts. The slots wait meanwhile: other
 * renders would wait for the same port, and a render with a known outcome must not run again. All other calls are made once, because their
 * callers can go on without them.
 *
 * A drain does not wait for an unavailable event log or queue. By then the manifest is stored, and the render is still in the queue. So the
 * next worker that gets the render finds the manifest, publishes the same event and charges nothing twice. A drain does wait for the store:
 * an unstored PDF would have to be rendered again, and a sync caller already has the answer.
 */
export function retryingPorts(
  ports: WorkerPorts,
  { serviceBucket }: WorkerSettings,
  { drain, forceStop }: StopSignals,
) {
  const { clock, log, artifacts } = ports
  const policy = { clock, log, waitMsMax: STORE_RETRY_MS_MAX }
  const ofStore = { ...policy, dependency: 'artifact store' }
  const whileServing = { ...policy, repeatUntil: drain }
  // The deadline of a render ends the repeats, but not a running try. So a PDF gets at least one whole try, however long the rest took.
  const pdfs: Pick<ArtifactStore, 'put'> = { put: (address, bytes) => artifacts.put(address, bytes, forceStop) }
  return {
    ledger: retrying(ports.ledger, ['claim', 'complete'], { ...policy, dependency: 'render ledger' }),
    artifacts: retrying(artifacts, ['get', 'create', 'put', 'delete'], ofStore),
    pdfs: retrying(pdfs, ['put'], ofStore),
    source: retrying(openWorkSource(artifacts, serviceBucket), ['workOf', 'withRequest'], ofStore),
    events: retrying(ports.events, ['append'], { ...whileServing, dependency: 'event log' }),
    limiter: retrying(ports.limiter, ['confirm', 'complete'], { ...policy, dependency: 'limiter' }),
    retryingRender: (queued?: QueuedRender) =>
      queued && retrying(queued, ['done', 'deadLetter'], { ...whileServing, dependency: 'render queue' }),
  }
}

/** Resolves to undefined if `deadline` has ended the call. */
export async function beforeDeadline<T>(deadline: AbortSignal, call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (deadline.aborted && error === deadline.reason) return undefined
    throw error
  }
}
