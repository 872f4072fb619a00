/** Holds processes to a share of a core, as a container's limit does. Needs root and the `cpu` controller of cgroups, of either version. */
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What container runtimes set. */
const PERIOD_US = 100_000
const ROOT = '/sys/fs/cgroup'
const ROOT_OF_V1 = join(ROOT, 'cpu')

/** Why no process can be held here; undefined if it can. */
export function whyNotHeld(): string | undefined {
  try {
    if (existsSync(join(ROOT, 'cgroup.controllers'))) {
      const controllers = readFileSync(join(ROOT, 'cgroup.controllers'), 'utf8').split(/\s/)
      if (!controllers.includes('cpu')) return 'the cpu controller is missing'
      accessSync(join(ROOT, 'cgroup.subtree_control'), constants.W_OK)
      return undefined
    }
    accessSync(join(ROOT_OF_V1, 'cpu.cfs_quota_us'), constants.W_OK)
    return undefined
  } catch {
    return 'it needs root and cgroups with a limit of CPU (cpu.max, or cpu.cfs_quota_us)'
  }
}

/** Holds a process, with all its threads, to a share of a core. To be disposed of when the process has ended. */
export function holdTo(cores: number, pid: number): Disposable {
  const folder = groupFor(pid)
  const quotaUs = Math.round(cores * PERIOD_US)
  const isV1 = folder.startsWith(ROOT_OF_V1)
  if (isV1) writeFileSync(join(folder, 'cpu.cfs_period_us'), `${PERIOD_US}`)
  writeFileSync(join(folder, isV1 ? 'cpu.cfs_quota_us' : 'cpu.max'), isV1 ? `${quotaUs}` : `${quotaUs} ${PERIOD_US}`)
  writeFileSync(join(folder, 'cgroup.procs'), `${pid}`)
  return { [Symbol.dispose]: () => rmdirSync(folder) }
}

function groupFor(pid: number): string {
  const isV2 = existsSync(join(ROOT, 'cgroup.controllers'))
  if (isV2) writeFileSync(join(ROOT, 'cgroup.subtree_control'), '+cpu')
  const folder = join(isV2 ? ROOT : ROOT_OF_V1, `platen-bench-${pid}`)
  mkdirSync(folder)
  return folder
}
