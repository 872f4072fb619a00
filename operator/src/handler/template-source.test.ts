import { memoryArtifactStore } from '@platen/adapters/memory/artifact-store.ts'
import { manualClock } from '@platen/adapters/memory/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { assetKey } from '@platen/contract/render.ts'
import type { TemplateResource, Uid } from '@platen/contract/resource.ts'
import { sampleOf } from '@platen/settings/compile/template.ts'
import { openCheckScheduler } from '@platen/settings/publish/check-scheduler.ts'
import { CHECK_HANG_BACK_OFF } from '@platen/settings/publish/limit.ts'
import type { PublishCheck } from '@platen/settings/publish/run-check.ts'
import { assert, expect, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
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

/** Sources with a check that counts its calls, and a tenant that exists unless a test says otherwise. */
function sourcesWith(check: PublishCheck) {
  const clock = manualClock()
  const scene = { asked: 0, answered: 0, isAccepted: true, isStoreAway: false }
  const artifacts = memoryArtifactStore()
  const stored: string[] = []
  const put: typeof artifacts.put = async (address, bytes, signal) => {
    if (scene.isStoreAway) throw new Unavailable('s3')
    stored.push(address.key)
    await artifacts.put(address, bytes, signal)
  }
  const counted: PublishCheck = (request, signal) => {
    scene.asked++
    return check(request, signal)
  }
  const sources = new TemplateSources({
    client: { get: async () => undefined },
    versionOf: () => undefined,
    checks: openCheckScheduler({ check: counted, clock }),
    isAccepted: () => scene.isAccepted,
    onCheckDone: () => scene.answered++,
    artifacts: { ...artifacts, put },
    serviceBucket: 'platen',
    clock,
  })
  const answers = () => [...sources.checks.values()]
  const settle = (template = TEMPLATE) => sources.prepare(template, {}, NEVER)
  return { sources, clock, scene, stored, answers, settle }
}

test('nobody waits for a check, and its answer is told', async () => {
  const answer = Promise.withResolvers<[]>()
  const { clock, scene, stored, settle } = sourcesWith(() => answer.promise)
  expect([await settle(), await settle()]).toEqual([{ isPending: true }, { isPending: true }])
  await clock.advance(0)
  expect([scene.asked, scene.answered, stored]).toEqual([1, 0, []])
  answer.resolve([])
  await clock.advance(0)
  expect(scene.answered).toBe(1)
  expect([await settle(), stored.length, scene.asked]).toEqual([{}, 1, 1])
})

test('an answer counts when the sources are stored: what is compiled is published', async () => {
  const { clock, scene, stored, answers, settle } = sourcesWith(async () => [])
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
  const { clock, stored, settle } = sourcesWith(async () => [])
  const template = { ...TEMPLATE, spec: { ...TEMPLATE.spec, sampleData: { number: '42' } } }
  await settle(template)
  await clock.advance(0)
  await settle(template)
  const sample = sampleOf(template)
  assert(sample !== undefined)
  expect(stored).toContain(assetKey(sample.digest))
})

test('a check that came to no answer is asked for again', async () => {
  const outcomes = [Promise.reject(new Error('the thread has ended')), Promise.resolve([])]
  const { clock, scene, answers, settle } = sourcesWith(() => outcomes.shift() ?? Promise.resolve([]))
  await settle()
  await clock.advance(0)
  const again = clock.now() + CHECK_AGAIN_MS
  expect(await settle()).toEqual({ retryAt: again })
  expect(answers()).toMatchObject([[{ message: 'it could not be checked: the thread has ended' }]])
  await clock.advance(CHECK_AGAIN_MS)
  expect(await settle()).toEqual({ isPending: true })
  await clock.advance(CHECK_HANG_BACK_OFF.msMax)
  expect([await settle(), answers(), scene.asked]).toEqual([{}, [[]], 2])
})

test('a fault that was found is not looked for again, and nothing with one is stored', async () => {
  const { clock, scene, stored, settle } = sourcesWith(async () => [FAULT])
  await settle()
  await clock.advance(0)
  expect([await settle(), await settle(), scene.asked, stored]).toEqual([{}, {}, 1, []])
})

test('nothing is done for a template of no tenant, until it has one', async () => {
  const { sources, clock, scene, stored, settle } = sourcesWith(async () => [])
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
