/** The machine's chance. */
import { randomBytes } from 'node:crypto'
import type { Ids } from '@platen/contract/port/ids.ts'

/** Bytes from the operating system's generator. */
export function systemIds(): Ids {
  return { random: (bytes) => randomBytes(bytes) }
}
