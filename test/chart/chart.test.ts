/** What the chart renders: that the processes take their variables, that Kubernetes would take its objects, and that it keeps rules of ours. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unknownSettings, type Variables } from '@platen/adapters/setting/setting.ts'
import * as api from '@platen/api/config.ts'
import * as events from '@platen/events/config.ts'
import * as operator from '@platen/operator/config.ts'
import * as renderer from '@platen/renderer/config.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { ROOT } from '../architecture/source-tree.ts'
import {
  CHART,
  HELMS,
  helm,
  KUBE_VERSION,
  type KubeObject,
  manifestOf,
  ofKind,
  type PodTemplate,
  podsOf,
  REQUIRED,
  rendered,
  type Values,
} from './helm.ts'
import { valueList } from './value-list.ts'
import { MATRIX, REFUSED } from './values.ts'

const CONFIGS = { api, operator, renderer, events } as const
type Deployable = keyof typeof CONFIGS

/** What is in the Secrets that values name, by the key. */
const SECRETS: Readonly<Record<string, string>> = {
  url: 'redis://redis:6379',
  idKeys: Buffer.alloc(32, 1).toString('base64url'),
  eventKey: Buffer.alloc(32, 2).toString('base64url'),
  sealKey: Buffer.alloc(32, 3).toString('base64'),
  accessKeyId: 'id',
  secretAccessKey: 'secret',
  username: 'platen',
  password: 'secret',
}

interface EnvironmentVariable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } }
}

interface Container {
  readonly name: Deployable
  readonly env: readonly EnvironmentVariable[]
}

/** The settings of a process: the variables of its container, and the files of secrets that they name. There are no certificates here. */
function variablesOf(deployment: KubeObject): Variables {
  const [container] = deployment['spec'].template.spec.containers
  return Object.fromEntries(
    container.env.map(({ name, value }: EnvironmentVariable) => {
      const [, key = ''] = /^\/etc\/platen\/\w+\/(.+)$/.exec(value ?? '') ?? []
      if (/_(CA|CERT|KEY)_FILE$/.test(name) && /\.(crt|key)$/.test(key)) return [name, '']
      return name.endsWith('_FILE') ? [name.slice(0, -'_FILE'.length), SECRETS[key]] : [name, value ?? 'platen']
    }),
  )
}

const nameOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`

/** `helm lint` knows no kind that a cluster has beside its own. */
const linted = (values: Values) => ({ ...REQUIRED, ...values, autoscaling: { kind: 'none' } })

describe.for(Object.entries(MATRIX))('with %s', ([, values]) => {
  let objects: readonly KubeObject[]
  let deployments: readonly KubeObject[]
  beforeAll(async () => {
    objects = await rendered(values)
    deployments = ofKind(objects, 'Deployment')
  })

  test.for(HELMS)('is well formed to %s lint', async (by) => {
    const { code, stdout } = await helm(['lint', '--strict', KUBE_VERSION, CHART], linted(values), by)
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')])
  })

  test('Helm 3 makes the same objects as Helm 4, and each the same text twice', async () => {
    expect(await rendered(values, { by: 'helm3' })).toEqual(objects)
    expect(await manifestOf(values)).toBe(await manifestOf(values))
  })

  test('names Secrets of the values, each of them, and makes none', () => {
    expect(secretsOf(objects).toSorted()).toEqual(secretsIn({ ...REQUIRED, ...values }).toSorted())
    expect(ofKind(objects, 'Secret')).toEqual([])
  })

  test('every process takes its variables, and knows each; its secrets come from Secrets', () => {
    for (const deployment of deployments) {
      const [{ name, env }] = deployment['spec'].template.spec.containers as [Container]
      const variables = variablesOf(deployment)
      const { SETTINGS } = CONFIGS[name]
      expect(() => SETTINGS.read(variables)).not.toThrow()
      expect(unknownSettings(variables, SETTINGS)).toEqual([])
      const readable = env.filter(({ value }) => value !== undefined).map((variable) => variable.name)
      const secrets = SETTINGS.entries.filter(({ isSecret }) => isSecret).map((entry) => entry.name)
      expect(secrets.filter((secret) => readable.includes(secret))).toEqual([])
    }
    expect(deployments.length).toBeGreaterThan(2)
  })

  test('each file that a process is told to read is in its volume, and no other', () => {
    for (const { spec } of deployments) {
      const { containers, volumes } = spec.template.spec
      const sources: readonly SecretSource[] = volumes.flatMap(
        ({ projected }: { projected?: { sources: readonly SecretSource[] } }) => projected?.sources ?? [],
      )
      const files = sources.flatMap(({ secret }) => secret.items.map(({ path }) => `/etc/platen/${path}`))
      const named = containers[0].env
        .filter(({ name }: EnvironmentVariable) => name.startsWith('PLATEN_') && name.endsWith('_FILE'))
        .map(({ value }: EnvironmentVariable) => value)
      expect(named.toSorted()).toEqual(files.toSorted())
      // The kubelet never changes a file that is mounted by itself.
      for (const { subPath } of containers[0].volumeMounts) expect(subPath).toBeUndefined()
    }
  })

  test('no variable is there twice', () => {
    for (const { spec } of podsOf(objects)) {
      const names = spec.containers[0].env.map(({ name }: { name: string }) => name)
      expect(names).toEqual([...new Set(names)])
    }
  })

  test('each object is there once, and its name is short enough for what is made of it', () => {
    const names = objects.map(nameOf)
    expect(names).toEqual([...new Set(names)])
    for (const { kind, metadata } of objects)
      if (kind !== 'CustomResourceDefinition') expect(metadata.name).toMatch(/^[a-z0-9][a-z0-9.-]{0,51}$/)
  })

  test('containers say what they need, and are of an exact version', () => {
    for (const { spec } of podsOf(objects))
      for (const { resources, image } of spec.containers) {
        expect(resources).toMatchObject({
          requests: { cpu: expect.anything(), memory: expect.anything() },
          limits: { memory: expect.anything() },
        })
        expect(image).toMatch(/:[^:/]*\d[^:/]*$/)
        const disks = (spec.volumes ?? []).map(
          ({ emptyDir }: { emptyDir?: { sizeLimit: string } }) => emptyDir?.sizeLimit,
        )
        const onDisk = disks.reduce((sum: number, size?: string) => sum + bytesOf(size ?? '0Mi'), 0)
        expect(bytesOf(resources.limits['ephemeral-storage'])).toBeGreaterThan(onDisk)
      }
  })

  test('what runs for long is probed, and spread over zones and hosts with its like', () => {
    for (const { spec } of deployments) {
      const { containers, topologySpreadConstraints: constraints } = spec.template.spec
      for (const container of containers)
        for (const [probe, path] of Object.entries(PROBES)) expect(container[probe].httpGet.path).toBe(path)
      expect(constraints.map(({ topologyKey }: { topologyKey: string }) => topologyKey)).toEqual(SPREAD_OVER)
      for (const { labelSelector } of constraints) expect(labelSelector).toEqual(spec.selector)
    }
  })

  test('network policies choose renderers by one, and all else by the other', () => {
    const foreign = { metadata: { name: 'kafka', labels: OF_ANOTHER_CHART }, spec: {} }
    const chosenBy = (end: string) =>
      ofKind(objects, 'NetworkPolicy')
        .filter(({ spec }) => spec.policyTypes.at(-1) === end)
        .map(({ spec }) => [...podsOf(objects), foreign].filter((pod) => isSelected(spec.podSelector, pod)))
    const isRenderer = ({ spec }: PodTemplate) => spec.containers[0].name === 'renderer'
    expect(chosenBy('Egress')).toEqual([podsOf(objects).filter(isRenderer)])
    expect(chosenBy('Ingress')).toEqual([podsOf(objects).filter((pod) => !isRenderer(pod))])
  })

  test('what something scales has no number of replicas, and all else has', () => {
    const scaled = [...ofKind(objects, 'ScaledObject'), ...ofKind(objects, 'HorizontalPodAutoscaler')]
    const targets = new Set(scaled.map(({ spec }) => spec.scaleTargetRef.name))
    for (const { metadata, spec } of deployments)
      expect([metadata.name, spec.replicas === undefined]).toEqual([metadata.name, targets.has(metadata.name)])
    const names = new Set(deployments.map(({ metadata }) => metadata.name))
    for (const target of targets) expect(names).toContain(target)
  })

  test('selectors choose the pods of one Deployment, and budgets and Services find theirs', () => {
    const fits = (selector: object, { spec }: KubeObject) =>
      Object.entries(selector).every(([name, value]) => spec.template.metadata.labels[name] === value)
    for (const { spec } of deployments)
      expect(deployments.filter((each) => fits(spec.selector.matchLabels, each))).toHaveLength(1)
    const selectors = [
      ...ofKind(objects, 'PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
      ...ofKind(objects, 'Service').map(({ spec }) => spec.selector),
    ]
    expect(selectors).toHaveLength(deployments.length + 1)
    for (const selector of selectors) expect(deployments.filter((each) => fits(selector, each))).toHaveLength(1)
  })

  test('a ScaledObject sums the lag of the topics that its renderers read', () => {
    for (const { metadata, spec } of ofKind(objects, 'ScaledObject')) {
      const deployment = deployments.find((each) => each.metadata.name === spec.scaleTargetRef.name)
      const {
        PLATEN_ENGINES,
        PLATEN_LANES = '',
        PLATEN_KAFKA_TOPIC_PREFIX = '',
      } = variablesOf(deployment as KubeObject)
      const topics = PLATEN_LANES.split(',').map(
        (lane) => `${PLATEN_KAFKA_TOPIC_PREFIX}render.${PLATEN_ENGINES}.${lane}`,
      )
      const triggers = spec.triggers.map(
        ({ metadata: { topic, consumerGroup } }: { metadata: Record<string, string> }) => [topic, consumerGroup],
      )
      expect([metadata.name, triggers]).toEqual([metadata.name, topics.map((topic) => [topic, topic])])
      expect(spec.advanced.scalingModifiers.formula.split(' + ')).toEqual(
        spec.triggers.map(({ name }: { name: string }) => name),
      )
    }
  })
})

/** What is asked of each container, and where. */
const PROBES = { startupProbe: '/livez', livenessProbe: '/livez', readinessProbe: '/readyz' }
const SPREAD_OVER = ['topology.kubernetes.io/zone', 'kubernetes.io/hostname']

function bytesOf(quantity: string): number {
  return Number(quantity.slice(0, -2)) * 1024 ** (['Ki', 'Mi', 'Gi'].indexOf(quantity.slice(-2)) + 1)
}

interface Requirement {
  readonly key: string
  readonly operator: 'In' | 'NotIn'
  readonly values: readonly string[]
}

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions: readonly Requirement[]
}

function isSelected({ matchLabels = {}, matchExpressions }: Selector, { metadata: { labels = {} } }: PodTemplate) {
  const isMatched = ({ key, operator, values }: Requirement) =>
    values.includes(labels[key] ?? '') === (operator === 'In')
  return Object.entries(matchLabels).every(([key, value]) => labels[key] === value) && matchExpressions.every(isMatched)
}

/** Of the same release, as an umbrella chart has it. */
const OF_ANOTHER_CHART = { 'app.kubernetes.io/instance': 'platen', 'app.kubernetes.io/name': 'kafka' }

/** The Secrets that objects read, by their names. */
function secretsOf(objects: readonly KubeObject[]): readonly string[] {
  const pods = podsOf(objects).flatMap(({ spec }) => [
    ...(spec.imagePullSecrets ?? []).map(({ name }: { name: string }) => name),
    ...(spec.volumes ?? []).flatMap(({ projected }: { projected?: { sources: readonly SecretSource[] } }) =>
      (projected?.sources ?? []).map(({ secret }) => secret.name),
    ),
    ...spec.containers.flatMap(({ env }: { env: readonly EnvironmentVariable[] }) =>
      env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ),
  ])
  const others = [
    ...ofKind(objects, 'Ingress').flatMap(({ spec }) => spec.tls ?? []),
    ...ofKind(objects, 'TriggerAuthentication').flatMap(({ spec }) => spec.secretTargetRef),
  ].map(({ secretName, name }) => secretName ?? name)
  return [...new Set([...pods, ...others])].filter((name) => name !== undefined)
}

interface SecretSource {
  readonly secret: { readonly name: string; readonly items: readonly { readonly key: string; readonly path: string }[] }
}

/** Those that values name. */
function secretsIn(values: unknown, called = ''): readonly string[] {
  if (typeof values === 'string') return /secretName$|pullSecrets$/i.test(called) ? [values] : []
  if (Array.isArray(values)) return values.flatMap((each) => secretsIn(each, called))
  return Object.entries(Object(values)).flatMap(([name, each]) => secretsIn(each, name))
}

test('names that would be too long stay apart', async () => {
  const objects = await rendered(MATRIX['all there is'], { release: 'a'.repeat(53) })
  const names = objects.map(nameOf)
  expect(names).toEqual([...new Set(names)])
  for (const { metadata } of objects) expect(metadata.name.length).toBeLessThanOrEqual(63)
  expect(Math.max(...ofKind(objects, 'Deployment').map(({ metadata }) => metadata.name.length))).toBe(52)
})

test.for(REFUSED)('refuses %s, and names the value', async ([, values, says]) => {
  await expect(rendered(values)).rejects.toThrow(says)
})

test('refuses a Kubernetes that does not know all of its definitions', async () => {
  const { code, stderr } = await helm(['template', CHART, '--kube-version=1.30.14'], linted({}))
  expect([code, stderr]).toEqual([1, expect.stringContaining('requires kubeVersion: >=1.31')])
})

test('refuses a value of another kind, and names each', async () => {
  const wrong: Record<string, unknown> = {}
  const paths = valueList().map(({ path }) => path.split('.'))
  for (const path of paths) {
    const home = path.slice(0, -1).reduce((at, name) => (at[name] ??= {}) as typeof wrong, wrong)
    home[path.at(-1) ?? ''] = 7.5
  }
  const refusal = await rendered(wrong).then(() => '', String)
  expect(paths.filter((path) => !refusal.includes(`at '/${path.join('/')}'`))).toEqual([])
})

test('refuses a name that is no value at each level, and says where', async () => {
  const homes = new Set(valueList().map(({ path }) => path.split('.').slice(0, -1).join('.')))
  const levels = [...homes, 'renderers.html'].map((home) => (home === '' ? [] : home.split('.')))
  const wrong: Record<string, unknown> = { renderers: { html: { engine: 'html' } } }
  for (const level of levels) {
    const home = level.reduce((at, name) => (at[name] ??= {}) as typeof wrong, wrong)
    home['misspelt'] = 1
  }
  const refusal = await rendered(wrong).then(() => '', String)
  const isRefused = (level: readonly string[]) => {
    const place = level.map((name) => `/${name}`).join('')
    return new RegExp(`at '${place}(/misspelt'|': .*'misspelt')`).test(refusal)
  }
  expect(levels.filter((level) => !isRefused(level))).toEqual([])
  expect(levels.length).toBeGreaterThan(15)
})

test('renderers of their own for sync renders are scaled and disrupted apart', async () => {
  const objects = await rendered(MATRIX['renderers of their own for sync renders'])
  const scaled = ofKind(objects, 'ScaledObject').map(({ spec }) => [
    spec.scaleTargetRef.name.replace('platen-renderer-', ''),
    spec.minReplicaCount,
    spec.triggers.map(({ metadata }: KubeObject) => (metadata as unknown as { topic: string }).topic),
  ])
  expect(scaled).toEqual([
    ['html-async', 0, ['render.html.async', 'render.html.bulk']],
    ['html-sync', 2, ['render.html.sync']],
    ['react-pdf-async', 0, ['render.react_pdf.async', 'render.react_pdf.bulk']],
    ['react-pdf-sync', 2, ['render.react_pdf.sync']],
  ])
  const budgets = new Set(ofKind(objects, 'PodDisruptionBudget').map(({ metadata }) => metadata.name))
  for (const { metadata } of ofKind(objects, 'ScaledObject')) expect(budgets).toContain(metadata.name)
})

test('says what to install where there is no KEDA', async () => {
  await expect(rendered({}, { kinds: [] })).rejects.toThrow(/no KEDA: install it first.*--api-versions=/)
  await expect(rendered({ autoscaling: { kind: 'cpu' } }, { kinds: [] })).resolves.toBeDefined()
})

test.for(['operator', 'team'])('its roles are those of rbac/%s.yaml', async (file) => {
  const text = readFileSync(join(ROOT, `rbac/${file}.yaml`), 'utf8')
  const written = parseAllDocuments(text).map((document) => document.toJS() as KubeObject)
  const objects = await rendered()
  for (const { kind, metadata, rules, roleRef, subjects } of written) {
    const same = objects.find((object) => object.kind === kind && object.metadata.name === metadata.name)
    expect(same, `${kind} ${metadata.name}`).toBeDefined()
    expect({ rules: same?.['rules'], roleRef: same?.['roleRef'], subjects: same?.['subjects'] }).toEqual({
      rules,
      roleRef,
      subjects,
    })
    expect(same?.metadata.labels ?? {}).toMatchObject(metadata.labels ?? {})
  }
})

test('its definitions are those of crds, and stay when the release goes', async () => {
  const definitions = ofKind(await rendered(), 'CustomResourceDefinition')
  expect(definitions).toHaveLength(5)
  for (const { metadata, spec } of definitions) {
    const file = join(ROOT, 'crds', `${spec.names.kind.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}.yaml`)
    expect(spec).toEqual(parseAllDocuments(readFileSync(file, 'utf8'))[0]?.toJS().spec)
    expect(metadata.annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' })
  }
})
