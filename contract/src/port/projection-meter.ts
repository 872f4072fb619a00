/** Metrics of the views that are computed from the event log. Counting never fails and never waits. */
export interface ProjectionMeter {
  /** So many events were applied to the views. */
  applied(count: number): void
  /** The store had lost some or all applied events of a partition: they are applied again. */
  rebuildStarted(): void
}
