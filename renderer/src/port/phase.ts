/**
 * How long the parts of a render take. They are measured where they run, because the clock of a thread may differ from that of the process.
 */

/**
 * `evaluate`: the template becomes a tree of elements, or HTML. `layout`: that becomes boxes on pages; in html it includes the wait for a
 * browser page. `print`: the pages become a PDF.
 */
export interface Phase {
  readonly name: 'evaluate' | 'layout' | 'print'
  readonly durationMs: number
}

interface PhaseTimer {
  /** Ends a phase, which began at the end of the last one, or when the timer was started. */
  end(name: Phase['name']): void
  readonly phases: readonly Phase[]
}

/** `monotonic` returns milliseconds. */
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
