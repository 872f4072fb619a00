import { describe, expect, test } from 'vitest'
import { type Capacity, slotsFor, slotsSetting, warnOfMissingLimits } from './slots.ts'

const GIB = 2 ** 30
const NODE = { cores: 64, memoryBytes: 256 * GIB }

function capacity(own: Partial<Capacity>): Capacity {
  return { cores: undefined, memoryBytes: undefined, isContainer: true, machine: NODE, ...own }
}

describe('without a setting, the slots', () => {
  test.for<[string, Partial<Capacity>, number]>([
    ['a core each', { cores: 4, memoryBytes: 16 * GIB }, 4],
    ['whole cores only', { cores: 2.5, memoryBytes: 16 * GIB }, 2],
    ['one in half a core', { cores: 0.5, memoryBytes: 16 * GIB }, 1],
    [
      'what fits into the memory, beside the process and the slot for sync renders',
      { cores: 8, memoryBytes: 3 * GIB },
      4,
    ],
    ['one in too little memory', { cores: 8, memoryBytes: GIB / 2 }, 1],
    ['64 at most', { cores: 128, memoryBytes: 256 * GIB, machine: { ...NODE, cores: 128 } }, 64],
    ['no more than the machine has, whatever the limit', { cores: 8, machine: { cores: 2, memoryBytes: 16 * GIB } }, 2],
    ['what fits into the machine', { isContainer: false, machine: { cores: 16, memoryBytes: 4 * GIB } }, 6],
  ])('are %s', ([, own, count]) => {
    expect(slotsFor(capacity(own)).count).toBe(count)
  })

  test.for<[string, Partial<Capacity>, readonly string[]]>([
    ['both limits', {}, ['cpu', 'memory']],
    ['the CPU limit', { memoryBytes: 3 * GIB }, ['cpu']],
    ['the memory limit', { cores: 2 }, ['memory']],
    ['nothing where both are set', { cores: 2, memoryBytes: 3 * GIB }, []],
    ['nothing outside a container', { isContainer: false }, []],
  ])('miss %s', ([, own, missing]) => {
    expect(slotsFor(capacity(own)).missingLimits).toEqual(missing)
  })
})

test('a container is told which limits it lacks, and how many slots it has instead', () => {
  const lines: unknown[] = []
  const warn = (...line: unknown[]) => void lines.push(line)
  const log = { debug: warn, info: warn, warn, error: warn }
  warnOfMissingLimits({ count: 64, missingLimits: ['cpu', 'memory'] }, log)
  warnOfMissingLimits({ count: 2, missingLimits: [] }, log)
  expect(lines).toEqual([[{ missing: ['cpu', 'memory'], slots: 64 }, 'container without limits']])
})

test('slots that are set miss no limit', () => {
  expect(slotsSetting('PLATEN_SLOTS', 'no more').read({ PLATEN_SLOTS: '7' })).toEqual({ count: 7, missingLimits: [] })
})

test('slots that are not set are those of this machine', () => {
  const { count } = slotsSetting('PLATEN_SLOTS', 'no more').read({})
  expect(count).toBeGreaterThanOrEqual(1)
  expect(count).toBeLessThanOrEqual(64)
})

test('slots stay when the limits of the container change, as that is no change of a file', () => {
  const cores = [2, 4]
  const settings = slotsSetting('PLATEN_SLOTS', 'no more', () =>
    capacity({ cores: cores.shift(), memoryBytes: 16 * GIB }),
  )
  expect([settings.read({}).count, settings.read({}).count]).toEqual([2, 2])
})
