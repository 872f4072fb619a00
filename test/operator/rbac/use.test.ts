/** The roles of the operator against what it asks of an API server: everything it may is used, and everything it uses it may. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROTATE_ANNOTATION, ROTATE_KEY_ANNOTATION } from '@platen/contract/domain/resource-spec.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readText } from '../../architecture/source-tree.ts'
import { poll } from '../../time/poll.ts'
import { OPERATOR_PERSONA } from '../../topology/cluster/kube.ts'
import { borrowKube } from '../../topology/run-server.ts'
import { AUDIT_LOG } from '../../topology/server/kube.ts'
import { aConfigMap, anApiKey, anErasure, annotated, aPlan, aTemplate, aTenant, PLAN } from '../rig/resource.ts'
import { type Manifest, type Rig, startRig, TEAM } from '../rig/rig.ts'

let kube: Awaited<ReturnType<typeof borrowKube>>
let rig: Rig
/** Requests of those who had the API server before. */
let before: number
beforeAll(async () => {
  kube = await borrowKube()
  before = (await askedSoFar()).length
  rig = await startRig({ kube })
})
afterAll(async () => {
  await rig?.[Symbol.asyncDispose]()
  await kube?.[Symbol.asyncDispose]()
})

/** As Kubernetes writes them. */
interface Asked {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: { readonly apiGroup?: string; readonly resource: string; readonly subresource?: string }
  readonly responseStatus?: { readonly code: number }
}

async function askedSoFar(): Promise<readonly Asked[]> {
  const lines = (await readFile(join(kube.folder, AUDIT_LOG), 'utf8')).split('\n').filter((line) => line !== '')
  return lines.map((line): Asked => JSON.parse(line)).filter(({ user }) => user.username === OPERATOR_PERSONA)
}

/** As `patch platen.dev/tenants/status`. */
async function used(): Promise<readonly string[]> {
  const asked = (await askedSoFar()).slice(before)
  expect(asked.filter(({ responseStatus }) => responseStatus?.code === 403)).toEqual([])
  return sorted(
    asked.flatMap(({ verb, objectRef }) => {
      if (objectRef === undefined) return []
      const { apiGroup = '', resource, subresource } = objectRef
      return [`${verb} ${apiGroup}/${resource}${subresource === undefined ? '' : `/${subresource}`}`]
    }),
  )
}

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

/** All that the roles of `rbac/operator.yaml` allow, in the same words. */
function allowed(): readonly string[] {
  // Its documents are those of Kubernetes.
  const documents = parseAllDocuments(readText('rbac/operator.yaml')).map(
    (document) => document.toJS() as { rules?: Rule[] },
  )
  return sorted(
    documents
      .flatMap(({ rules = [] }) => rules)
      .flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
        ),
      ),
  )
}

function sorted(actions: readonly string[]): readonly string[] {
  return [...new Set(actions)].toSorted()
}

test('the operator uses every right it has and asks for nothing else', async () => {
  const [plan, tenant, key] = [aPlan(PLAN, { htmlEngineEnabled: true }), aTenant('acme'), anApiKey('ci', 'acme')]
  const configMap: Manifest = aConfigMap('pages', { 'page.html': '<h1>{{ number }}</h1>' })
  const template = aTemplate('invoice', 'acme', {
    html: { template: { configMapKeyRef: { name: 'pages', key: 'page.html' } } },
  })
  await rig.apply(plan, tenant, key, configMap, template)
  for (const place of ['plan/basic', 'tenant/acme', 'apikey/ci', 'template/invoice'])
    await rig.says(place, { Ready: 'InForce' })
  const at = '2026-11-21T12:00:00Z'
  await rig.apply(annotated(tenant, { [ROTATE_ANNOTATION]: at }), annotated(key, { [ROTATE_KEY_ANNOTATION]: at }))
  for (const [kind, name] of [
    ['apikey', 'ci'],
    ['tenant', 'acme'],
  ] as const) {
    await poll(() => rig.get(kind, name)).until(({ status }) => status?.['rotation'] === at)
  }
  // Only somebody else says here that it is done.
  await rig.apply(anErasure('gdpr', 'acme', { allRenders: true, ttlSecondsAfterFinished: 0 }))
  await poll(() => rig.get('erasure', 'gdpr')).until(({ status }) => status?.['orderedAt'] !== undefined)
  const done = {
    type: 'Ready',
    status: 'True',
    observedGeneration: 1,
    lastTransitionTime: at,
    reason: 'Erased',
    message: '',
  }
  const patch = JSON.stringify({ status: { conditions: [done] } })
  const finish = ['patch', 'erasure', 'gdpr', `--namespace=${TEAM}`, '--subresource=status', '--type=merge']
  await rig.kubectl(...finish, `--patch=${patch}`)
  await poll(() => rig.get('erasure', 'gdpr').catch(() => undefined)).until((found) => found === undefined)
  for (const [kind, name] of [
    ['apikey', 'ci'],
    ['template', 'invoice'],
    ['tenant', 'acme'],
    ['plan', PLAN],
  ] as const)
    await rig.kubectl('delete', kind, name, `--namespace=${TEAM}`, '--timeout=60s')
  // What is asked is written down when it has been answered.
  const rights = allowed()
  expect(await poll(used).until((actions) => actions.length >= rights.length)).toEqual(rights)
})
