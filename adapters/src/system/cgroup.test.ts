import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { aFolder } from '../../../test/fixture/lifetime.ts'
import { containerLimits } from './cgroup.ts'

const GIB = 2 ** 30
/** How version 1 writes that there is no limit. */
const NO_BYTES = '9223372036854771712'

/** Control groups as files below `root`, and the groups of the process. */
function limitsOf(groups: string, files: Readonly<Record<string, string>>) {
  const folder = aFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, 'root', path)), { recursive: true })
    writeFileSync(join(folder, 'root', path), `${text}\n`)
  }
  writeFileSync(join(folder, 'membership'), `${groups}\n`)
  return containerLimits({ root: join(folder, 'root'), membership: join(folder, 'membership') })
}

const VERSION_2 = { 'cgroup.controllers': 'cpuset cpu io memory pids' }

test.for<[string, string, Record<string, string>, object]>([
  [
    'of a container of version 2',
    '0::/',
    { ...VERSION_2, 'cpu.max': '150000 100000', 'memory.max': `${3 * GIB}` },
    { cores: 1.5, memoryBytes: 3 * GIB, isContainer: true },
  ],
  [
    'that a container of version 2 has none of',
    '0::/',
    { ...VERSION_2, 'cpu.max': 'max 100000', 'memory.max': 'max' },
    { cores: undefined, memoryBytes: undefined, isContainer: true },
  ],
  [
    'of a container of version 2 that sees its path on the host',
    '0::/kubepods.slice/pod7/cri-9',
    { ...VERSION_2, 'cpu.max': '200000 100000', 'memory.max': `${GIB}` },
    { cores: 2, memoryBytes: GIB, isContainer: true },
  ],
  [
    'of a container in another namespace of version 2',
    '0::/../../pod7',
    { ...VERSION_2, 'cpu.max': '50000 100000', 'memory.max': 'max' },
    { cores: 0.5, memoryBytes: undefined, isContainer: true },
  ],
  [
    'of the groups above a service, of which the lowest counts',
    '0::/system.slice/platen.service',
    {
      ...VERSION_2,
      'system.slice/cpu.max': '100000 100000',
      'system.slice/memory.max': 'max',
      'system.slice/platen.service/cpu.max': '400000 100000',
      'system.slice/platen.service/memory.max': `${2 * GIB}`,
    },
    { cores: 1, memoryBytes: 2 * GIB, isContainer: false },
  ],
  [
    'that a laptop has none of',
    '0::/user.slice/session-1.scope',
    { ...VERSION_2, 'user.slice/session-1.scope/memory.max': 'max' },
    { cores: undefined, memoryBytes: undefined, isContainer: false },
  ],
  [
    'of a container of version 1',
    '4:memory:/docker/7f\n2:cpu,cpuacct:/docker/7f',
    {
      'cpu/cpu.cfs_quota_us': '250000',
      'cpu/cpu.cfs_period_us': '100000',
      'memory/memory.limit_in_bytes': `${4 * GIB}`,
    },
    { cores: 2.5, memoryBytes: 4 * GIB, isContainer: true },
  ],
  [
    'that a container of version 1 has none of',
    '4:memory:/docker/7f\n2:cpu,cpuacct:/docker/7f',
    { 'cpu/cpu.cfs_quota_us': '-1', 'cpu/cpu.cfs_period_us': '100000', 'memory/memory.limit_in_bytes': NO_BYTES },
    { cores: undefined, memoryBytes: undefined, isContainer: true },
  ],
  [
    'of a service of version 1',
    '4:memory:/platen\n2:cpu,cpuacct:/platen',
    {
      'cpu/platen/cpu.cfs_quota_us': '300000',
      'cpu/platen/cpu.cfs_period_us': '100000',
      'memory/memory.limit_in_bytes': NO_BYTES,
      'memory/platen/memory.limit_in_bytes': `${GIB}`,
    },
    { cores: 3, memoryBytes: GIB, isContainer: false },
  ],
  ['where there are no control groups', '', {}, { cores: undefined, memoryBytes: undefined, isContainer: false }],
])('reads the limits %s', ([, groups, files, wanted]) => {
  expect(limitsOf(groups, files)).toEqual(wanted)
})

test('reads those of this machine without an error', () => {
  expect(containerLimits()).toMatchObject({ isContainer: expect.any(Boolean) })
})
