/** `make bench`: what the service costs beside the bare libraries under it, as ratios. ONLY=html,cluster runs some of it, SCALE=0.2 a fifth. */
import { execFileSync } from 'node:child_process'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMPILED } from '../topology/embedded.ts'
import { CASES } from './case.ts'
import type { Figure } from './measure.ts'

const { ONLY, SCALE = '1' } = process.env
/** Installs other products first, so it runs only when it is asked for. */
const ON_DEMAND = 'peers'
const wanted = Object.entries(CASES).filter(([name]) =>
  ONLY === undefined
    ? name !== ON_DEMAND
    : ONLY.split(',').some((only) => name === only || name.startsWith(`${only}-`)),
)
await using folder = await mkdtempDisposable(join(tmpdir(), 'platen-bench-'))
spread(folder.path)
process.env['TMPDIR'] = folder.path
// For all processes, as the images have it. Without it Node loads its stripper of types into each thread, which takes 16 MiB.
process.env['NODE_COMPILE_CACHE'] = COMPILED
let missed = 0
for (const [, measure] of wanted) {
  for await (const figure of measure(Number(SCALE))) {
    if (!isMet(figure)) missed += 1
    process.stdout.write(`${lineOf(figure)}\n`)
  }
}
process.stdout.write(`${missed} targets missed\n`)

/**
 * Makes ext4 place each folder of this one at a place of its own on the disk. Without a journal, ext4 steps over each file near a new one
 * that was deleted in the last minutes: in a case after one of 4,000 documents, which were removed, that was 2 ms of CPU for a document.
 * Other file systems have neither this nor the flag.
 */
function spread(path: string): void {
  try {
    execFileSync('chattr', ['+T', path], { stdio: 'ignore' })
  } catch {
    // Then cases share the place, as folders of a program do.
  }
}

function isMet({ value, target }: Figure): boolean {
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost
}

function lineOf(figure: Figure): string {
  const { name, value, detail, target } = figure
  const bound = 'atLeast' in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`
  return `${isMet(figure) ? 'met   ' : 'MISSED'}  ${value.toFixed(2).padStart(6)} ${bound.padEnd(6)}  ${name.padEnd(62)} ${detail}`
}
