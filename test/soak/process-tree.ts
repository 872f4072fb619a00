/** A process and everything below it, as Linux shows them. */
import { readdirSync, readFileSync } from 'node:fs'

export interface TreeProcess {
  readonly pid: number
  readonly parent: number
  /** Its process group. */
  readonly group: number
  /** Processor time it has had, in seconds. */
  readonly busy: number
  /** The same with that of its children that have ended. */
  readonly spent: number
  readonly command: string
}

export function treeOf(root: number): readonly TreeProcess[] {
  const all = processes()
  const wanted = new Set([root])
  // Parents are listed before their children only mostly: walk until nobody is found.
  for (let found = 0; found !== wanted.size; ) {
    found = wanted.size
    for (const { pid, parent } of all) if (wanted.has(parent)) wanted.add(pid)
  }
  return all.filter(({ pid }) => wanted.has(pid))
}

/** Everything that runs in one of these process groups, wherever it hangs in the tree. */
export function membersOf(...groups: readonly number[]): readonly TreeProcess[] {
  return processes().filter(({ group }) => groups.includes(group))
}

/**
 * Everything that was started with one of these texts in its environment, wherever it hangs in the tree, except this process itself. By
 * the name of a folder that is all that works in it, browsers included: they have no variable of ours, but a home.
 */
export function processesWith(...texts: readonly string[]): readonly TreeProcess[] {
  return processes().filter(({ pid }) => {
    const environment = pid === process.pid ? '' : readIfThere(`/proc/${pid}/environ`)
    return texts.some((text) => environment.includes(text))
  })
}

/** Proportional share of the memory of processes, in bytes: what is shared among them counts once. */
export function pssOf(tree: readonly TreeProcess[]): number {
  const kibs = tree.map(({ pid }) => Number(/^Pss:\s+(\d+)/m.exec(readIfThere(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0))
  return kibs.reduce((sum, kib) => sum + kib, 0) * 1024
}

/** Memory of processes, in bytes: what is shared among them counts for each. Cheap, where `pssOf` stops them for a moment. */
export function rssOf(tree: readonly TreeProcess[]): number {
  const pages = tree.map(({ pid }) => Number(readIfThere(`/proc/${pid}/statm`).split(' ')[1] ?? 0))
  return pages.reduce((sum, count) => sum + count, 0) * PAGE_BYTES
}

/** Size of a page of memory, as Linux has it on all common machines. */
const PAGE_BYTES = 4096

/** Clock ticks a second, as Linux has it on all common machines. */
const TICKS = 100

/** Everything that runs, the dead who await burial apart. */
export function processes(): readonly TreeProcess[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((pid) => processOf(Number(pid)) ?? [])
}

/** Undefined if it has ended, reaped or not. */
export function processOf(pid: number): TreeProcess | undefined {
  // The name, in parentheses, may hold anything.
  const [state, ...fields] = readIfThere(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? []
  const [parent, group] = fields.map(Number)
  // The dead who await burial have neither memory nor anything to hold on to.
  if (parent === undefined || group === undefined || state === 'Z' || state === 'X') return undefined
  const command = readIfThere(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')
  // Fields 14 and 15 are user and system time, 16 and 17 those of children.
  const [user = 0, system = 0, ...ofChildren] = fields.slice(10, 14).map((ticks) => Number(ticks) / TICKS)
  const busy = user + system
  return { pid, parent, group, busy, spent: ofChildren.reduce((sum, time) => sum + time, busy), command }
}

/** A file of a process or thread; nothing of one that has ended. */
export function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended since it was listed.
  }
}
