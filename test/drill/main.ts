/**
 * The program behind `make drill`: loses each server that a cluster stands on, and the data folder of the embedded service, restores it as docs/disaster.md says, and prints what
 * callers saw. `ONLY=kafka,etcd` takes a part. Exits with 1 when a promise is broken that the loss does not excuse.
 */
import { openRig, type Rig } from '../chaos/cluster/rig/rig.ts'
import { PROMISES } from '../chaos/cluster/trial/judge.ts'
import { readFacts } from '../chaos/cluster/trial/oracle.ts'
import { NEVER } from '../fixture/build.ts'
import { SEED, seeded } from '../run/form.ts'
import { startInstalledKube } from '../topology/cluster/kube.ts'
import { DRILLS, type Drill, declare, type Ground } from './drill.ts'
import { FOLDER_DRILLS, openFolderGround } from './folder.ts'
import { type Rehearsal, rehearse, type Stage } from './rehearsal.ts'

const only = (process.env['ONLY'] ?? '').split(',').filter(Boolean)
const isWanted = ({ name }: { readonly name: string }) =>
  only.length === 0 || only.some((word) => name.startsWith(word))
const options = { random: seeded(SEED), signal: NEVER }
for (const drill of DRILLS.filter(isWanted)) report(drill, await rehearsed(drill))
for (const drill of FOLDER_DRILLS.filter(isWanted)) {
  await using ground = await openFolderGround()
  const disaster = drill.disaster(ground.service)
  report({ ...drill, ...disaster }, await rehearse(disaster, { ...options, stage: ground.stage }))
}
for (const [promise, text] of Object.entries(PROMISES)) say(`${promise}  ${text}`)

async function rehearsed({ needsKube, hasAccounts, mayMiss, ...acts }: Drill): Promise<Rehearsal> {
  await using stack = new AsyncDisposableStack()
  const kube = needsKube ? stack.use(await startInstalledKube()) : undefined
  const rig = stack.use(await openRig({ trials: 1, ...(hasAccounts && { hasAccounts }), ...(kube && { kube }) }))
  const ground: Ground = { rig, kube }
  if (kube !== undefined) await declare(ground)
  const { backUp } = acts
  const disaster = {
    ...(backUp && { backUp: () => backUp(ground) }),
    lose: () => acts.lose(ground),
    restore: () => acts.restore(ground),
    mayMiss,
  }
  return await rehearse(disaster, { ...options, stage: stageOf(rig) })
}

function stageOf(rig: Rig): Stage {
  const tenant = rig.tenants.next().value
  if (tenant === undefined) throw new Error('no tenant is left')
  return {
    tenant,
    hookUrl: rig.hookUrl,
    url: () => `http://127.0.0.1:${rig.processes('api')[0]?.port}`,
    renderers: rig.processes('renderer'),
    readFacts: (signal) => readFacts(rig, tenant.name, signal),
  }
}

function report(
  drill: Pick<Drill, 'name' | 'steps' | 'mayMiss'>,
  { without, accepted, open, answers, before, since }: Rehearsal,
): void {
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
