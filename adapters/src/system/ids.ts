/** The random source of the machine. */
import { randomBytes } from 'node:crypto'
import type { Ids } from '@platen/contract/port/ids.ts'

/** Makes a source that takes bytes from the operating system's generator. */
export function systemIds(): Ids {
  return { random: (bytes) => randomBytes(bytes) }
}
