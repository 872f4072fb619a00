/** How many pages a finished PDF has. Pure. */
import assert from 'node:assert/strict'
import { openUpdate } from './update.ts'

/** Reads the number from the root of the page tree (ISO 32000-1, 7.7.3.2). Fails on a PDF that neither engine would write. */
export function pageCountOf(pdf: Uint8Array): number {
  const file = openUpdate(pdf)
  const count = Number(file.dictionary(file.read(file.root).get('Pages') ?? '').get('Count'))
  assert(Number.isSafeInteger(count) && count > 0, 'the page tree of a PDF says how many pages it has')
  return count
}
