/** How the benchmark measures: side by side in turns, so that whatever else the machine does falls on both, and in ratios. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { treeOf } from '../soak/process-tree.ts'

export interface Figure {
  readonly name: string
  /** What both sides came to, in the unit of the name, for people. */
  readonly detail: string
  readonly value: number
  readonly target: { readonly atLeast: number } | { readonly atMost: number }
}

/** So many documents of one kind, with so many under way at any time. */
export interface Batch {
  readonly rows: number
  readonly count: number
  readonly concurrency: number
}

export interface Timing {
  /** Of the whole batch, in milliseconds. */
  readonly elapsedMs: number
  readonly latenciesMs: readonly number[]
  readonly sample: Uint8Array
}

/** Something that makes documents, in processes of its own. */
export interface Contender extends AsyncDisposable {
  /** The roots of its process trees. */
  readonly pids: readonly number[]
  run(batch: Batch): Promise<Timing>
}

export interface Result {
  readonly documentsPerSecond: number
  readonly cpuMsPerDocument: number
  readonly latenciesMs: readonly number[]
  readonly sample: Uint8Array
}

/** Lets contenders make the same batch in turns, after one unmeasured batch each. Results in their order. */
export async function race<const Contenders extends readonly Contender[]>(
  contenders: Contenders,
  { rounds, warmUp, ...batch }: Batch & { readonly rounds: number; readonly warmUp?: number },
): Promise<{ readonly [At in keyof Contenders]: Result }> {
  const tallies = contenders.map((contender) => ({ contender, timings: new Array<Timing>(), cpuMs: 0 }))
  for (const contender of contenders) await contender.run({ ...batch, count: warmUp ?? batch.count })
  for (let round = 0; round < rounds; round += 1) {
    for (const tally of tallies) {
      const before = cpuMsOf(tally.contender.pids)
      tally.timings.push(await tally.contender.run(batch))
      tally.cpuMs += cpuMsOf(tally.contender.pids) - before
    }
  }
  const results = tallies.map(({ timings, cpuMs }): Result => {
    const latenciesMs = timings.flatMap((timing) => timing.latenciesMs)
    const elapsedMs = timings.reduce((sum, timing) => sum + timing.elapsedMs, 0)
    return {
      documentsPerSecond: (latenciesMs.length / elapsedMs) * 1000,
      cpuMsPerDocument: cpuMs / latenciesMs.length,
      latenciesMs,
      sample: timings.at(-1)?.sample ?? new Uint8Array(),
    }
  })
  // One result was made of each contender.
  return results as unknown as { readonly [At in keyof Contenders]: Result }
}

/** Runs `count` tasks, `concurrency` at a time, and takes the time of each. */
export async function timed(
  { count, concurrency }: Pick<Batch, 'count' | 'concurrency'>,
  task: (lane: number) => Promise<Uint8Array>,
): Promise<Timing> {
  const latenciesMs: number[] = []
  let begun = 0
  let sample: Uint8Array = new Uint8Array()
  const startedAt = performance.now()
  const work = async (_: unknown, lane: number) => {
    while (begun < count) {
      begun += 1
      const taskAt = performance.now()
      sample = await task(lane)
      latenciesMs.push(performance.now() - taskAt)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return { elapsedMs: performance.now() - startedAt, latenciesMs, sample }
}

/** The value below which `share` (0 to 1) of the values lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** CPU time that processes and all their descendants have used, in milliseconds; those that ended count where they were waited for. */
export function cpuMsOf(roots: readonly number[]): number {
  return roots.flatMap(treeOf).reduce((sum, { spent }) => sum + spent * 1000, 0)
}

/** What is in use on the heap of this process, without garbage. */
export function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
