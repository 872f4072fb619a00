/** The objects of the chart, held against a real API server: each field known, and each pod within the restricted profile. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { ROOT } from '../architecture/source-tree.ts'
import { poll } from '../time/poll.ts'
import { borrowKube } from '../topology/run-server.ts'
import { binaryOf } from '../topology/server/binary.ts'
import { ADMIN, type KubeApi } from '../topology/server/kube.ts'
import { CHART, helm, type KubeObject, ofKind, REQUIRED, rendered } from './helm.ts'
import { MATRIX } from './values.ts'

const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' }
const NAMESPACES = ['chart', 'second', 'team-chart']

/** Those of KEDA, Gateway API and Prometheus operator. */
const FOREIGN_CRDS = `--filename=${binaryOf('foreign-crds')}`

let kube: KubeApi & AsyncDisposable
beforeAll(async () => {
  kube = await borrowKube()
  for (const name of NAMESPACES) {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: RESTRICTED } }
    expect(await kube.request({ method: 'POST', path: '/api/v1/namespaces', body })).toMatchObject({ status: 201 })
  }
  // By the server, as what the client would note of itself is longer than an annotation may be.
  expect(await kube.kubectl(['apply', '--server-side', FOREIGN_CRDS])).toMatchObject({ code: 0 })
  for (const path of foreignKinds()) await poll(() => kube.request({ path })).until(({ status }) => status === 200)
})
afterAll(async () => {
  await kube.kubectl(['delete', '--ignore-not-found', FOREIGN_CRDS])
  await kube[Symbol.asyncDispose]()
})

/** Where what they define is listed. */
function foreignKinds(): readonly string[] {
  const folder = binaryOf('foreign-crds')
  return readdirSync(folder).flatMap((file) => {
    const { spec } = parse(readFileSync(join(folder, file), 'utf8')) as KubeObject
    const served = spec.versions.filter((version: { served: boolean }) => version.served)
    return served.map(({ name }: { name: string }) => `/apis/${spec.group}/${name}/${spec.names.plural}?limit=1`)
  })
}

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
  expect(objects.length).toBeGreaterThan(10)
  expect(await tryOut(objects)).toEqual([0, ''])
  expect(await tryOut(podsOf(objects))).toEqual([0, ''])
})

describe('would be refused:', () => {
  test('a field that there is not, and a pod with a privilege', async () => {
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

  test.for([
    ['ScaledObject', 'pollInterval'],
    ['TriggerAuthentication', 'secretRef'],
    ['HTTPRoute', 'hosts'],
    ['PodMonitor', 'endpoints'],
  ] as const)('a field of a %s that there is not', async ([kind, field]) => {
    const objects = await rendered(MATRIX['all there is'], { namespace: 'chart' })
    const [object] = ofKind(objects, kind)
    const misspelt = { ...object, spec: { ...object?.['spec'], [field]: {} } }
    expect(await tryOut([misspelt])).toEqual([1, expect.stringContaining(`unknown field "spec.${field}"`)])
  })
})

test('two releases go beside each other, in namespaces apart and in one', async () => {
  const second = MATRIX['a second release'] ?? {}
  const names = (objects: readonly KubeObject[]) =>
    objects.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.namespace}/${metadata.name}`)
  const first = await rendered({}, { namespace: 'chart' })
  for (const namespace of ['chart', 'second']) {
    const other = await rendered(second, { release: 'other', namespace })
    const both = [...first, ...other]
    expect(names(both)).toHaveLength(new Set(names(both)).size)
    expect(await tryOut(both)).toEqual([0, ''])
  }
})

describe('definitions that are there already', () => {
  const [file] = readdirSync(join(ROOT, 'crds')).filter((name) => name.startsWith('plan')) as [string]
  const definition = parse(readFileSync(join(ROOT, 'crds', file), 'utf8')) as KubeObject
  const fieldsOf = ({ spec }: KubeObject) => spec.versions[0].schema.openAPIV3Schema.properties.spec.properties

  test('of an older version are brought up to the one of the chart', async () => {
    const older = structuredClone(definition)
    const [gone] = Object.keys(fieldsOf(older)) as [string]
    delete fieldsOf(older)[gone]
    const apply = (object: KubeObject, flags: readonly string[] = []) =>
      kube.kubectl(['apply', '--filename=-', '--output=json', ...flags], { stdin: JSON.stringify(object) })
    try {
      expect(fieldsOf(JSON.parse((await apply(older)).stdout))).not.toHaveProperty(gone)
      const objects = await rendered({}, { namespace: 'chart' })
      const [own] = objects.filter(({ metadata }) => metadata.name === definition.metadata.name) as [KubeObject]
      const brought = await apply(own, ['--dry-run=server', '--validate=strict'])
      expect(fieldsOf(JSON.parse(brought.stdout))).toHaveProperty(gone)
    } finally {
      await apply(definition)
    }
  })

  test('of no release are taken over where that is asked for, and named where it is not', async () => {
    const kubeconfig = await kube.kubeconfig(ADMIN)
    const install = (...flags: readonly string[]) =>
      helm(
        ['install', 'platen', CHART, '--namespace=chart', '--dry-run=server', `--kubeconfig=${kubeconfig}`, ...flags],
        REQUIRED,
      )
    expect(await install()).toMatchObject({ code: 1, stderr: expect.stringMatching(/"\w+\.platen\.dev".*exists/) })
    expect(await install('--take-ownership')).toMatchObject({ code: 0 })
  })
})
