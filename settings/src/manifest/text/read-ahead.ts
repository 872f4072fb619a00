/** Parses changes of a manifest file in a thread: a megabyte of YAML takes seconds, for which all callers would wait on the main thread. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Clock } from '@platen/lib/clock.ts'
import { threadEnv } from '@platen/lib/thread-env.ts'
import type { DocumentResult, ParsedParts } from './parse.ts'

/** Parses only if there is enough text to be worth a thread. */
export type ReadAhead = (parts: readonly string[]) => Promise<ParsedParts>

/** Smaller changes are parsed on the main thread: the worst take it 40 ms. */
export const READ_AT_ONCE_CHARS_MAX = 16 * 1024

/** The largest folder allowed takes less, if people have written it. */
const READ_MS_MAX = 30_000

/** Heap of the thread, which exists only while it parses. What people write takes a tenth. */
const HEAP_MIB_MAX = 1024

/** Parts that cannot be parsed in time, or within the memory of a thread, each get a fault. */
export function openReadAhead(clock: Pick<Clock, 'timeout'>): ReadAhead {
  return async (parts) => {
    if (parts.reduce((sum, part) => sum + part.length, 0) <= READ_AT_ONCE_CHARS_MAX) return new Map()
    const results = await readInThread(parts, clock.timeout(READ_MS_MAX)).catch(faultOfAll(parts))
    return new Map(parts.map((part, at) => [part, results[at] ?? []]))
  }
}

async function readInThread(
  parts: readonly string[],
  signal: AbortSignal,
): Promise<readonly (readonly DocumentResult[])[]> {
  const worker = new Worker(new URL('./part-thread.ts', import.meta.url), {
    workerData: parts,
    env: threadEnv(),
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
  })
  try {
    const [json] = await once(worker, 'message', { signal })
    // The thread has written it.
    return JSON.parse(json)
  } finally {
    await worker.terminate()
  }
}

function faultOfAll(parts: readonly string[]) {
  return (cause: unknown): readonly (readonly DocumentResult[])[] => {
    const reason = cause instanceof Error && cause.name !== 'AbortError' ? cause.message : 'it takes too long'
    const message = `cannot be read: ${reason}`
    return parts.map(() => [{ faults: [{ line: 1, column: 1, message }] }])
  }
}
