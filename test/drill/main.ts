/**
 * The program behind `make drill`: loses each server that a cluster stands on, restores it as docs/disaster.md says, and prints what
 * callers saw. `ONLY=kafka,etcd` takes a part. Exits with 1 when a promise is broken that the loss does not excuse.
 */
import { openRig } from '../chaos/cluster/rig/rig.ts'
import { PROMISES } from '../chaos/cluster/trial/judge.ts'
import { NEVER } from '../fixture/build.ts'
import { SEED, seeded } from '../run/form.ts'
import { startInstalledKube } from '../topology/cluster/kube.ts'
import { DRILLS, type Drill, declare } from './drill.ts'
import { type Rehearsal, rehearse } from './rehearsal.ts'

const only = (process.env['ONLY'] ?? '').split(',').filter(Boolean)
const wanted = DRILLS.filter(({ name }) => only.length === 0 || only.some((word) => name.startsWith(word)))
for (const drill of wanted) report(drill, await rehearsed(drill))
for (const [promise, text] of Object.entries(PROMISES)) say(`${promise}  ${text}`)

async function rehearsed(drill: Drill): Promise<Rehearsal> {
  await using stack = new AsyncDisposableStack()
  const kube = drill.needsKube ? stack.use(await startInstalledKube()) : undefined
  const rig = stack.use(await openRig({ trials: 1, ...(kube && { kube }) }))
  if (kube !== undefined) await declare({ rig, kube })
  return await rehearse(drill, { rig, kube, random: seeded(SEED), signal: NEVER })
}

function report(drill: Drill, { without, accepted, open, answers, before, since }: Rehearsal): void {
  const excused = new Set(drill.mayMiss)
  const unexcused = [...before.keys()].filter((promise) => !excused.has(promise))
  say(drill.name)
  say(`  done: ${drill.steps}`)
  say(
    `  callers were without PDFs for ${without.sync.toFixed(1)} s (sync), and without 202 for ${without.async.toFixed(1)} s`,
  )
  say(`  answers meanwhile: ${Array.from(answers, ([status, count]) => `${count} × ${status || 'broken'}`).join(', ')}`)
  say(`  accepted before: ${accepted} renders, of which ${open} had not ended`)
  say(
    `  broken promises to them: ${Array.from(before, ([promise, count]) => `${promise} × ${count}`).join(', ') || 'none'}`,
  )
  say(`  broken promises to renders since: ${since.length || 'none'}`)
  for (const { promise, what } of since) say(`    ${promise}: ${what}`)
  for (const promise of unexcused) say(`  FAILED: the loss does not excuse ${promise}`)
  if (since.length + unexcused.length > 0) process.exitCode = 1
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
