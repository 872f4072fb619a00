/** Runs the tests of `table.ts`, and no others, on sources from which all of its defences are taken out at once. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { UNIT_MUTANTS } from './table.ts'

const literally = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')

export default defineConfig({
  root: fileURLToPath(new URL('../../..', import.meta.url)),
  plugins: [
    {
      name: 'mutants',
      enforce: 'pre',
      transform(code, id) {
        const mutants = UNIT_MUTANTS.filter(({ file }) => id.endsWith(file))
        return mutants.reduce((source, { file, find, replace }) => {
          if (source.split(find).length !== 2) throw new Error(`${file} has no such guard, or several: ${find}`)
          return source.replace(find, () => replace)
        }, code)
      },
    },
  ],
  test: {
    include: UNIT_MUTANTS.map((mutant) => mutant.in),
    testNamePattern: new RegExp(UNIT_MUTANTS.map(({ test }) => literally(test)).join('|')),
    pool: 'threads',
    isolate: false,
  },
})
