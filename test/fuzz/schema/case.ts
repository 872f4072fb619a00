/** What compiling the costliest schemas there may be takes of a thread's CPU. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { SCHEMA_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { compileVariablesSchema } from '@platen/contract/schema/variable/variables-schema.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import type { Figure } from '../../bench/measure.ts'
import { COSTLY } from './costly.ts'

const COMPILE_MS_MAX = 250
const ROUNDS = 5

/** Each shape at the largest size that is taken, and at twice that. Half of the time is for machines that are slower, or busy. */
export async function* schema(): AsyncGenerator<Figure> {
  for (const [name, shape] of Object.entries(COSTLY)) {
    const size = largest((candidate) => isTaken(shape(candidate)))
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) times.push(await cpuMsOf(shape(size)))
    const refused = await cpuMsOf(shape(2 * size))
    yield {
      name: `schema: ${name}`.slice(0, 62),
      detail: `ms of CPU to compile ${size}; ${refused.toFixed(0)} ms to refuse twice as many`,
      value: Math.max(Math.min(...times), refused),
      target: { atMost: COMPILE_MS_MAX / 2 },
    }
  }
}

function isTaken(candidate: JsonObject): boolean {
  try {
    compileVariablesSchema(candidate)
    return true
  } catch {
    return false
  }
}

function largest(isGood: (size: number) => boolean): number {
  let [least, most] = [1, SCHEMA_BYTES_MAX]
  while (least < most) {
    const middle = Math.ceil((least + most) / 2)
    if (isGood(middle)) least = middle
    else most = middle - 1
  }
  return least
}

/** In a thread of its own, which has compiled one before. */
async function cpuMsOf(candidate: JsonObject): Promise<number> {
  const thread = new Worker(new URL('thread.ts', import.meta.url), { workerData: candidate })
  const [[milliseconds]] = (await Promise.all([once(thread, 'message'), once(thread, 'exit')])) as [[number], unknown]
  return milliseconds
}
