/**
 * Reads what has changed in a manifest file in a thread: a megabyte of YAML takes seconds, and on the thread that answers everybody all
 * callers would wait for that.
 */
import { once } from 'node:events'
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { DocumentResult, ParsedParts } from './parse.ts'

/** What parts come to, as far as it is worth a thread to know it before they are asked for. */
export type ReadAhead = (parts: readonly string[]) => Promise<ParsedParts>

/** Characters that change in a file and are read on the thread that answers callers: the worst of them take it 40 ms. */
export const READ_AT_ONCE_CHARS_MAX = 16 * 1024

/** How long a thread has to read more of them: all manifests there may be take less, if people have written them. */
const READ_MS_MAX = 30_000

/** Of a thread, which is there only while it reads: what people write takes a tenth. */
const HEAP_MIB_MAX = 1024

/** What cannot be read in time, or within the memory of a thread, is a fault of each part. */
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
  const cache = getCompileCacheDir()
  const worker = new Worker(new URL('./part-thread.ts', import.meta.url), {
    workerData: parts,
    // Nothing of the service's own environment is of use there but where what it compiles is kept; Node's folder is one of this version below it.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) },
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
