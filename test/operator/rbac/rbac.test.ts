/** Who may do what, by the roles in `rbac`, tried by real requests. None of them changes anything: they are dry runs. */
import type { JsonObject } from '@platen/lib/brand.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readText } from '../../architecture/source-tree.ts'
import { poll } from '../../time/poll.ts'
import { grantNamespace, OPERATOR_NAMESPACE, PERSONAS } from '../../topology/cluster/kube.ts'
import { borrowKube } from '../../topology/run-server.ts'
import type { KubeAnswer, KubeApi, KubeRequest } from '../../topology/server/kube.ts'
import { MAY, MAY_NOT, OTHERS, TEAM } from './persona.ts'

const ROLES_API = 'rbac.authorization.k8s.io'

const stack = new AsyncDisposableStack()
let kube: KubeApi
beforeAll(async () => {
  kube = stack.use(await borrowKube())
  await grantNamespace(kube, TEAM)
  await make('/api/v1/namespaces', { metadata: { name: OTHERS } })
  await bind('clusterrolebindings', { role: 'platen-platform-admin', group: 'platform' })
  for (const role of ['editor', 'viewer'])
    await bind(`namespaces/${TEAM}/rolebindings`, { role: `platen-tenant-${role}`, group: `acme-${role}s` })
  for (const [plural, { isCluster = false }] of Object.entries(RESOURCES)) {
    for (const namespace of isCluster ? [TEAM] : [OPERATOR_NAMESPACE, TEAM, OTHERS, 'default']) {
      const target = parse(`create ${plural} in ${namespace}`)
      await make(target.all, manifestOf(target, 'one'))
    }
  }
  // The API server learns of roles a moment after they are applied, each with all of its rules; the operator has two.
  for (const [persona, action] of [...new Map(cases(MAY)), ['operator', 'list plans'] as const]) {
    await poll(() => attempt(persona, action)).until(isGranted)
  }
})
afterAll(() => stack.disposeAsync())

function cases(table: typeof MAY): readonly (readonly [PersonaName, string])[] {
  // Its keys are personas.
  return Object.entries(table).flatMap(([persona, rights]) =>
    Object.entries(rights).flatMap(([resource, verbs]) =>
      verbs.split(' ').map((verb) => [persona as PersonaName, `${verb} ${resource}`] as const),
    ),
  )
}

describe('by the roles that come with it', () => {
  test.for(cases(MAY))('the %s may %s', async ([persona, action]) => {
    expect((await attempt(persona, action)).body).not.toMatchObject({ kind: 'Status', status: 'Failure' })
  })

  test.for(cases(MAY_NOT))('the %s may not %s', async ([persona, action]) => {
    expect(await attempt(persona, action)).toMatchObject({ status: 403, body: { reason: 'Forbidden' } })
    // It is refused for who asks, not for what is asked.
    expect((await kube.request(await requestOf(action))).body).not.toMatchObject({ kind: 'Status', status: 'Failure' })
  })

  test('the operator sees which ConfigMaps there are without seeing what is in them', async () => {
    const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
    const { all: path } = parse('list configmaps everywhere')
    const { body } = await kube.request({ path, accept, as: PERSONAS.operator.name })
    expect(JSON.stringify(body)).toContain(TEAM)
    expect(JSON.stringify(body)).not.toContain('"data"')
  })

  test('a team reads its own Tenant by the role that docs/operations.md shows, and no other', async () => {
    const tenants = '/apis/platen.dev/v1alpha1/tenants'
    const metadata = { name: 'acme' }
    const made = { apiVersion: 'platen.dev/v1alpha1', kind: 'Tenant', metadata, spec: { planRef: { name: 'starter' } } }
    await make(tenants, made)
    const [command = ''] =
      /^kubectl create clusterrole platen-tenant-acme .*$/m.exec(readText('docs/operations.md')) ?? []
    const { code } = await kube.kubectl(command.split(' ').slice(1))
    expect(code).toBe(0)
    stack.defer(async () => void (await kube.kubectl(['delete', 'clusterrole', 'platen-tenant-acme'])))
    const group = 'acme-viewers'
    const subjects = [{ apiGroup: ROLES_API, kind: 'Group', name: group }]
    const roleRef = { apiGroup: ROLES_API, kind: 'ClusterRole', name: 'platen-tenant-acme' }
    await make(`/apis/${ROLES_API}/v1/clusterrolebindings`, {
      metadata: { name: 'platen-tenant-acme' },
      roleRef,
      subjects,
    })
    const as = PERSONAS['tenant viewer'].name
    const read = (path: string) => kube.request({ path: `${tenants}${path}`, as })
    await poll(() => read('/acme')).until(isGranted)
    expect((await read('?fieldSelector=metadata.name%3Dacme')).status).toBe(200)
    expect((await read('/one')).status).toBe(403)
    expect((await read('')).status).toBe(403)
    const written = {
      method: 'PATCH',
      path: `${tenants}/acme`,
      type: 'application/merge-patch+json',
      body: {},
      as,
    } as const
    expect((await kube.request(written)).status).toBe(403)
  })

  test.for([
    ['edit', 'platen-tenant-editor'],
    ['admin', 'platen-tenant-editor'],
    ['view', 'platen-tenant-viewer'],
  ] as const)('whoever has the role %s has %s', async ([role, added]) => {
    // A controller, which is not here, adds to a role those with the labels it asks for.
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
    const { body } = await kube.request({ path: `${path}/${role}` })
    const asked = JSON.stringify(body['aggregationRule'])
    const [label = ''] = /rbac\.authorization\.k8s\.io\/aggregate-to-[a-z]+/.exec(asked) ?? []
    expect(label).toContain(role)
    const found = await kube.request({ path: `${path}?labelSelector=${encodeURIComponent(`${label}=true`)}` })
    expect(JSON.stringify(found.body)).toContain(`"name":"${added}"`)
  })
})

/** Makes an object for as long as the file runs: others have the API server next. */
async function make(path: string, body: object): Promise<void> {
  const made = await kube.request({ method: 'POST', path, body })
  expect(made).toMatchObject({ status: 201 })
  const { name } = Object(made.body['metadata'])
  stack.defer(async () => void (await kube.request({ method: 'DELETE', path: `${path}/${name}` })))
}

function bind(place: string, { role, group }: { readonly role: string; readonly group: string }): Promise<void> {
  const api = 'rbac.authorization.k8s.io'
  const subjects = [{ apiGroup: api, kind: 'Group', name: group }]
  return make(`/apis/${api}/v1/${place}`, {
    metadata: { name: group },
    roleRef: { apiGroup: api, kind: 'ClusterRole', name: role },
    subjects,
  })
}

type PersonaName = keyof typeof PERSONAS

async function attempt(persona: PersonaName, action: string): Promise<KubeAnswer> {
  return kube.request({ ...(await requestOf(action)), as: PERSONAS[persona].name })
}

function isGranted({ status }: KubeAnswer): boolean {
  return status < 300
}

interface Resource {
  readonly api: string
  readonly kind: string
  readonly isCluster?: boolean
  readonly fields: (namespace: string) => JsonObject
}

const PLATEN = 'platen.dev/v1alpha1'
const RBAC = 'rbac.authorization.k8s.io/v1'
const tenantRef = { name: 'acme' }
const html = { template: { inline: '<p>' } }
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }
const RESOURCES: Readonly<Record<string, Resource>> = {
  plans: { api: PLATEN, kind: 'Plan', isCluster: true, fields: () => ({ spec: {} }) },
  tenants: { api: PLATEN, kind: 'Tenant', isCluster: true, fields: () => ({ spec: { planRef: { name: 'starter' } } }) },
  templates: { api: PLATEN, kind: 'Template', fields: () => ({ spec: { tenantRef, engine: 'Html', html } }) },
  apikeys: { api: PLATEN, kind: 'ApiKey', fields: () => ({ spec: { tenantRef, secretName: 'ci-key' } }) },
  erasures: { api: PLATEN, kind: 'Erasure', fields: () => ({ spec: { tenantRef, allRenders: true } }) },
  secrets: { api: 'v1', kind: 'Secret', fields: () => ({ stringData: { key: 'x' } }) },
  configmaps: { api: 'v1', kind: 'ConfigMap', fields: () => ({ data: { key: 'x' } }) },
  events: { api: 'v1', kind: 'Event', fields: (namespace) => ({ involvedObject: { namespace } }) },
  pods: { api: 'v1', kind: 'Pod', fields: () => ({ spec: { containers: [{ name: 'a', image: 'a' }] } }) },
  leases: { api: 'coordination.k8s.io/v1', kind: 'Lease', fields: () => ({ spec: {} }) },
  rolebindings: { api: RBAC, kind: 'RoleBinding', fields: () => ({ roleRef }) },
  clusterroles: { api: RBAC, kind: 'ClusterRole', isCluster: true, fields: () => ({ rules: [] }) },
}

interface Target {
  readonly resource: Resource
  /** Of all of them, and of the one that there is in every namespace. */
  readonly all: string
  readonly one: string
  readonly namespace: string
  readonly isStatus: boolean
}

/** `patch templates/status in team-globex`. */
function parse(action: string): Target & { readonly verb: string } {
  const pattern = /^(\w+) (\w+)(\/status)?(?: in (\S+)| (everywhere))?$/
  const [, verb = '', plural = '', sub = '', namespace = TEAM, everywhere] = pattern.exec(action) ?? []
  const resource = RESOURCES[plural]
  if (resource === undefined) throw new Error(`it is not known how to ${action}`)
  const { api, isCluster = false } = resource
  const place = isCluster || everywhere ? '' : `/namespaces/${namespace}`
  const all = `${api === 'v1' ? '/api' : '/apis'}/${api}${place}/${plural}`
  return { verb, resource, all, one: `${all}/one${sub}`, namespace, isStatus: sub !== '' }
}

/** An action as a request; one that would change something is a dry run. */
async function requestOf(action: string): Promise<KubeRequest> {
  const { verb, ...target } = parse(action)
  const { all, one, isStatus } = target
  const changed = isStatus ? { status: { observedGeneration: 1 } } : { metadata: { annotations: { a: 'b' } } }
  switch (verb) {
    case 'get':
      return { path: one }
    case 'list':
      return { path: all }
    case 'watch':
      return { path: `${all}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dnobody` }
    case 'create':
      return { method: 'POST', path: `${all}?dryRun=All`, body: manifestOf(target, 'another') }
    case 'update':
      // As it is: a new version has to name the one it is of.
      return { method: 'PUT', path: `${one}?dryRun=All`, body: (await kube.request({ path: one })).body }
    case 'patch':
      return { method: 'PATCH', path: `${one}?dryRun=All`, type: 'application/merge-patch+json', body: changed }
    case 'apply': {
      const body = { ...manifestOf(target, 'one'), ...(isStatus && changed) }
      const path = `${one}?dryRun=All&fieldManager=test&force=true`
      return { method: 'PATCH', path, type: 'application/apply-patch+yaml', body }
    }
    case 'delete':
      return { method: 'DELETE', path: `${one}?dryRun=All` }
    case 'clear':
      return { method: 'DELETE', path: `${all}?dryRun=All` }
    default:
      throw new Error(`it is not known how to ${action}`)
  }
}

function manifestOf({ resource, namespace }: Target, name: string): JsonObject {
  const { api, kind, isCluster = false, fields } = resource
  return { apiVersion: api, kind, metadata: { name, ...(!isCluster && { namespace }) }, ...fields(namespace) }
}
