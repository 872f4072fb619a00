import { systemIds } from '@platen/adapters/system/ids.ts'
import { expect, test } from 'vitest'
import { seededIds } from '../fixture/memory/ids.ts'
import { describeIds } from './ids.suite.ts'

describeIds('seeded', () => seededIds('test'))
describeIds('system', systemIds)

test('a seed gives the same bytes every time, and another seed others', () => {
  expect(seededIds('a').random(40)).toStrictEqual(seededIds('a').random(40))
  expect(seededIds('a').random(40)).not.toStrictEqual(seededIds('b').random(40))
})
