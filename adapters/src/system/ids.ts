import { randomBytes } from 'node:crypto'
import type { Ids } from '@platen/lib/ids.ts'

/** Bytes that are taken from the generator at once, for hundreds of ids: a call costs as much as the bytes of all of them. */
const POOL_BYTES = 4096

/** Takes bytes from the operating system's generator. No byte is given out twice. */
export function systemIds(): Ids {
  let pool = Buffer.alloc(0)
  return {
    random(bytes) {
      if (pool.length < bytes) pool = randomBytes(Math.max(bytes, POOL_BYTES))
      const taken = Uint8Array.from(pool.subarray(0, bytes))
      pool.fill(0, 0, bytes)
      pool = pool.subarray(bytes)
      return taken
    },
  }
}
