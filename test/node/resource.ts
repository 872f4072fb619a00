/** The resources of a team as `kubectl apply` takes them: a plan, a tenant in a namespace of its own, its key, and the invoice of the examples. */
import { join } from 'node:path'
import { ROOT } from '../architecture/source-tree.ts'
import type { Service } from '../topology/service.ts'
import type { KubeNode } from './machine/node.ts'
import { addressOf, kubectl } from './release.ts'

export const TEAM = 'team-acme'

const RESOURCES = `
apiVersion: platen.dev/v1alpha1
kind: Plan
metadata: {name: business}
spec: {htmlEngineEnabled: true, renderLimitMonthly: 100000}
---
apiVersion: platen.dev/v1alpha1
kind: Tenant
metadata: {name: acme}
spec: {planRef: {name: business}, namespaces: [${TEAM}]}
---
apiVersion: platen.dev/v1alpha1
kind: ApiKey
metadata: {name: shop, namespace: ${TEAM}}
spec: {tenantRef: {name: acme}, secretName: shop-key}
`

/** A team's way to the service. */
export interface Team {
  readonly service: Service
  readonly key: string
  /** What the invoice is made of. */
  readonly data: unknown
}

/** Declares it in its namespace; resolves when it is in force. */
export async function declareTeam(node: KubeNode): Promise<Team> {
  const files = ['brand', 'invoice'].map((name) => `--filename=${join(ROOT, 'examples', `${name}.yaml`)}`)
  await kubectl(node, ['apply', '--namespace', TEAM, ...files, '--filename=-'], RESOURCES)
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
    service: { url: () => url } as Service,
    key: Buffer.from(secret, 'base64').toString(),
    data: JSON.parse(await kubectl(node, sample)),
  }
}
