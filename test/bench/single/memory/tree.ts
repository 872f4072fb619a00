/** The memory of a process tree, and what it is made of. */
import { setTimeout as sleep } from 'node:timers/promises'
import { pssOf, type TreeProcess, treeOf } from '../../../soak/process-tree.ts'

const MIB = 1024 * 1024

export interface Memory {
  /** Proportional share of the whole tree, in MiB. Files that other processes of the machine have mapped, too, count in part. */
  readonly mib: number
  /** Each process and its share, the largest first. */
  readonly detail: string
}

export function memoryOf(root: number): Memory {
  const parts = treeOf(root)
    .map((each) => ({ name: nameOf(each), mib: pssOf([each]) / MIB }))
    .toSorted((one, other) => other.mib - one.mib)
  return {
    mib: parts.reduce((sum, { mib }) => sum + mib, 0),
    detail: parts.map(({ name, mib }) => `${name} ${mib.toFixed(0)}`).join(', '),
  }
}

/** Looks at the tree every second while `work` runs. */
export async function memoriesDuring(root: number, work: Promise<unknown>): Promise<readonly Memory[]> {
  const memories = [memoryOf(root)]
  const over = new AbortController()
  const ended = work.finally(() => over.abort())
  while (!over.signal.aborted) {
    await Promise.race([ended, sleep(EVERY_MS)])
    memories.push(memoryOf(root))
  }
  return memories
}

const EVERY_MS = 1000

export function highest(memories: readonly Memory[]): Memory {
  return memories.reduce((most, each) => (each.mib > most.mib ? each : most))
}

/** A process of Chromium by its type, but for that of pages, which Chromium calls a renderer, too. */
function nameOf({ command }: TreeProcess): string {
  const type = /--type=(\S+)/.exec(command)?.[1]
  if (type !== undefined) return type === 'renderer' ? 'page' : type
  const program = /(\w+)\/src\/main\.ts/.exec(command)?.[1]
  return program ?? (command.includes('chrom') ? 'browser' : 'other')
}
