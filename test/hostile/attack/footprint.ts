/** What this process and its children take of the machine. */
import { readdirSync, readFileSync } from 'node:fs'

export interface Footprint {
  /** This one and all below it, by what they are. */
  readonly processes: readonly string[]
  /** Of this process, by their names. */
  readonly threads: readonly string[]
  /** Of all processes together, each shared page counted once. */
  readonly memoryMib: number
}

export function footprint(): Footprint {
  const family = descendantsOf(process.pid)
  const memoryKib = family.map(sharesOf).reduce((sum, kib) => sum + kib, 0)
  return {
    processes: family.map(kindOf),
    threads: readdirSync('/proc/self/task').map((thread) => read(`/proc/self/task/${thread}/comm`).trim()),
    memoryMib: Math.round(memoryKib / 1024),
  }
}

function descendantsOf(root: number): readonly number[] {
  const children = new Map<number, number[]>()
  for (const pid of readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)) {
    const parent = parentOf(pid)
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid])
  }
  const family = [root]
  for (const pid of family) family.push(...(children.get(pid) ?? []))
  return family
}

/** None for what has gone, or is dead and awaits its burial. */
function parentOf(pid: number): number | undefined {
  const [state, parent] = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ')
  return parent === undefined || state === 'Z' ? undefined : Number(parent)
}

/** Its program, and of a browser's processes which of them it is. */
function kindOf(pid: number): string {
  const [program = '', ...options] = read(`/proc/${pid}/cmdline`).split('\0')
  return [program, ...options.filter((option) => option.startsWith('--type='))].join(' ')
}

/** KiB of a process, of what it shares its part. */
function sharesOf(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0)
}

/** Of a process that may be gone by now. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
