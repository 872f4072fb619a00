/** A row of the table of deliveries, as both the log and the list read it. */
import type { DeliveryRecord, DeliveryStatus } from '@platen/contract/domain/delivery.ts'
import type { Row } from '../connection.ts'
import { textIn } from '../database.ts'

/** The columns that `recordIn` reads. */
export const DELIVERY_COLUMNS = 'delivery, status, reason, next_at, calls'

/** The delivery in a row. */
export function recordIn(row: Row): DeliveryRecord {
  const { reason, next_at: nextAt } = row
  // Only the log writes the column, and the table constrains it.
  const status = textIn(row, 'status') as DeliveryStatus
  return {
    delivery: JSON.parse(textIn(row, 'delivery')),
    status,
    ...(status === 'scheduled' && typeof nextAt === 'number' && { dueAt: nextAt }),
    ...(typeof reason === 'string' && { reason }),
    attempts: JSON.parse(textIn(row, 'calls')),
  }
}
