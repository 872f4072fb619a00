/** Metrics of the views made from the event log. Counting never fails and never waits. */
export interface ProjectionMeter {
  applied(count: number): void
  /** The store had lost applied events of a partition, and they are applied again. */
  rebuildStarted(): void
}
