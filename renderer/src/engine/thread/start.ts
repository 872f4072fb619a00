import { Worker } from 'node:worker_threads'
import { threadEnv } from '@platen/lib/thread-env.ts'
import { defaultFaces, type FontFace } from '../../template/asset/font/default-fonts.ts'
import { HEAP_HEADROOM_MIB } from '../limit.ts'
import type { TaskKind, ThreadData } from './message.ts'

/**
 * Heap of a thread for new objects. V8 fills a third of it at a time, and moves what is in use then. A document of 50 rows allocates 24 MB
 * and leaves little behind. With half of this, documents of 50 and 500 rows were a tenth to a quarter fewer a second.
 */
const YOUNG_GENERATION_MIB = 48
/** The same for a thread that makes no documents. A check is in no hurry, and filling an html template allocates little. */
const SMALL_YOUNG_GENERATION_MIB = 12

export type PoolWorker = Pick<Worker, 'on' | 'once' | 'postMessage' | 'terminate' | 'getHeapStatistics' | 'cpuUsage'>

/** Starts a thread whose heap and buffers the pool limits to `heapMibMax`. `isLow` gives it a low priority for its whole life. */
export type Spawn = (heapMibMax: number, isLow: boolean) => PoolWorker

/** The threads do only tasks of these kinds, with these fonts. Each kind has its own libraries, which take memory. */
export function spawnThreadFor(kinds: readonly TaskKind[], faces: readonly FontFace[] = defaultFaces()): Spawn {
  const maxYoungGenerationSizeMb = kinds.includes('react_pdf') ? YOUNG_GENERATION_MIB : SMALL_YOUNG_GENERATION_MIB
  return (heapMibMax, isLow) =>
    new Worker(new URL('./render-thread.ts', import.meta.url), {
      workerData: { kinds, faces, isLow } satisfies ThreadData,
      // `production` halves react-pdf's time.
      env: { NODE_ENV: 'production', ...threadEnv() },
      resourceLimits: { maxOldGenerationSizeMb: heapMibMax + HEAP_HEADROOM_MIB, maxYoungGenerationSizeMb },
    })
}
