/**
 * What a process and its children take of the memory that is theirs: a renderer's browsers are processes beside it, of which
 * `process_resident_memory_bytes` knows nothing. A container is ended by the kernel when this reaches its limit.
 */
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { Gauge, type Registry } from 'prom-client'

/** Where a container finds its own control group, version 2. */
const CGROUP = '/sys/fs/cgroup'

/** Adds the gauges to what is scraped. `cgroup` is where the control group of the process is. Once for each `registry`. */
export function gaugeMemory(registry: Registry, { cgroup = CGROUP }: { cgroup?: string } = {}): void {
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  gauge(
    'platen_memory_used_bytes',
    'Memory of the container, of which nothing can be given back; outside of containers, that of the process without its children.',
    () => workingSet(cgroup) ?? process.memoryUsage.rss(),
  )
  gauge(
    'platen_memory_limit_bytes',
    'Memory that it may have: the limit of the container, or all of the machine.',
    () => Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()),
  )
}

/** As the kubelet counts it: pages of files that were not used lately are given back before anything is ended. */
function workingSet(cgroup: string): number | undefined {
  try {
    const used = Number(readFileSync(join(cgroup, 'memory.current'), 'utf8'))
    const inactive = /^inactive_file (\d+)$/m.exec(readFileSync(join(cgroup, 'memory.stat'), 'utf8'))?.[1]
    return Math.max(used - Number(inactive ?? 0), 0)
  } catch {
    return undefined
  }
}
