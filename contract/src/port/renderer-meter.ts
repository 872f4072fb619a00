import type { Lane, Outcome, RenderRecord } from '../domain/render.ts'
import type { Engine } from '../domain/render-options.ts'

/** `crashed`: each attempt crashed a renderer. `unreadable`: it is not a record, or of an unknown version, or its manifest is damaged. */
export const DEAD_LETTER_REASONS = ['crashed', 'unreadable'] as const
type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number]

/**
 * Why a browser or render thread was restarted. `worn`: because of its renders, age or memory. `canceled`: its task missed its deadline, or
 * nobody waits for it any more. `memory`: its document needed more than it may have. `crashed`: it ended by itself. `unresponsive`: it did
 * not answer or obey, and was ended. `not_started`: it failed to start.
 */
export const RESTART_REASONS = {
  browser: ['worn', 'crashed', 'unresponsive', 'not_started'],
  thread: ['worn', 'canceled', 'memory', 'crashed', 'not_started'],
} as const
type EnginePart = keyof typeof RESTART_REASONS

/** Counting never fails and never waits. */
export interface EngineMeter {
  restarted<Part extends EnginePart>(part: Part, reason: (typeof RESTART_REASONS)[Part][number]): void
  /** Resolves or rejects as the launch does. */
  launching<Browser>(launch: () => Promise<Browser>, signal: AbortSignal): Promise<Browser>
}

export interface Slots {
  readonly slots: number
  readonly lanes: readonly Lane[]
  /** How full they are for a lane, from 0 to 1. Must neither wait nor throw. */
  readonly saturation: (lane: Lane) => number
  /** How many renders have left them and are being stored. Must neither wait nor throw. */
  readonly storing: () => number
}

/** Counting never fails and never waits. `traceId` is set if the render's trace is exported. */
export interface RendererMeter extends EngineMeter {
  /** Each scrape calls `saturation` and `storing`. */
  serving(engine: Engine, slots: Slots): void
  /** Counts a busy slot, until disposed. */
  busy(engine: Engine): Disposable
  /** An attempt has started, `waitedMs` after the render was accepted. */
  begun(
    render: Pick<RenderRecord, 'engine' | 'lane'>,
    start: { readonly attempt: number; readonly waitedMs: number; readonly traceId?: string | undefined },
  ): void
  ended(
    render: Pick<RenderRecord, 'engine' | 'lane' | 'tenant' | 'template' | 'environment'>,
    outcome: Outcome,
    traceId?: string,
  ): void
  deadLettered(reason: DeadLetterReason): void
}
