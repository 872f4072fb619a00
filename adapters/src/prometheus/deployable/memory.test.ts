import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aFolder } from '../../../../test/fixture/lifetime.ts'
import { openRegistry } from '../registry.ts'
import { gaugeMemory } from './memory.ts'

async function gauged(cgroup: string): Promise<Readonly<Record<string, number>>> {
  const metrics = openRegistry()
  gaugeMemory(metrics, { cgroup })
  const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith('platen_'))
  return Object.fromEntries(lines.map((line) => [line.split(' ')[0], Number(line.split(' ')[1])]))
}

test('counts the memory of the container without pages of files that can be given back', async () => {
  const cgroup = aFolder()
  writeFileSync(join(cgroup, 'memory.current'), '900\n')
  writeFileSync(join(cgroup, 'memory.stat'), 'anon 500\ninactive_file 300\nactive_file 100\n')
  expect(await gauged(cgroup)).toMatchObject({ platen_memory_used_bytes: 600 })
})

test('counts that of the process where there is no container, and knows a limit anywhere', async () => {
  const { platen_memory_used_bytes: used = 0, platen_memory_limit_bytes: limit = 0 } = await gauged('/nowhere')
  expect(used).toBeGreaterThan(10e6)
  expect(limit).toBeGreaterThan(used)
  expect(limit).toBeLessThan(1e15)
})
