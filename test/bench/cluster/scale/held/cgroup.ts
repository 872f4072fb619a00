/** Holds processes to a share of a core, as a container's limit does. Needs root and the `cpu` controller of cgroups, of either version. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '@platen/lib/thrown.ts'

/** What container runtimes set. */
const PERIOD_US = 100_000
const ROOT = '/sys/fs/cgroup'

/** Why no process can be held here; undefined if it can. */
export function whyNotHeld(): string | undefined {
  try {
    rmdirSync(makeGroup(`probe-${process.pid}`, 1))
    return undefined
  } catch (cause) {
    return `it needs root and cgroups that limit CPU by cpu.max or cpu.cfs_quota_us: ${messageOf(cause)}`
  }
}

/** To be disposed of when the process has ended. */
interface Hold extends Disposable {
  /** From now on the process may use what there is. */
  lift(): void
}

/** Holds a process, with all its threads, to a share of a core. */
export function holdTo(cores: number, pid: number): Hold {
  const folder = makeGroup(`${pid}`, cores)
  writeFileSync(join(folder, 'cgroup.procs'), `${pid}`)
  return { lift: () => limit(folder, undefined), [Symbol.dispose]: () => rmdirSync(folder) }
}

/** Makes an empty group with a limit. It may be there already, from a benchmark that was killed. */
function makeGroup(name: string, cores: number): string {
  const isUnified = existsSync(join(ROOT, 'cgroup.controllers'))
  if (isUnified) writeFileSync(join(ROOT, 'cgroup.subtree_control'), '+cpu')
  const folder = join(ROOT, isUnified ? '' : 'cpu', `platen-bench-${name}`)
  mkdirSync(folder, { recursive: true })
  limit(folder, cores)
  return folder
}

function limit(folder: string, cores: number | undefined): void {
  const quotaUs = cores === undefined ? undefined : Math.round(cores * PERIOD_US)
  const unified = join(folder, 'cpu.max')
  if (existsSync(unified)) writeFileSync(unified, `${quotaUs ?? 'max'} ${PERIOD_US}`)
  else writeFileSync(join(folder, 'cpu.cfs_quota_us'), `${quotaUs ?? -1}`)
}
