/**
 * How long keys outlive their revocation, by what processes enforce that follow Redis, while an operator runs that nothing keeps from it.
 * A machine that is busy with something else does: so the API server and the operators are asked all the while whether they are there,
 * and what is measured while one of them answers late, or this process looks late, is not counted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'

export interface Revocation {
  /** Whose it is: what else becomes of it may make it void. */
  readonly owner: string
  readonly what: string
  readonly holds: (settings: DirectorySnapshot) => boolean
}

export interface Revocations extends AsyncDisposable {
  /** The API server has just taken it. */
  readonly begin: (revocation: Revocation) => void
  /** What was revoked may be declared again. */
  readonly forget: (owner: string) => void
  /** Something is being done to the operators: until it is over nothing is measured. */
  readonly disturb: () => Disposable
  readonly measured: readonly Measured[]
  /** How many were not counted, as the machine was busy. */
  readonly voided: () => number
}

export interface Measured {
  readonly what: string
  readonly ms: number
}

const LOOK_MS = 10
const ASK_MS = 100
/** Ten times what it takes on a machine that has nothing else to do. */
const LATE_MS = 150

export interface RevocationOptions {
  /** What is in force. */
  readonly settings: () => DirectorySnapshot
  /** Resolves when all have answered who have a part in a revocation; rejects where one is away. */
  readonly ask: () => Promise<unknown>
}

/** Looks and asks until it is disposed of. */
export function measureRevocations({ settings, ask }: RevocationOptions): Revocations {
  const measured: Measured[] = []
  const pending = new Map<Revocation, number>()
  let disturbances = 0
  const over = new AbortController()
  let voided = 0
  const leave = () => {
    voided += pending.size
    pending.clear()
  }
  const look = async () => {
    for (let last = performance.now(); !over.signal.aborted; ) {
      await sleep(LOOK_MS)
      const now = performance.now()
      if (now - last > LATE_MS) leave()
      last = now
      for (const [revocation, begunAt] of pending) {
        if (!revocation.holds(settings())) continue
        pending.delete(revocation)
        measured.push({ what: revocation.what, ms: now - begunAt })
      }
    }
  }
  const inquire = async () => {
    while (!over.signal.aborted) {
      await sleep(ASK_MS)
      if (pending.size === 0) continue
      // Who is late may have been all the while it was waited for.
      const late = setTimeout(leave, LATE_MS)
      await ask().catch(leave)
      clearTimeout(late)
    }
  }
  const looking = Promise.all([look(), inquire()])
  return {
    measured,
    voided: () => voided,
    begin(revocation) {
      if (disturbances === 0) pending.set(revocation, performance.now())
    },
    forget(owner) {
      for (const revocation of pending.keys()) if (revocation.owner === owner) pending.delete(revocation)
    },
    disturb() {
      disturbances++
      // What is in force still has outlived its revocation by so much at least.
      for (const [{ what }, begunAt] of pending) measured.push({ what, ms: performance.now() - begunAt })
      pending.clear()
      return { [Symbol.dispose]: () => void disturbances-- }
    },
    async [Symbol.asyncDispose]() {
      over.abort()
      await looking
    },
  }
}
