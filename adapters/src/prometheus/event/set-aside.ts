/** Counts the records that a process leaves to processes of a newer version. */
import type { Metrics } from '../registry.ts'

/** The records that a process may set aside for a newer version. */
export type SetAsideRecord = 'render' | 'event' | 'delivery'

/** Registers the counter, with those that this process reads. Call once per `metrics`. */
export function countSetAside<Name extends SetAsideRecord>(
  metrics: Metrics,
  records: readonly Name[],
): (record: Name) => void {
  const counter = metrics.counter(
    'platen_set_aside_records_total',
    'Records of a newer format that were set aside for processes of a newer version.',
    { record: records },
  )
  return (record) => counter.inc({ record })
}
