import type { Outcome, RenderRecord } from '../render.ts'
import type { Engine } from '../render-options.ts'

/**
 * Why a record was dead-lettered. `crashed`: each of its attempts crashed a renderer. `unreadable`: it is not a record, or it has an
 * unknown version, or its manifest is damaged.
 */
export const DEAD_LETTER_REASONS = ['crashed', 'unreadable'] as const
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number]

/** Metrics of renderers. Counting never fails and never waits. `traceId` is that of the render's trace, if that is exported. */
export interface RendererMeter {
  /** An engine has so many slots. */
  serving(engine: Engine, slots: number): void
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
