/** What tenants and strangers do with their Templates, and that nobody else waits for it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { anApiKey, aPlan, aTemplate, aTenant, inNamespace, PLAN } from '../rig/resource.ts'
import { OTHERS, type Rig, startRig, TEAM } from '../rig/rig.ts'

const TEMPLATES = 60

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
  await rig.apply(
    aPlan(PLAN, { htmlEngineEnabled: true }),
    aTenant('hostile', { namespaces: [OTHERS] }),
    aTenant('quiet'),
  )
  for (const name of ['hostile', 'quiet']) await rig.says(`tenant/${name}`, { Ready: 'Ready' })
})
afterAll(() => rig[Symbol.asyncDispose]())

/** No count of steps reaches it: it ends with its thread. */
const HANGING = {
  reactPdf: { source: { inline: 'export default () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)' } },
  sampleData: {},
}

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
  await rig.says(`apikey/beside-${name}`, { Ready: 'Ready', Propagated: 'Propagated' })
  await rig.says(`template/beside-${name}`, { Ready: 'Ready', Propagated: 'Propagated' })
  await rig.kubectl('delete', 'template', '--all', `--namespace=${OTHERS}`, '--wait=false')
})

test('a template that nests without end is named, and nobody else is touched', async () => {
  const nested = `{"a":${'['.repeat(6000)}${']'.repeat(6000)}}`
  // No recursion writes it.
  const stdin = JSON.stringify(aTemplate('deep', 'quiet', { sampleData: 'nested' })).replace('"nested"', nested)
  const { code, stderr } = await rig.kube.kubectl(['create', '--filename=-'], { stdin })
  expect([code, stderr]).toEqual([0, ''])
  await rig.apply(aTemplate('flat', 'quiet'))
  await rig.says('template/flat', { Ready: 'Ready', Propagated: 'Propagated' })
  const { Ready } = await rig.says('template/deep', { Ready: 'NestedTooDeep', SourceResolved: 'NestedTooDeep' })
  expect(Ready).toContain('more than 64 levels deep')
  await rig.kubectl('delete', 'template', 'deep', `--namespace=${TEAM}`)
})
