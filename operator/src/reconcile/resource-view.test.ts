import { expect, test } from 'vitest'
import { readResourceView } from './resource-view.ts'

const OBJECT = {
  metadata: { name: 'standard', uid: 'a', resourceVersion: '7', generation: 1 },
  spec: { renderLimitMonthly: 10 },
}
const WRITTEN = { ...OBJECT, metadata: { ...OBJECT.metadata, resourceVersion: '8' }, status: { observedGeneration: 1 } }
const CHANGED = { ...WRITTEN, metadata: { ...WRITTEN.metadata, generation: 2 }, spec: { renderLimitMonthly: 20 } }

test('the resource stays the same object until its generation changes', () => {
  const before = readResourceView('Plan', OBJECT)
  const written = readResourceView('Plan', structuredClone(WRITTEN), before)
  expect(written.resource).toBe(before.resource)
  expect([written.resourceVersion, written.status]).not.toEqual([before.resourceVersion, before.status])
  expect(readResourceView('Plan', CHANGED, written).resource).toMatchObject({
    metadata: { generation: 2 },
    spec: { renderLimitMonthly: 20 },
  })
})
