/** `make bench`: what the service costs beside the bare libraries under it, as ratios. ONLY=html,cluster runs some of it, SCALE=0.2 a fifth. */
import { CASES } from './case.ts'
import { type Figure } from './measure.ts'

const { ONLY, SCALE = '1' } = process.env
/** Installs other products first, so it runs only when it is asked for. */
const ON_DEMAND = 'peers'
const wanted = Object.entries(CASES).filter(([name]) =>
  ONLY === undefined
    ? name !== ON_DEMAND
    : ONLY.split(',').some((only) => name === only || name.startsWith(`${only}-`)),
)
let missed = 0
for (const [, measure] of wanted) {
  for await (const figure of measure(Number(SCALE))) {
    if (!isMet(figure)) missed += 1
    process.stdout.write(`${lineOf(figure)}\n`)
  }
}
process.stdout.write(`${missed} targets missed\n`)

function isMet({ value, target }: Figure): boolean {
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost
}

function lineOf(figure: Figure): string {
  const { name, value, detail, target } = figure
  const bound = 'atLeast' in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`
  return `${isMet(figure) ? 'met   ' : 'MISSED'}  ${value.toFixed(2).padStart(6)} ${bound.padEnd(6)}  ${name.padEnd(62)} ${detail}`
}
