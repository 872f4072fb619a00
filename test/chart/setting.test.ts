/** What a change of each value does: something in any case, and a roll-out of the pods that read it and of no others. */

import { isDeepStrictEqual } from 'node:util'
import { WEBHOOK_ATTEMPT_MS_MAX, WEBHOOK_EXCERPT_MS_MAX } from '@platen/adapters/http/limit.ts'
import { SLOT_MEMORY_BYTES } from '@platen/adapters/setting/limit.ts'
import { slotsFor } from '@platen/adapters/setting/slots.ts'
import { CLOSE_MS_MAX } from '@platen/adapters/system/run.ts'
import { SYNC_REPLY_MARGIN_MS, SYNC_START_MS_MAX } from '@platen/api/admission/limit.ts'
import { PORT_CALL_MS_MAX } from '@platen/api/limit.ts'
import { LEASE_RELEASE_MS_MAX } from '@platen/operator/cluster/lease.ts'
import { RECONCILE_DRAIN_MS } from '@platen/operator/leader/leader.ts'
import { PAGE_KEPT_MIB_MAX } from '@platen/renderer/browser/limit.ts'
import { RENDER_THREAD_KEPT_MIB_MAX } from '@platen/renderer/engine/limit.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { CHART, type KubeObject, ofKind, rendered, type Values } from './helm.ts'
import { type Value, valueList } from './value-list.ts'
import { MATRIX } from './values.ts'

/** Values that others are changed beside: each value counts in one of these. */
const BASES: readonly Values[] = [
  MATRIX['all there is'] ?? {},
  MATRIX['tokens for Kafka'] ?? {},
  {},
  { autoscaling: { kind: 'cpu' } },
  { chromium: { profileInstaller: { enabled: true } } },
]

const RENDERERS = ['html', 'react_pdf']
const ALL = ['api', 'operator', 'events', ...RENDERERS].toSorted()
const ON_KAFKA = ALL.filter((name) => name !== 'operator')

/** Whose pods read a value, by its path; the first that fits. All other values are read by none. */
const READERS: readonly (readonly [path: RegExp, readers: readonly string[]])[] = [
  [/^(image|redis|s3)\.|^(logLevel|format|installation|secretName)$/, ALL],
  [/^kafka\./, ON_KAFKA],
  [/^brand$/, ['api', 'operator', 'events']],
  [/^egress\./, RENDERERS],
  [/^chromium\.profileInstaller\./, []],
  [/^chromium\./, ['html']],
  [/^monitoring\.tenants$/, RENDERERS],
  [/^webhooks\.allow/, ['api', 'events']],
  [/\.((min|max)?[rR]eplicas|autoscaling\.enabled|serviceAccountAnnotations)$/, []],
  [/^api\.(trustedProxies|resources|terminationGrace|env|pod|node|tolerations)/, ['api']],
  [/^rendererDefaults\./, RENDERERS],
  [/^(webhooks|events)\./, ['events']],
  [/^operator\.(resources|env|pod|node|tolerations)/, ['operator']],
]

/** Other values of those whose schema does not say enough. */
const CHANGED: Readonly<Record<string, unknown>> = {
  renderers: { more: { engine: 'html' } },
  'kafka.brokers': ['changed:9092'],
  'kafka.oauth.tokenUrl': 'https://changed.test/token',
  'api.httpRoute.parentRefs': [{ name: 'changed' }],
  'rendererDefaults.lanes': ['bulk', 'async', 'sync'],
  'rendererDefaults.tmpSize': '3Gi',
  'chromium.profileInstaller.kubeletDir': '/changed',
  'chromium.seccompProfile': { localhostProfile: 'changed.json' },
  'monitoring.rules.runbookUrl': 'https://changed.test',
  'test.data': { changed: true },
}

/** Other values of a kind, by its name in the schema. */
const CHANGED_KINDS: Readonly<Record<string, unknown>> = {
  annotations: { changed: 'yes' },
  cidrs: ['10.9.0.0/16'],
  env: [{ name: 'CHANGED', value: '1' }],
  objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'changed' } }],
  resources: { limits: { memory: '9Gi' } },
  tolerations: [{ key: 'changed' }],
  urlOrNone: 'http://changed:9000',
}

function changeOf({ path, fallback, schema }: Value, base: Values): unknown {
  const kind = schema.$ref?.replace('#/$defs/', '') ?? ''
  const known = CHANGED[path] ?? CHANGED_KINDS[kind]
  if (known !== undefined) return known
  const now = path.split('.').reduce<unknown>((at, name) => Object(at)[name], base) ?? fallback
  if (schema.enum !== undefined) return schema.enum.find((each) => each !== now && each !== '')
  if (schema.type === 'boolean') return now !== true
  if ([schema.type].flat().includes('integer')) return Number(now) + 1
  return schema.type === 'array' ? ['changed'] : 'changed'
}

/** Values with one of them at its path. */
function withValue(values: unknown, path: readonly string[], value: unknown): Values {
  const [name = '', ...rest] = path
  return { ...Object(values), [name]: rest.length === 0 ? value : withValue(Object(values)[name], rest, value) }
}

/** Whose pods are created again, by the name of the container; renderers by their engine. */
function rolledBetween(before: readonly KubeObject[], after: readonly KubeObject[]): readonly string[] {
  const rolled = ofKind(before, 'Deployment').filter(({ metadata, spec }) => {
    const same = ofKind(after, 'Deployment').find((each) => each.metadata.name === metadata.name)
    return same !== undefined && !isDeepStrictEqual(same['spec'].template, spec.template)
  })
  const names: readonly string[] = rolled.map(({ spec }) => {
    const [{ name, env }] = spec.template.spec.containers
    const engine = env.find((each: { name: string }) => each.name === 'PLATEN_ENGINES')?.value
    return name === 'renderer' ? engine : name
  })
  return [...new Set<string>(names)].toSorted()
}

describe('a change', () => {
  let bases: readonly (readonly [values: Values, objects: readonly KubeObject[]])[]
  beforeAll(async () => {
    bases = await Promise.all(BASES.map(async (values) => [values, await rendered(values)] as const))
  })

  test.for(valueList().map((value) => [value.path, value] as const))('of %s rolls what reads it', async ([, value]) => {
    for (const [values, before] of bases) {
      const after = await rendered(withValue(values, value.path.split('.'), changeOf(value, values)))
      if (isDeepStrictEqual(before, after)) continue
      const readers = READERS.find(([path]) => path.test(value.path))?.[1] ?? []
      expect(rolledBetween(before, after)).toEqual(readers.toSorted())
      return
    }
    expect.unreachable(`no template of ${CHART} reads ${value.path}`)
  })
})

test('a renderer has the memory that its slots need, and needs what its threads and pages keep', () => {
  const values = new Map(valueList().map(({ path, fallback }) => [path, fallback]))
  const { limits } = Object(values.get('rendererDefaults.resources'))
  const gib = Number(/^(\d+)Gi$/.exec(limits.memory)?.[1])
  const machine = { cores: 64, memoryBytes: 2 ** 40 }
  const { count } = slotsFor({ cores: undefined, memoryBytes: gib * 2 ** 30, isContainer: true, machine })
  expect(count).toBeGreaterThanOrEqual(Number(values.get('rendererDefaults.concurrency')))
  expect(SLOT_MEMORY_BYTES).toBe((RENDER_THREAD_KEPT_MIB_MAX + PAGE_KEPT_MIB_MAX) * 2 ** 20)
})

describe('pods have longer to go than their processes take', () => {
  /** Of any plan: what the definition of the kind allows. */
  const longestDeadlineMs = (objects: readonly KubeObject[]) => {
    const [plan] = objects.filter(({ metadata }) => metadata.name === 'plans.platen.dev') as [KubeObject]
    const { properties } = plan['spec'].versions[0].schema.openAPIV3Schema
    return properties.spec.properties.renderTimeoutSeconds.maximum * 1000
  }

  test.for(Object.keys(MATRIX))('with %s', async (name) => {
    const objects = await rendered(MATRIX[name])
    const deadlineMs = longestDeadlineMs(await rendered())
    for (const { spec } of ofKind(objects, 'Deployment')) {
      const { containers, terminationGracePeriodSeconds: grace } = spec.template.spec
      const [{ name: deployable, env, lifecycle }] = containers
      const drainSeconds = env.find((each: { name: string }) => each.name === 'PLATEN_DRAIN_SECONDS')?.value
      const drainMs: Readonly<Record<string, number>> = {
        // A sync request that came in last waits for a renderer, the render and its answer.
        api: SYNC_START_MS_MAX + deadlineMs + SYNC_REPLY_MARGIN_MS,
        renderer: Number(drainSeconds) * 1000,
        // What the receiver has answered is written down.
        events: WEBHOOK_ATTEMPT_MS_MAX + WEBHOOK_EXCERPT_MS_MAX + PORT_CALL_MS_MAX,
        operator: RECONCILE_DRAIN_MS + LEASE_RELEASE_MS_MAX,
      }
      // Only what a Service sends requests to goes on for a while: the API closes its port at SIGTERM, and is still called then.
      const sleepSeconds = lifecycle?.preStop.sleep.seconds ?? 0
      expect([deployable, sleepSeconds > 0]).toEqual([deployable, deployable === 'api'])
      const needed = sleepSeconds * 1000 + (drainMs[deployable] ?? Number.NaN) + CLOSE_MS_MAX
      expect(grace * 1000, deployable).toBeGreaterThan(needed)
    }
  })
})
