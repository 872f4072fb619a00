/**
 * Spans that wait for the exporter. OpenTelemetry's default: some 4 MiB. Further ones are lost, so that a hanging collector costs no more.
 */
export const SPANS_WAITING_MAX = 2048

/** How long a process that ends waits for its last spans. A drain has five seconds in all to close everything. */
export const LAST_SPANS_MS_MAX = 1000
