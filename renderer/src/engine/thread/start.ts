/** Starts render threads. */
import { Worker } from 'node:worker_threads'
import { threadEnv } from '@platen/contract/thread-env.ts'
import { defaultFaces, type FontFace } from '../../template/asset/font/default-fonts.ts'
import { HEAP_HEADROOM_MIB, SMALL_YOUNG_GENERATION_MIB, YOUNG_GENERATION_MIB } from '../limit.ts'
import type { TaskKind, ThreadData } from './message.ts'

/** The members of a thread that the pool uses. */
export type PoolWorker = Pick<Worker, 'on' | 'once' | 'postMessage' | 'terminate' | 'getHeapStatistics'>

/** Starts a thread whose heap and buffers the pool limits to `heapMibMax`. `isLow` gives it a low priority, from its start to its end. */
export type Spawn = (heapMibMax: number, isLow: boolean) => PoolWorker

/** Starts threads that do only tasks of these kinds, with these fonts. Each kind has libraries of its own, and they take memory. */
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
