/**
 * Turns at what all tenants share and any of them could hold for long, such as the threads in which templates are checked: some at
 * once, fewer of them one tenant's, and those that wait come in the order of their tenants, each with one of its own after the other.
 */
import { abortable } from './bell.ts'

export interface TurnsOptions {
  /** Turns at once, and how many of them may be one tenant's. */
  readonly atOnce: number
  readonly ofOneTenant: number
}

export interface Turns {
  /** Resolves when it is this one's turn; disposing of what it gives ends that. Rejects with the signal's reason. */
  readonly take: (tenant: string, signal: AbortSignal) => Promise<Disposable>
}

interface Line {
  /** Turns it has now. */
  taken: number
  readonly waiting: Set<() => void>
}

export function openTurns({ atOnce, ofOneTenant }: TurnsOptions): Turns {
  /** By tenant, in the order of their turns. */
  const lines = new Map<string, Line>()
  let taken = 0

  const next = () => {
    for (const [tenant, line] of lines) {
      if (taken >= atOnce) return
      const [begin] = line.waiting
      if (begin === undefined || line.taken >= ofOneTenant) continue
      line.waiting.delete(begin)
      line.taken += 1
      taken += 1
      goLast(tenant, line)
      begin()
      // From the first on, as each has its turn before any has another.
      return next()
    }
  }

  const forget = (tenant: string, line: Line) => {
    if (line.taken === 0 && line.waiting.size === 0) lines.delete(tenant)
  }

  const goLast = (tenant: string, line: Line) => {
    lines.delete(tenant)
    lines.set(tenant, line)
  }

  return {
    async take(tenant, signal) {
      signal.throwIfAborted()
      const line = lines.get(tenant) ?? { taken: 0, waiting: new Set() }
      lines.set(tenant, line)
      const { promise, resolve } = Promise.withResolvers<void>()
      line.waiting.add(resolve)
      next()
      let isOver = false
      const end = () => {
        if (isOver) return
        isOver = true
        line.taken -= 1
        taken -= 1
        goLast(tenant, line)
        forget(tenant, line)
        next()
      }
      try {
        await abortable(promise, signal)
      } catch (reason) {
        // It may have come at this very moment.
        if (line.waiting.delete(resolve)) forget(tenant, line)
        else end()
        throw reason
      }
      return { [Symbol.dispose]: end }
    },
  }
}
