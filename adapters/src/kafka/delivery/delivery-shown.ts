import type { Delivery } from '@platen/contract/domain/delivery.ts'
import type { DeliveryListView } from '@platen/contract/port/delivery-list.ts'
import { listedDelivery } from '@platen/contract/port/listed-delivery.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { type Progress, recordOf } from './progress.ts'

/** Returns false if the list cannot be reached: the delivery must then be shown again. No delivery waits for the list. */
export async function show(
  progress: Progress,
  list: Pick<DeliveryListView, 'put'> | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const shown = listedDelivery(recordOf(progress))
  if (shown === undefined || list === undefined) return true
  return await isReached(() => list.put(progress.delivery, shown, signal))
}

/** Shows a scheduled delivery unless it is shown already. */
export async function showScheduled(
  delivery: Delivery,
  list: Pick<DeliveryListView, 'add'> | undefined,
  signal: AbortSignal,
): Promise<void> {
  const shown = listedDelivery({ delivery, status: 'scheduled', attempts: [] })
  if (shown !== undefined && list !== undefined) await isReached(() => list.add(delivery, shown, signal))
}

async function isReached(update: () => Promise<void>): Promise<boolean> {
  try {
    await update()
    return true
  } catch (cause) {
    if (!(cause instanceof Unavailable)) throw cause
    return false
  }
}
