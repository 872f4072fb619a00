/** What operators watch of the views that are made of the event log. Counting never fails and never waits. */
export interface ProjectionMeter {
  /** So many events are in the views now. */
  applied(count: number): void
  /** The store had lost what was in the views: all of a partition, or some of it, is put into them again. */
  rebuildStarted(): void
}
