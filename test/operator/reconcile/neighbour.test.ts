/** What tenants and strangers do with their Templates, and that nobody else waits for it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keepRunning } from '../rig/keep-running.ts'
import { type Applied, anApiKey, aPlan, aTemplate, aTenant, inNamespace, PLAN } from '../rig/resource.ts'
import { OTHERS, type Rig, startRig, TEAM } from '../rig/rig.ts'

const TEMPLATES = 60
/** Of each kind of resource that is created again without end. */
const RECREATED = 10

const stack = new AsyncDisposableStack()
let rig: Rig
beforeAll(async () => {
  rig = stack.use(await startRig({ operators: 2 }))
  stack.use(keepRunning(rig.cluster.processes('operator')))
  await rig.apply(
    aPlan(PLAN, { htmlEngineEnabled: true }),
    aTenant('hostile', { namespaces: [OTHERS] }),
    aTenant('quiet'),
  )
  for (const name of ['hostile', 'quiet']) await rig.says(`tenant/${name}`, { Ready: 'InForce' })
})
afterAll(() => stack.disposeAsync())

/** No count of steps reaches it: it ends with its thread. */
const HANGING = {
  reactPdf: { source: { inline: 'export default () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)' } },
  sampleData: {},
}

/** As large as the API server takes it, and of the smallest values. */
const LARGE = { sampleData: { a: Array.from({ length: 300_000 }, () => []) } }

function hanging(name: string, tenant: string) {
  return Array.from({ length: TEMPLATES }, (_, at) => inNamespace(aTemplate(`${name}-${at}`, tenant, HANGING), OTHERS))
}

test.for([
  ['of no tenant', 'stranger', 'nobody'],
  ['of a tenant that does not list their namespace', 'unlisted', 'quiet'],
  ['of another tenant', 'hostile', 'hostile'],
] as const)('templates that hang, %s, hold up neither keys nor templates', async ([, name, tenant]) => {
  await rig.apply(...hanging(name, tenant))
  await rig.apply(anApiKey(`beside-${name}`, 'quiet'), aTemplate(`beside-${name}`, 'quiet'))
  await rig.says(`apikey/beside-${name}`, { Ready: 'InForce', Propagated: 'Propagated' })
  await rig.says(`template/beside-${name}`, { Ready: 'InForce', Propagated: 'Propagated' })
  await rig.kubectl('delete', 'template', '--all', `--namespace=${OTHERS}`, '--wait=false')
})

test('a template that nests without end is named, and nobody else is touched', async () => {
  const nested = `{"a":${'['.repeat(6000)}${']'.repeat(6000)}}`
  // No recursion writes it.
  const stdin = JSON.stringify(aTemplate('deep', 'quiet', { sampleData: 'nested' })).replace('"nested"', nested)
  const { code, stderr } = await rig.kube.kubectl(['create', '--filename=-'], { stdin })
  expect([code, stderr]).toEqual([0, ''])
  await rig.apply(aTemplate('flat', 'quiet'))
  await rig.says('template/flat', { Ready: 'InForce', Propagated: 'Propagated' })
  const { Ready } = await rig.says('template/deep', { Ready: 'NestedTooDeep', SourceResolved: 'NestedTooDeep' })
  expect(Ready).toContain('more than 64 levels deep')
  await rig.kubectl('delete', 'template', 'deep', `--namespace=${TEAM}`)
})

/** Makes these resources in a namespace of others, removes them, and so on, until it is disposed of. */
function recreating(resources: readonly Applied[]): AsyncDisposable {
  const kinds = new Set(resources.map(({ kind }) => `${kind.toLowerCase()}s`))
  const over = new AbortController()
  const make = async () => {
    while (!over.signal.aborted) {
      for (const resource of resources) if (!over.signal.aborted) await rig.apply(inNamespace(resource, OTHERS))
      for (const kind of kinds)
        await rig.kube.request({ method: 'DELETE', path: `/apis/platen.dev/v1alpha1/namespaces/${OTHERS}/${kind}` })
    }
  }
  const made = make()
  return {
    async [Symbol.asyncDispose]() {
      over.abort()
      await made
    },
  }
}

test('two tenants who make theirs again without end while the leader is killed hold up neither keys nor templates', async () => {
  await rig.apply(aTenant('restless', { namespaces: [OTHERS] }), anApiKey('before', 'quiet'))
  await rig.says('apikey/before', { Ready: 'InForce', Propagated: 'Propagated' })
  const keys = Array.from({ length: RECREATED }, (_, at) => anApiKey(`anew-${at}`, 'hostile'))
  await using _first = recreating([...hanging('anew', 'hostile').slice(0, RECREATED), ...keys])
  await using _second = recreating([
    ...hanging('restless', 'restless').slice(0, RECREATED),
    aTemplate('large', 'restless', LARGE),
  ])
  const leader = await rig.leader()
  await leader.kill()
  await rig.apply(anApiKey('after', 'quiet'), aTemplate('after', 'quiet'))
  await rig.says('apikey/after', { Ready: 'InForce', Propagated: 'Propagated' })
  await rig.says('template/after', { Ready: 'InForce', Propagated: 'Propagated' })
  const known = rig.published('quiet').keys.length
  // Answered when it is out of force.
  await rig.kubectl('delete', 'apikey', 'before', `--namespace=${TEAM}`)
  expect((await rig.stored('quiet')).keys).toHaveLength(known - 1)
})
