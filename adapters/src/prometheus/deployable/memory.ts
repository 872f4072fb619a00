/**
 * Memory of a process and its children. The browsers of a renderer are own processes, which `process_resident_memory_bytes` does not
 * include. The kernel kills a container whose memory reaches its limit.
 */
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import type { Metrics } from '../registry.ts'

/** The path of a container's own control group, version 2. */
const CGROUP = '/sys/fs/cgroup'

export function gaugeMemory(metrics: Metrics, { cgroup = CGROUP }: { cgroup?: string } = {}): void {
  metrics.observableGauge(
    'platen_memory_used_bytes',
    'Memory of the container without the file pages that the kernel can free; outside a container, memory of the process without its children.',
    () => workingSet(cgroup) ?? process.memoryUsage.rss(),
  )
  metrics.observableGauge(
    'platen_memory_limit_bytes',
    'Memory limit of the container; without a limit, the memory of the machine.',
    () => Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()),
  )
}

/** Counts like the kubelet: without file pages that were not used recently, since the kernel frees them before it kills a process. */
function workingSet(cgroup: string): number | undefined {
  try {
    const used = Number(readFileSync(join(cgroup, 'memory.current'), 'utf8'))
    const inactive = /^inactive_file (\d+)$/m.exec(readFileSync(join(cgroup, 'memory.stat'), 'utf8'))?.[1]
    return Math.max(used - Number(inactive ?? 0), 0)
  } catch {
    return undefined
  }
}
