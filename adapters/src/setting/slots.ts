/** How many renders a process runs at once: what the operator says, or what its CPU and memory limits allow. */
import { availableParallelism, totalmem } from 'node:os'
import { SYNC_SLOTS } from '@platen/contract/domain/limit.ts'
import type { Log } from '@platen/lib/log.ts'
import { type ContainerLimits, containerLimits } from '../system/cgroup.ts'
import { integer } from './format.ts'
import { OWN_MEMORY_BYTES, SLOT_MEMORY_BYTES, SLOTS_MAX } from './limit.ts'
import { mapped, type Settings, setting } from './setting.ts'

interface Slots {
  readonly count: number
  /** Limits that are missing in this container to choose `count` well. */
  readonly missingLimits: readonly ('cpu' | 'memory')[]
}

/** The machine and the limits of the container. */
export interface Capacity extends ContainerLimits {
  readonly machine: { readonly cores: number; readonly memoryBytes: number }
}

const COUNT = integer([1, SLOTS_MAX])

/** `then` says what else may run. The capacity is read once, although settings are read again: slots do not change while a process runs. */
export function slotsSetting(name: string, then: string, readCapacity = ownCapacity): Settings<Slots> {
  let capacity: Capacity | undefined
  const counted = setting(name, COUNT, {
    default: 'what CPU and memory allow',
    absent: () => {
      capacity ??= readCapacity()
      return slotsFor(capacity)
    },
    description: `Renders at once, per engine: ${COUNT.range}; ${then}. [Sizing](sizing.md#slots) says how many CPU and memory allow.`,
  })
  return mapped(counted, (value) => (typeof value === 'number' ? { count: value, missingLimits: [] } : value))
}

function ownCapacity(): Capacity {
  return { ...containerLimits(), machine: { cores: availableParallelism(), memoryBytes: totalmem() } }
}

/**
 * Returns one slot per whole core, at most as many as the memory is enough for, and at least one. The extra slot of each engine for sync
 * renders needs memory, too.
 */
export function slotsFor({ cores = Infinity, memoryBytes = Infinity, isContainer, machine }: Capacity): Slots {
  const byCpu = Math.floor(Math.min(cores, machine.cores))
  const memory = Math.min(memoryBytes, machine.memoryBytes)
  const byMemory = Math.floor((memory - OWN_MEMORY_BYTES) / SLOT_MEMORY_BYTES) - SYNC_SLOTS
  const missing = { cpu: cores === Infinity, memory: memoryBytes === Infinity }
  return {
    count: Math.max(1, Math.min(byCpu, byMemory, SLOTS_MAX)),
    missingLimits: isContainer ? (['cpu', 'memory'] as const).filter((limit) => missing[limit]) : [],
  }
}

export function warnOfMissingLimits({ count, missingLimits }: Slots, log: Log): void {
  if (missingLimits.length > 0) log.warn({ missing: missingLimits, slots: count }, 'container without limits')
}
