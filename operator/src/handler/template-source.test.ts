import { assetKey } from '@platen/contract/domain/render.ts'
import type { TemplateResource, Uid } from '@platen/contract/domain/resource.ts'
import type { CheckRequest, CheckResult, TemplateChecker } from '@platen/contract/domain/template-check.ts'
import { openFairSemaphore } from '@platen/lib/fair-semaphore.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { sampleOf } from '@platen/settings/compile/template.ts'
import { assert, expect, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import type { KubeObject } from '../cluster/object.ts'
import { CHECK_AGAIN_MS } from './limit.ts'
import { TemplateSources } from './template-source.ts'

function aTemplate(html = '<h1>{{ number }}</h1>'): TemplateResource {
  return {
    kind: 'Template',
    metadata: { name: 'invoice', namespace: 'team-acme', uid: 'u1' as Uid, generation: 1, createdAt: 0 },
    spec: { tenantRef: { name: 'acme' }, engine: 'Html', html: { template: { inline: html } } },
  }
}

const TEMPLATE = aTemplate()
const FAULT = { engine: 'html', message: 'template.html:1:5: it is no Liquid' } as const

type Check = (request: CheckRequest, signal: AbortSignal) => Promise<Pick<CheckResult, 'faults'> & Partial<CheckResult>>

const SOUND = { faults: [] }

/** Sources with a check that counts its calls, and a tenant that exists unless a test says otherwise. */
function sourcesWith(check: Check) {
  const clock = manualClock()
  const scene = { asked: 0, answered: 0, isAccepted: true, isStoreAway: false }
  const artifacts = memoryArtifactStore()
  const stored: string[] = []
  const put: typeof artifacts.put = async (address, bytes, signal) => {
    if (scene.isStoreAway) throw new Unavailable('s3')
    stored.push(address.key)
    await artifacts.put(address, bytes, signal)
  }
  const turns = openFairSemaphore({ permits: 1, permitsPerTenant: 1 })
  const checker: TemplateChecker = {
    async check(tenant, asked, signal) {
      using _ = await turns.acquire(tenant, signal)
      const request = typeof asked === 'function' ? await asked(signal) : asked
      scene.asked++
      const { faults, isFinal = true } = await check(request, signal)
      return { faults, isFinal }
    },
  }
  /** Those of one namespace. */
  const configMaps = new Map<string, KubeObject>()
  const fetched: string[] = []
  const setConfigMap = (name: string, resourceVersion: string, data: Readonly<Record<string, string>>) =>
    configMaps.set(name, { metadata: { name, namespace: 'team-acme', uid: name, resourceVersion }, data })
  const sources = new TemplateSources({
    client: {
      async readConfigMap({ name }) {
        fetched.push(name)
        return configMaps.get(name)
      },
    },
    versionOf: (name) => configMaps.get(name.split('/')[1] ?? '')?.metadata.resourceVersion,
    checker,
    isAccepted: () => scene.isAccepted,
    onCheckDone: () => scene.answered++,
    artifacts: { ...artifacts, put },
    serviceBucket: 'platen',
    clock,
  })
  const answers = () => [...sources.checks.values()]
  const settle = (template = TEMPLATE) => sources.prepare(template, {}, NEVER)
  return { sources, clock, scene, stored, fetched, artifacts, setConfigMap, answers, settle }
}

test('nobody waits for a check, and its answer is told', async () => {
  const answer = Promise.withResolvers<typeof SOUND>()
  const { clock, scene, stored, settle } = sourcesWith(() => answer.promise)
  expect([await settle(), await settle()]).toEqual([{ isPending: true }, { isPending: true }])
  await clock.advance(0)
  expect([scene.asked, scene.answered, stored]).toEqual([1, 0, []])
  answer.resolve(SOUND)
  await clock.advance(0)
  expect(scene.answered).toBe(1)
  expect([await settle(), stored.length, scene.asked]).toEqual([{}, 1, 1])
})

test('an answer counts when the sources are stored: what is compiled is published', async () => {
  const { clock, scene, stored, answers, settle } = sourcesWith(async () => SOUND)
  await settle()
  await clock.advance(0)
  expect([scene.answered, answers()]).toEqual([1, []])
  scene.isStoreAway = true
  await expect(settle()).rejects.toThrow(Unavailable)
  expect(answers()).toEqual([])
  scene.isStoreAway = false
  expect([await settle(), answers(), stored.length, scene.asked]).toEqual([{}, [[]], 1, 1])
})

test('the sample data is stored with the sources, under the digest that is published', async () => {
  const { clock, stored, settle } = sourcesWith(async () => SOUND)
  const template = { ...TEMPLATE, spec: { ...TEMPLATE.spec, sampleData: { number: '42' } } }
  await settle(template)
  await clock.advance(0)
  await settle(template)
  const sample = sampleOf(template)
  assert(sample !== undefined)
  expect(stored).toContain(assetKey(sample.digest))
})

test('a check that came to no answer is asked for again', async () => {
  const results = [{ faults: [FAULT], isFinal: false }]
  const { clock, scene, answers, settle } = sourcesWith(async () => results.shift() ?? SOUND)
  await settle()
  await clock.advance(0)
  const again = clock.now() + CHECK_AGAIN_MS
  expect(await settle()).toEqual({ retryAt: again })
  expect(answers()).toEqual([[FAULT]])
  await clock.advance(CHECK_AGAIN_MS)
  expect(await settle()).toEqual({ isPending: true })
  await clock.advance(0)
  expect([await settle(), answers(), scene.asked]).toEqual([{}, [[]], 2])
})

test('a fault that was found is not looked for again, and nothing with one is stored', async () => {
  const { clock, scene, stored, settle } = sourcesWith(async () => ({ faults: [FAULT] }))
  await settle()
  await clock.advance(0)
  expect([await settle(), await settle(), scene.asked, stored]).toEqual([{}, {}, 1, []])
})

test('nothing is done for a template of no tenant, until it has one', async () => {
  const { sources, clock, scene, stored, settle } = sourcesWith(async () => SOUND)
  scene.isAccepted = false
  expect([await settle(), sources.needsPreparing(TEMPLATE)]).toEqual([{}, false])
  await clock.advance(0)
  expect([scene.asked, stored, [...sources.checks]]).toEqual([0, [], []])
  scene.isAccepted = true
  expect(sources.needsPreparing(TEMPLATE)).toBe(true)
  expect([await settle(), sources.needsPreparing(TEMPLATE)]).toEqual([{ isPending: true }, false])
})

test('a check is ended when its template has become another, or is gone', async () => {
  const ended: string[] = []
  const { sources, clock, scene, settle } = sourcesWith(
    ({ source }, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          ended.push(source.html?.template ?? '')
          reject(signal.reason)
        })
      }),
  )
  await settle(aTemplate('one'))
  await clock.advance(0)
  await settle(aTemplate('other'))
  await clock.advance(0)
  expect([ended, scene.asked]).toEqual([['one'], 2])
  sources.forget(TEMPLATE)
  await clock.advance(0)
  expect([ended, scene.answered, [...sources.checks]]).toEqual([['one', 'other'], 0, []])
})

/** A template whose source and asset are keys of ConfigMaps. */
function aDistantTemplate(name = 'invoice', key = 'page', generation = 1): TemplateResource {
  const template = aTemplate()
  const html = { template: { configMapKeyRef: { name: 'sources', key } } }
  return {
    ...template,
    metadata: { ...template.metadata, name, uid: name as Uid, generation },
    spec: { ...template.spec, html },
  }
}

/** Every string that can be reached from a value. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (value instanceof Map) return [...value].flatMap(textsIn)
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

const PAD = 'p'.repeat(1000)

test('nothing of a ConfigMap is kept: not while its template waits for its check, nor when the sources are stored', async () => {
  const requests: string[] = []
  const turn = Promise.withResolvers<void>()
  const { sources, clock, fetched, stored, setConfigMap, settle } = sourcesWith(async ({ source }) => {
    requests.push(source.html?.template ?? '')
    await turn.promise
    return SOUND
  })
  setConfigMap('sources', '1', { page: '<p>the page</p>', other: '<p>another</p>', pad: PAD })
  const both = [aDistantTemplate(), aDistantTemplate('other', 'other')]
  const kept = () => textsIn([sources.prepared, sources.checks]).filter((text) => text.includes('<p>') || text === PAD)
  for (const template of both) expect(await settle(template)).toEqual({ isPending: true })
  await clock.advance(0)
  // The tenant has one check at a time. What the other one reads it reads in its turn.
  expect([requests, kept()]).toEqual([['<p>the page</p>'], []])
  turn.resolve()
  await clock.advance(0)
  await clock.advance(0)
  for (const template of both) expect(await settle(template)).toEqual({})
  expect([requests, stored.length, kept()]).toEqual([['<p>the page</p>', '<p>another</p>'], 2, []])
  fetched.length = 0
  for (const template of both) expect(await settle(template)).toEqual({})
  expect(fetched).toEqual([])
})

test('a ConfigMap is read again when it has changed, when its template has, and after a restart', async () => {
  const { sources, clock, scene, stored, fetched, setConfigMap, settle } = sourcesWith(async () => SOUND)
  const template = aDistantTemplate()
  const settled = async (of: TemplateResource) => {
    await settle(of)
    await clock.advance(0)
    fetched.length = 0
    const [answer, digested] = [await settle(of), sources.prepared.get(of.metadata.uid)]
    assert(digested !== undefined)
    return { answer, digested }
  }
  expect((await settled(template)).digested).toMatchObject({ refusal: { reason: 'ConfigMapNotFound' } })
  setConfigMap('sources', '1', { page: '<p>one</p>', 'page-2': '<p>next</p>' })
  const { digested: first } = await settled(template)
  setConfigMap('sources', '2', { page: '<p>two</p>', 'page-2': '<p>next</p>' })
  const { digested: second } = await settled(template)
  const { digested: third } = await settled(aDistantTemplate('invoice', 'page-2', 2))
  expect(new Set([first, second, third].map((each) => 'digest' in each && each.digest)).size).toBe(3)
  expect([scene.asked, stored.length]).toEqual([3, 3])
  setConfigMap('sources', '3', { page: '<p>two</p>' })
  expect((await settled(aDistantTemplate('invoice', 'page-2', 2))).digested).toMatchObject({
    refusal: { reason: 'KeyNotFound' },
  })
})

test('a ConfigMap that changes before the turn of its check is checked as it is then', async () => {
  const requests: string[] = []
  const { clock, scene, setConfigMap, settle } = sourcesWith(async ({ source }) => {
    requests.push(source.html?.template ?? '')
    return SOUND
  })
  setConfigMap('sources', '1', { page: '<p>one</p>' })
  const checking = settle(aDistantTemplate())
  expect(await checking).toEqual({ isPending: true })
  setConfigMap('sources', '2', { page: '<p>two</p>' })
  await clock.advance(0)
  // Whoever has waited is told to prepare it again.
  expect(await settle(aDistantTemplate())).toEqual({ isPending: true })
  await clock.advance(0)
  expect(await settle(aDistantTemplate())).toEqual({})
  expect([requests.at(-1), scene.answered > 0]).toEqual(['<p>two</p>', true])
})
