/** An artificial next version of the service: it reads and writes one format more than this one. */
import { FORMAT } from '@platen/contract/format.ts'
import type { Mutant } from './mutant.ts'

/** The format that only the next version reads. */
export const NEXT_FORMAT = FORMAT + 1

export const NEXT_VERSION: Mutant = {
  name: 'the next version',
  file: '/contract/src/format.ts',
  find: `export const FORMAT = ${FORMAT}\n`,
  replace: `export const FORMAT = ${NEXT_FORMAT}\n`,
}
