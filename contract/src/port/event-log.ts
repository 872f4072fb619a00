import type { RenderEvent } from '../event.ts'

/** What happened to renders, in the order it was recorded, kept 40 days or more. */
export interface EventLog {
  /** Resolves when the event is durable. An event appended again under its id is there at least once; readers drop repeats by id. */
  append(event: RenderEvent, signal: AbortSignal): Promise<void>
  /**
   * The events from where this reader last called `done`, then those to come, until the signal aborts (the iteration then
   * ends). Delivery is at least once: what was given out and not done is given again to the next `follow` of the same reader.
   * At least `EXPIRY_RENDERS_MAX` events are given out before any of them is done; a log may wait then.
   */
  follow(reader: string, signal: AbortSignal): AsyncIterable<EventDelivery>
}

export interface EventDelivery {
  readonly event: RenderEvent
  /** This reader is through with this event and all before it. Resolves when durable. */
  done(): Promise<void>
}
