import type { DeliveryRecord, DeliveryStatus } from '@platen/contract/domain/delivery.ts'
import type { Row } from '../connection.ts'
import { textIn } from '../database.ts'

export const DELIVERY_COLUMNS = 'delivery, status, reason, next_at, calls'

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
