import { memoryArtifactStore } from '@platen/adapters/memory/artifact-store.ts'
import { manualClock } from '@platen/adapters/memory/clock.ts'
import { CHECK_AGAIN_MS } from '@platen/contract/operator-limit.ts'
import type { TemplateResource, Uid } from '@platen/contract/resource.ts'
import { expect, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import type { PublishCheck } from '../publish/answer-check.ts'
import { TemplateSources } from './template-source.ts'

const TEMPLATE: TemplateResource = {
  kind: 'Template',
  metadata: { name: 'invoice', namespace: 'team-acme', uid: 'u1' as Uid, generation: 1, createdAt: 0 },
  spec: { tenantRef: { name: 'acme' }, html: { template: { inline: '<h1>{{ number }}</h1>' } } },
}

function sourcesWith(check: PublishCheck) {
  const clock = manualClock()
  const sources = new TemplateSources({
    client: { get: async () => undefined },
    versionOf: () => undefined,
    check,
    artifacts: memoryArtifactStore(),
    serviceBucket: 'platen',
    clock,
  })
  return { sources, clock }
}

test('a check that came to no answer is asked for again', async () => {
  let asked = 0
  const { sources, clock } = sourcesWith(async () => {
    asked++
    if (asked === 1) throw new Error('the thread has ended')
    return []
  })
  const answers = () => [...sources.checks.values()]
  expect(await sources.settle(TEMPLATE, {}, NEVER)).toEqual({ again: clock.now() + CHECK_AGAIN_MS })
  expect(answers()).toMatchObject([[{ message: 'it could not be checked: the thread has ended' }]])
  expect(await sources.settle(TEMPLATE, {}, NEVER)).toEqual({})
  expect(answers()).toEqual([[]])
  await sources.settle(TEMPLATE, {}, NEVER)
  expect(asked).toBe(2)
})

test('a fault that was found is not looked for again', async () => {
  let asked = 0
  const { sources } = sourcesWith(async () => {
    asked++
    return [{ engine: 'html', message: 'template.html:1:5: it is no Liquid' }]
  })
  expect(await sources.settle(TEMPLATE, {}, NEVER)).toEqual({})
  expect(await sources.settle(TEMPLATE, {}, NEVER)).toEqual({})
  expect(asked).toBe(1)
})
