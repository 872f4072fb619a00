/** Random bytes that are the same in every run, for tests. */
import { createHash } from 'node:crypto'
import type { Ids } from '@platen/contract/port/ids.ts'

/** Makes a source of bytes that depend only on `seed` and on the earlier calls. */
export function seededIds(seed: string): Ids {
  let drawn = 0
  return {
    random(bytes) {
      const blocks = Array.from({ length: Math.ceil(bytes / 32) }, () =>
        createHash('sha256').update(`${seed}:${drawn++}`).digest(),
      )
      return Buffer.concat(blocks).subarray(0, bytes)
    },
  }
}
