/** What waits in Kafka, by its offsets. */
import type { Lane } from './render.ts'
import type { Engine } from './render-options.ts'

/** The renders in the queue of one engine and lane. */
export interface QueueBacklog {
  readonly engine: Engine
  readonly lane: Lane
  /** Renders that are accepted and not ended. */
  readonly renders: number
  /** Age of the oldest of them, up to a tenth too low. */
  readonly oldestMs: number
}

/** Records that one group has not done. */
export interface GroupBacklog {
  readonly name: string
  readonly records: number
}

export interface Backlog {
  /** One of every queue. */
  readonly queues: readonly QueueBacklog[]
  /** By the name of each reader of the event log. */
  readonly readers: readonly GroupBacklog[]
  /** Webhook deliveries, by what they wait for. */
  readonly deliveries: readonly GroupBacklog[]
}
