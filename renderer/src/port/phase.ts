/** How long the parts of a render take, measured where they run: the clock of a thread need not agree with that of the process. */

/**
 * `evaluate`: the template becomes a tree of elements, or HTML. `layout`: they become boxes on pages; in html that includes the wait for a
 * page of the browser. `print`: the pages become a PDF.
 */
export interface Phase {
  readonly name: 'evaluate' | 'layout' | 'print'
  readonly durationMs: number
}

interface PhaseTimer {
  /** Ends a phase: it lasted since the last one, or since the timer was started. */
  end(name: Phase['name']): void
  /** The phases that have ended, in order. */
  readonly phases: readonly Phase[]
}

/** Starts a timer. `monotonic` returns milliseconds. */
export function startPhaseTimer(monotonic: () => number): PhaseTimer {
  const phases: Phase[] = []
  let begunAt = monotonic()
  return {
    phases,
    end(name) {
      const endedAt = monotonic()
      phases.push({ name, durationMs: endedAt - begunAt })
      begunAt = endedAt
    },
  }
}
