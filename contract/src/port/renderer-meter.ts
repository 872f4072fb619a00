import type { Outcome, RenderRecord } from '../render.ts'
import type { Engine } from '../render-options.ts'

/**
 * Why a record was put aside. `crashed`: each of its attempts brought a renderer down. `unreadable`: it is no record, or of a version
 * that is not known here, or its manifest is damaged.
 */
export const DEAD_LETTER_REASONS = ['crashed', 'unreadable'] as const
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number]

/** What operators watch of renderers. Counting never fails and never waits. */
export interface RendererMeter {
  /** An engine is served with so many slots. */
  serving(engine: Engine, slots: number): void
  /** A slot of the engine is busy, until this is disposed. */
  busy(engine: Engine): Disposable
  /** An attempt has begun, so many milliseconds after the render was accepted. */
  begun(
    render: Pick<RenderRecord, 'engine' | 'lane'>,
    start: { readonly attempt: number; readonly waitedMs: number },
  ): void
  /** A render has come to its end. */
  ended(render: Pick<RenderRecord, 'engine' | 'lane' | 'tenant' | 'template' | 'environment'>, outcome: Outcome): void
  /** A record was put aside as a dead letter. */
  deadLettered(reason: DeadLetterReason): void
}
