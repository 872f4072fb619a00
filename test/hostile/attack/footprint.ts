/** What this process and its children take of the machine. */
import { readdirSync } from 'node:fs'
import { pssOf, readIfThere, treeOf } from '../../soak/process-tree.ts'

export interface Footprint {
  /** This one and all below it, by what they are. */
  readonly processes: readonly string[]
  /** Of this process, by their names. */
  readonly threads: readonly string[]
  /** Of all processes together, each shared page counted once. */
  readonly memoryMib: number
}

export function footprint(): Footprint {
  const family = treeOf(process.pid)
  const threads = readdirSync('/proc/self/task')
  return {
    processes: family.map(({ command }) => kindOf(command)),
    threads: threads.map((thread) => readIfThere(`/proc/self/task/${thread}/comm`).trim()),
    memoryMib: Math.round(pssOf(family) / 2 ** 20),
  }
}

/** Its program, and of a browser's processes which of them it is. */
function kindOf(command: string): string {
  const [program = '', ...options] = command.split(' ')
  return [program, ...options.filter((option) => option.startsWith('--type='))].join(' ')
}
