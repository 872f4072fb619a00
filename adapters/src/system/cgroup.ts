/**
 * Reads the CPU and memory limits of the control group of this process, version 2 or 1. Node's `availableParallelism` and
 * `constrainedMemory` also read them, but do not tell whether there is a limit, and miss those of version 1 in a container.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface ContainerLimits {
  /** CPU time per time: 1.5 is one and a half cores. Undefined without a limit. */
  readonly cores: number | undefined
  /** Undefined without a limit. */
  readonly memoryBytes: number | undefined
  /** Could this process have limits? False on a machine itself, even within a systemd service. */
  readonly isContainer: boolean
}

interface Paths {
  readonly root: string
  /** The file with the control groups of this process. */
  readonly membership: string
}

const OWN: Paths = { root: '/sys/fs/cgroup', membership: '/proc/self/cgroup' }

/** Version 1 writes "no limit" as the highest multiple of the page size. No machine has this much memory. */
const MEMORY_BYTES_MAX = 2 ** 60

/** The lowest limit counts, since the limits of all groups above apply, too. Without control groups, there are no limits. */
export function containerLimits(paths = OWN): ContainerLimits {
  const { root } = paths
  const groups = groupsOf(paths)
  const isVersion2 = existsSync(join(root, 'cgroup.controllers'))
  const cpu = isVersion2 ? foldersOf(root, groups.get('')) : foldersOf(join(root, 'cpu'), groups.get('cpu'))
  const memory = isVersion2 ? foldersOf(root, groups.get('')) : foldersOf(join(root, 'memory'), groups.get('memory'))
  return {
    cores: lowest(cpu.map(isVersion2 ? quotaOf : quotaOfVersion1)),
    memoryBytes: lowest(memory.map((folder) => numberIn(folder, isVersion2 ? 'memory.max' : 'memory.limit_in_bytes'))),
    isContainer: isVersion2
      ? existsSync(join(root, 'memory.max'))
      : isBoundTo(join(root, 'memory'), groups.get('memory')),
  }
}

/** By controller; version 2 has no controller. */
function groupsOf({ membership }: Paths): ReadonlyMap<string, string> {
  const lines = (read(membership) ?? '').split('\n')
  return new Map(
    lines.flatMap((line) => {
      const [, controllers = '', path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
      return path === undefined ? [] : controllers.split(',').map((name) => [name, path] as const)
    }),
  )
}

/**
 * The folders of a group and of all groups above it. In a container the mount often has the group of the container as its root, while the
 * path is that on the host. Its folders then do not exist, and do not count.
 */
function foldersOf(mount: string, path = '/'): readonly string[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '..')
  return Array.from({ length: names.length + 1 }, (_, depth) => join(mount, ...names.slice(0, depth)))
}

/** In version 1 without a namespace, the path of a container does not exist in its mount. */
function isBoundTo(mount: string, path = '/'): boolean {
  return existsSync(mount) && !existsSync(join(mount, path))
}

function quotaOf(folder: string): number | undefined {
  const [quota, period] = (read(join(folder, 'cpu.max')) ?? '').split(' ').map(Number)
  return ratioOf(quota, period)
}

function quotaOfVersion1(folder: string): number | undefined {
  return ratioOf(numberIn(folder, 'cpu.cfs_quota_us'), numberIn(folder, 'cpu.cfs_period_us'))
}

function ratioOf(quota = Number.NaN, period = Number.NaN): number | undefined {
  // "max", and in version 1 -1, mean no limit.
  return quota > 0 && period > 0 ? quota / period : undefined
}

function numberIn(folder: string, file: string): number | undefined {
  const bytes = Number(read(join(folder, file)) ?? Number.NaN)
  return bytes > 0 && bytes < MEMORY_BYTES_MAX ? bytes : undefined
}

function lowest(limits: readonly (number | undefined)[]): number | undefined {
  const set = limits.filter((limit) => limit !== undefined)
  return set.length === 0 ? undefined : Math.min(...set)
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}
