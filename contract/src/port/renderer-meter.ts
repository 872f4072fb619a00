import type { Lane, Outcome, RenderRecord } from '../domain/render.ts'
import type { Engine } from '../domain/render-options.ts'

/**
 * Why a record was dead-lettered. `crashed`: each of its attempts crashed a renderer. `unreadable`: it is not a record, or it has an
 * unknown version, or its manifest is damaged.
 */
export const DEAD_LETTER_REASONS = ['crashed', 'unreadable'] as const
type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number]

/**
 * Why a browser or a render thread was started again. `worn`: after its renders, its age or because of its memory. `canceled`: its task
 * missed its deadline, or nobody waits for it any more. `memory`: its document needed more than it may have. `crashed`: it ended by itself.
 * `unresponsive`: it did not answer or obey, and was ended. `not_started`: it failed to start.
 */
export const RESTART_REASONS = {
  browser: ['worn', 'crashed', 'unresponsive', 'not_started'],
  thread: ['worn', 'canceled', 'memory', 'crashed', 'not_started'],
} as const
type EnginePart = keyof typeof RESTART_REASONS

/** Metrics of the browser and the threads of the engines. Counting never fails and never waits. */
export interface EngineMeter {
  restarted<Part extends EnginePart>(part: Part, reason: (typeof RESTART_REASONS)[Part][number]): void
  /** Launches a browser, and measures that. Resolves or rejects as the launch does. */
  launching<Browser>(launch: () => Promise<Browser>, signal: AbortSignal): Promise<Browser>
}

/** The slots of an engine. */
export interface Slots {
  readonly slots: number
  /** The lanes that they serve. */
  readonly lanes: readonly Lane[]
  /** How full they are for a lane, from 0 to 1. It must neither wait nor throw. */
  readonly saturation: (lane: Lane) => number
  /** How many renders have left them and are being stored. It must neither wait nor throw. */
  readonly storing: () => number
}

/** Metrics of renderers. Counting never fails and never waits. `traceId` is that of the render's trace, if that is exported. */
export interface RendererMeter extends EngineMeter {
  /** An engine has these slots. Each scrape calls `saturation` and `storing`. */
  serving(engine: Engine, slots: Slots): void
  /** A slot of the engine is busy, until this is disposed. */
  busy(engine: Engine): Disposable
  /** An attempt has started, so many milliseconds after the render was accepted. */
  begun(
    render: Pick<RenderRecord, 'engine' | 'lane'>,
    start: { readonly attempt: number; readonly waitedMs: number; readonly traceId?: string | undefined },
  ): void
  /** A render has ended. */
  ended(
    render: Pick<RenderRecord, 'engine' | 'lane' | 'tenant' | 'template' | 'environment'>,
    outcome: Outcome,
    traceId?: string,
  ): void
  /** A record was moved to the dead letters. */
  deadLettered(reason: DeadLetterReason): void
}
