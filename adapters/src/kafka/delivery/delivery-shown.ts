/** Shows a delivery in the list of deliveries. No delivery waits for the list. */
import type { Delivery } from '@platen/contract/domain/delivery.ts'
import type { DeliveryListView } from '@platen/contract/port/delivery-list.ts'
import { listedDelivery } from '@platen/contract/port/listed-delivery.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { type Progress, recordOf } from './progress.ts'

/** Shows a delivery as it is. Returns false if the list cannot be reached: then it has to be shown again. */
export async function show(
  progress: Progress,
  list: Pick<DeliveryListView, 'put'> | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const shown = listedDelivery(recordOf(progress))
  if (shown === undefined || list === undefined) return true
  return await isReached(() => list.put(progress.delivery, shown, signal))
}

/** Shows a delivery that was just scheduled, unless it is shown already. */
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
