/** The resources of a team, for `kubectl apply`: a plan, a tenant with its own namespace, its key, the example invoice, and a letter. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { ROOT } from '../architecture/source-tree.ts'
import { LETTER } from '../chaos/cluster/rig/rig.ts'
import { tsx, UNLIMITED } from '../fixture/manifests.ts'
import type { Service } from '../topology/service.ts'
import type { KubeNode } from './machine/node.ts'
import { addressOf, kubectl, NAMESPACE } from './release.ts'

/** Different names than in the examples, because the README test creates those. */
const TENANT = 'tester'
const TEAM = 'team-tester'

const apiVersion = 'platen.dev/v1alpha1'
const tenantRef = { name: TENANT }
const RESOURCES = [
  { apiVersion, kind: 'Plan', metadata: { name: TENANT }, spec: UNLIMITED },
  { apiVersion, kind: 'Tenant', metadata: tenantRef, spec: { planRef: { name: TENANT }, namespaces: [TEAM] } },
  {
    apiVersion,
    kind: 'ApiKey',
    metadata: { name: 'shop', namespace: TEAM },
    spec: { tenantRef, secretName: 'shop-key' },
  },
  {
    apiVersion,
    kind: 'Template',
    metadata: { name: 'letter', namespace: TEAM },
    spec: { tenantRef, displayName: 'Letter', version: 1, ...tsx(LETTER) },
  },
]

/** Returns the documents of an example, with this team's tenant and namespace. */
function ofExample(name: string): readonly object[] {
  return parseAllDocuments(readFileSync(join(ROOT, 'examples', `${name}.yaml`), 'utf8')).map((document) => {
    const { metadata, spec, ...rest } = document.toJS()
    return { ...rest, metadata: { ...metadata, namespace: TEAM }, ...(spec && { spec: { ...spec, tenantRef } }) }
  })
}

/** What a test needs to call the service as this team. */
export interface Team {
  readonly tenant: string
  readonly service: Service
  readonly key: string
  /** Sample data of the invoice. */
  readonly data: unknown
}

/** Creates the resources in the team's namespace. Resolves when they are enforced. */
export async function declareTeam(node: KubeNode): Promise<Team> {
  await kubectl(node, ['create', 'namespace', TEAM])
  const secrets = 'platen-operator-secrets'
  const granted = [`--clusterrole=${secrets}`, `--serviceaccount=${NAMESPACE}:platen-operator`]
  await kubectl(node, ['create', 'rolebinding', secrets, '--namespace', TEAM, ...granted])
  const items = [...ofExample('brand'), ...ofExample('invoice'), ...RESOURCES]
  await kubectl(
    node,
    ['apply', '--server-side', '--filename=-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  )
  await kubectl(node, ['wait', '--for=condition=Propagated', 'platen', '--all', '--all-namespaces', '--timeout=120s'])
  const secret = await kubectl(node, [
    'get',
    'secret',
    'shop-key',
    '--namespace',
    TEAM,
    '--output=jsonpath={.data.key}',
  ])
  const sample = ['get', 'template', 'invoice', '--namespace', TEAM, '--output=jsonpath={.spec.sampleData}']
  const url = await addressOf(node, 'platen-api')
  return {
    tenant: TENANT,
    service: { url: () => url } as Service,
    key: Buffer.from(secret, 'base64').toString(),
    data: JSON.parse(await kubectl(node, sample)),
  }
}
