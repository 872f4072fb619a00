/** Two operators on one Redis: what is published stays published, whoever leads, and whatever becomes of Redis. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LEASE } from '@platen/operator/leader/service.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectDocumented } from '../../monitoring/documented.ts'
import { expectHeldLoopReported } from '../../time/hold-loop.ts'
import { poll } from '../../time/poll.ts'
import { OPERATOR_NAMESPACE, OPERATOR_PERSONA } from '../../topology/cluster/kube.ts'
import { AUDIT_LOG } from '../../topology/server/kube.ts'
import type { ServerProcess } from '../../topology/server/process.ts'
import { anApiKey, aPlan, aTemplate, aTenant, PLAN } from '../rig/resource.ts'
import { type Rig, startRig } from '../rig/rig.ts'

let rig: Rig
/** What was asked for Secrets before this file had the API server. */
let askedBefore: number
beforeAll(async () => {
  rig = await startRig({ operators: 2 })
  askedBefore = (await askedForSecrets()).length
  await rig.apply(aPlan(PLAN, { htmlEngineEnabled: true }), aTenant('acme'))
  await rig.apply(aTemplate('invoice', 'acme'), anApiKey('ci', 'acme'))
  for (const place of ['tenant/acme', 'template/invoice', 'apikey/ci']) await rig.says(place, { Ready: 'InForce' })
})
afterAll(() => rig[Symbol.asyncDispose]())

interface Audited {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: { readonly resource: string }
}

async function askedForSecrets(): Promise<readonly Audited[]> {
  const lines = (await readFile(join(rig.kube.folder, AUDIT_LOG), 'utf8')).split('\n').filter((line) => line !== '')
  // As Kubernetes writes them.
  return lines.map((line): Audited => JSON.parse(line)).filter(({ objectRef }) => objectRef?.resource === 'secrets')
}

const SOON = () => AbortSignal.timeout(5000)
const META = 'platen:{directory}:meta'
const epoch = async () => Number(await rig.redis.call((client) => client.hget(META, 'epoch'), SOON()))
const mark = () => rig.redis.call((client) => client.hget(META, 'mark'), SOON())

test('an operator counts what is documented of it', async () => {
  const { operator: leader } = await rig.rested()
  expectDocumented('operator', await (await fetch(`http://127.0.0.1:${leader.ports[1]}/metrics`)).text())
})

test('an operator reports for how long its event loop was held', async () => {
  const { operator: leader } = await rig.rested()
  const standby = rig.cluster.processes('operator').find((each) => each !== leader)
  if (standby === undefined) throw new Error('there is one operator')
  await expectHeldLoopReported(standby, async () =>
    (await fetch(`http://127.0.0.1:${standby.ports[1]}/metrics`)).text(),
  )
})

test('a leader that stood still finds its place taken, and writes nothing more', async () => {
  const { operator: leader } = await rig.rested()
  const before = await epoch()
  leader.pause()
  // While nobody leads.
  await rig.apply(aTenant('meanwhile'))
  // On a busy machine the one who follows says of all others first that they are not enforced yet.
  for (const place of ['tenant/meanwhile', 'tenant/acme'])
    await rig.says(place, { Ready: 'InForce', Propagated: 'Propagated' })
  const taken = await epoch()
  expect(taken).toBeGreaterThan(before)
  const versions = async () => (await rig.get('tenant', 'acme')).metadata.resourceVersion
  const [published, version] = [await mark(), await versions()]
  leader.resume()
  // It ends by itself.
  await poll(() => isAlive(leader)).until((alive) => !alive)
  expect(leader.log()).toContain('lease ended')
  expect([await epoch(), await mark(), await versions()]).toEqual([taken, published, version])
  await startAgain(leader)
})

test('what Redis has lost is published again, and who follows keeps its settings all the while', async () => {
  await rig.rested()
  const before = rig.directory()
  const seen = new Set([before.tenants.size])
  const watching = new AbortController()
  const watch = (async () => {
    for (; !watching.signal.aborted; await sleep(1)) seen.add(rig.directory().tenants.size)
  })()
  const last = await mark()
  await rig.redis.call((client) => client.flushall(), SOON())
  await poll(mark).until((now) => now !== null && now !== last)
  const stored = await rig.stored('acme')
  watching.abort()
  await watch
  expect(stored).toEqual(rig.published('acme'))
  expect([...seen]).toEqual([before.tenants.size])
  expect((await rig.rested()).sum('platen_operator_repairs_total', 'kind="directory"')).toBe(1)
})

test('what cannot be published says so, and is when Redis is back', async () => {
  await rig.rested()
  await rig.cluster.redis.stop()
  await rig.apply(aTenant('acme', { overrides: { retentionDays: 3 } }))
  const reason = 'RedisUnavailable'
  const { Ready } = await rig.says('tenant/acme', { Ready: reason, Published: reason, Propagated: reason })
  expect(Ready).not.toBe('')
  expect(rig.published('acme').tenant?.limits.retentionDays).toBe(30)
  await rig.cluster.redis.start()
  await rig.says('tenant/acme', { Ready: 'InForce', Published: 'Published', Propagated: 'Propagated' })
  await rig.publishes('acme', ({ tenant }) => tenant?.limits.retentionDays === 3)
})

test('what somebody changes in Redis is repaired, and counted', async () => {
  const { sum: earlier } = await rig.rested()
  const published = await rig.stored('acme')
  const [key] = published.keys
  await rig.redis.call(
    (client) =>
      client
        .pipeline()
        .hset('platen:{directory}:tenants', 'acme', JSON.stringify({ ...published.tenant, suspended: true }))
        .hset('platen:{directory}:keys', 'f'.repeat(64), JSON.stringify({ ...key, hash: 'f'.repeat(64) }))
        .hdel('platen:{directory}:templates', 'acme/invoice')
        .exec(),
    SOON(),
  )
  const repairs = async (kind: string) =>
    (await rig.rested()).sum('platen_operator_repairs_total', `kind="${kind}"`) -
    earlier('platen_operator_repairs_total', `kind="${kind}"`)
  for (const kind of ['tenants', 'keys', 'templates'])
    await patiently(
      () => repairs(kind),
      (count) => count === 1,
    )
  expect(await rig.stored('acme')).toEqual(published)
}, 300_000)

test('a leader that is killed is followed by one that writes no status where nothing has changed', async () => {
  const { operator: leader } = await rig.rested()
  const versions = () =>
    Promise.all(['acme', 'meanwhile'].map(async (name) => (await rig.get('tenant', name)).metadata.resourceVersion))
  const before = await versions()
  const at = await epoch()
  await leader.kill()
  const { operator: next, sum } = await rig.rested()
  expect(next).not.toBe(leader)
  expect(sum('rest_client_requests_total', 'method="PATCH"')).toBe(0)
  expect(await versions()).toEqual(before)
  expect(await epoch()).toBeGreaterThan(at)
  await leader.start()
})

test('the epoch does not go back where the Lease is deleted', async () => {
  await rig.rested()
  const before = await epoch()
  await rig.kubectl('delete', 'lease', LEASE, `--namespace=${OPERATOR_NAMESPACE}`)
  const path = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/leases/${LEASE}`
  const { body } = await poll(() => rig.kube.request({ path })).until(({ status }) => status === 200)
  expect(Object(body['spec']).leaseTransitions).toBeGreaterThanOrEqual(before)
  await rig.apply(aTenant('after-the-lease'))
  await rig.says('tenant/after-the-lease', { Ready: 'InForce' })
  expect(await epoch()).toBeGreaterThanOrEqual(before)
})

test('a leader that is to stop gives its lease back', async () => {
  // Whoever lost the Lease to the other has ended.
  for (const operator of rig.cluster.processes('operator')) if (!(await isAlive(operator))) await startAgain(operator)
  const { operator: leader } = await rig.rested()
  expect(await leader.stop()).toBe(0)
  const { operator: next } = await rig.rested()
  expect(next).not.toBe(leader)
  expect(leader.log()).toContain('released')
  // It did not have to wait until it ran out.
  await rig.apply(aTenant('after-the-stop'))
  await rig.says('tenant/after-the-stop', { Ready: 'InForce' })
  await leader.start()
})

test('no operator lists or watches Secrets', async () => {
  const asked = (await askedForSecrets()).slice(askedBefore)
  const verbs = new Set(asked.filter(({ user }) => user.username === OPERATOR_PERSONA).map(({ verb }) => verb))
  expect([...verbs].toSorted()).toEqual(['create', 'get'])
})

function isAlive({ ports: [, probes] }: ServerProcess): Promise<boolean> {
  return fetch(`http://127.0.0.1:${probes}/livez`, { signal: AbortSignal.timeout(5000) }).then(
    () => true,
    () => false,
  )
}

/** One that is ending answers nobody, and runs for a moment yet. */
async function startAgain(operator: ServerProcess): Promise<void> {
  await operator.stop()
  await operator.start()
}

/** For what may take a minute. */
async function patiently<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean): Promise<T> {
  for (let more = 3; more > 0; more--) {
    const answer = await poll(ask)
      .until(isWanted)
      .catch(() => undefined)
    if (answer !== undefined) return answer
  }
  return poll(ask).until(isWanted)
}
