/** How contenders of very different speed are measured alike: by time and not by a number of documents, and for memory one by one. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Batch, Contender, Timing } from '../bench/measure.ts'
import { pssOf, treeOf } from '../soak/process-tree.ts'

export interface Pace {
  readonly warmUpMs: number
  readonly roundMs: number
}

export interface Footprint {
  readonly peakBytes: number
  readonly meanBytes: number
}

const SAMPLE_EVERY_MS = 100

/** A contender whose first batch takes `warmUpMs` at least, and each later one about `roundMs`, whatever number is asked for. */
export function paced(contender: Contender, { warmUpMs, roundMs }: Pace): Contender {
  let documentMs: number | undefined
  return {
    get pids() {
      return contender.pids
    },
    async run(batch) {
      if (documentMs !== undefined) {
        const count = Math.max(batch.concurrency, Math.ceil(roundMs / documentMs))
        return await contender.run({ ...batch, count })
      }
      const last = await warmUp(contender, batch, warmUpMs)
      documentMs = last.elapsedMs / last.latenciesMs.length
      return last
    },
    async [Symbol.asyncDispose]() {},
  }
}

/** Batches that double, until they have taken so long. Resolves with the last, which shows the speed. */
export async function warmUp(contender: Contender, batch: Omit<Batch, 'count'>, forMs: number): Promise<Timing> {
  const startedAt = performance.now()
  for (let count = batch.concurrency; ; count *= 2) {
    const timing = await contender.run({ ...batch, count })
    if (performance.now() - startedAt >= forMs) return timing
  }
}

/**
 * The memory of a contender while it warms up and makes a batch. Nothing else that uses the same programs may run: memory that processes
 * share is divided among them.
 */
export async function footprintOf(contender: Contender, batch: Batch, pace: Pace): Promise<Footprint> {
  const runner = paced(contender, pace)
  const ended = new AbortController()
  const sampling = memoryUntil(ended.signal, contender)
  try {
    await runner.run(batch)
    await runner.run(batch)
  } finally {
    ended.abort()
  }
  const samples = await sampling
  return {
    peakBytes: Math.max(...samples),
    meanBytes: samples.reduce((sum, bytes) => sum + bytes, 0) / samples.length,
  }
}

async function memoryUntil(ended: AbortSignal, { pids }: Contender): Promise<readonly number[]> {
  const samples: number[] = []
  while (!ended.aborted) {
    samples.push(pssOf(pids.flatMap(treeOf)))
    await sleep(SAMPLE_EVERY_MS)
  }
  return samples
}
