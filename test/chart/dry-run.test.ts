/** The objects of the chart, held against a real API server: each field known, and each pod within the restricted profile. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { borrowKube } from '../topology/run-server.ts'
import type { KubeApi } from '../topology/server/kube.ts'
import { type KubeObject, ofKind, rendered } from './helm.ts'
import { MATRIX } from './values.ts'

/** Whose definitions are not on this API server. */
const OTHERS = ['keda.sh', 'gateway.networking.k8s.io', 'monitoring.coreos.com']
const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' }
const NAMESPACES = ['chart', 'team-chart']

let kube: KubeApi & AsyncDisposable
beforeAll(async () => {
  kube = await borrowKube()
  for (const name of NAMESPACES) {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: RESTRICTED } }
    expect(await kube.request({ method: 'POST', path: '/api/v1/namespaces', body })).toMatchObject({ status: 201 })
  }
})
afterAll(() => kube[Symbol.asyncDispose]())

/** What would become of objects, field by field. */
async function tryOut(objects: readonly unknown[]): Promise<readonly [number | null, string]> {
  const stdin = objects.map((object) => stringify(object)).join('---\n')
  const { code, stderr } = await kube.kubectl(['apply', '--dry-run=server', '--validate=strict', '--filename=-'], {
    stdin,
  })
  return [code, stderr]
}

/** The pods that Deployments would make, of accounts that are there. */
function podsOf(objects: readonly KubeObject[]): readonly unknown[] {
  return ofKind(objects, 'Deployment').map(({ metadata: { name, namespace }, spec: { template } }) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...template.metadata, name, namespace },
    spec: { ...template.spec, serviceAccountName: 'default' },
  }))
}

test.for(Object.entries(MATRIX))('Kubernetes takes what is rendered with %s', async ([, values]) => {
  const objects = await rendered(values, { namespace: 'chart' })
  const own = objects.filter(({ apiVersion }) => !OTHERS.includes(apiVersion.split('/')[0] ?? ''))
  expect(own.length).toBeGreaterThan(10)
  expect(await tryOut(own)).toEqual([0, ''])
  expect(await tryOut(podsOf(objects))).toEqual([0, ''])
})

test('a field that there is not, and a pod with a privilege, would be refused', async () => {
  const [pod] = podsOf(await rendered({}, { namespace: 'chart' })) as [{ spec: { containers: [object] } }]
  const [container] = pod.spec.containers
  const misspelt = { ...pod, spec: { ...pod.spec, containers: [{ ...container, livenesProbe: {} }] } }
  expect(await tryOut([misspelt])).toEqual([1, expect.stringContaining('livenesProbe')])
  const privileged = {
    ...pod,
    spec: { ...pod.spec, containers: [{ ...container, securityContext: { allowPrivilegeEscalation: true } }] },
  }
  expect(await tryOut([privileged])).toEqual([1, expect.stringContaining('restricted')])
})
