/**
 * The program behind `make chaos`: tries the promises to callers under every fault, and prints a table of the results. `ONLY=stop,s3`
 * selects groups, and `ROUNDS=20` makes the long form. `SEED=` repeats the choices of a run, but not its timing, which depends on the
 * machine.
 */

import { NEVER } from '../../fixture/build.ts'
import { SEED } from '../../run/form.ts'
import { groupsNamed, openRigFor, type Row, tableOf, tryFaults } from './series.ts'

const rounds = Number(process.env['ROUNDS'] ?? 1)
const only = (process.env['ONLY'] ?? '').split(',').filter(Boolean)

const rows: Row[] = []
for (const group of groupsNamed(only)) {
  await using rig = await openRigFor(group, rounds)
  for (let round = 0; round < rounds; round++) {
    const seed = SEED + round
    const onFault = ({ name }: { name: string }, seconds: number) =>
      say(`  ${seconds.toFixed(1).padStart(5)} s  ${name}`)
    const row = await tryFaults(group, { rig, seed, signal: NEVER, onFault })
    rows.push(row)
    const { violations, renders } = row
    say(`${group.name}, seed ${seed}: ${renders} renders, ${violations.length} promises broken`)
    for (const { promise, what } of violations) say(`  ${promise}: ${what}`)
    for (const what of row.silent) say(`  not shown: ${what}`)
  }
}
say(`\n${tableOf(rows)}`)
if (rows.some(({ violations, silent }) => violations.length + silent.length > 0)) process.exitCode = 1

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
