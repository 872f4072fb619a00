/** Renders, records and deliveries that wait in Kafka, counted by offsets. */
import type { Lane } from './render.ts'
import type { Engine } from './render-options.ts'

export interface QueueBacklog {
  readonly engine: Engine
  readonly lane: Lane
  /** Renders that are accepted and not ended. */
  readonly renders: number
  /** Of the oldest of them, up to a tenth too low. */
  readonly oldestMs: number
}

/** Records that one group has not processed. */
export interface GroupBacklog {
  readonly name: string
  readonly records: number
}

export interface Backlog {
  readonly queues: readonly QueueBacklog[]
  /** One for each reader of the event log. */
  readonly readers: readonly GroupBacklog[]
  /** Webhook deliveries, by what they wait for. */
  readonly deliveries: readonly GroupBacklog[]
}
