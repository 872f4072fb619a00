/** What fuzzing has found before, one file each: `found/<target>-<digest>.json`. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Find } from './target.ts'

const FOLDER = join(import.meta.dirname, 'found')

export function corpusOf(target: string): readonly (readonly [file: string, input: unknown])[] {
  return readdirSync(FOLDER)
    .filter((file) => file.startsWith(`${target}-`))
    .map((file) => [file, JSON.parse(readFileSync(join(FOLDER, file), 'utf8'))])
}

/** Keeps a find; answers the name of its file. */
export function keep({ target, input }: Find): string {
  const text = `${JSON.stringify(input, null, 1)}\n`
  const file = `${target}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}.json`
  writeFileSync(join(FOLDER, file), text)
  return file
}
