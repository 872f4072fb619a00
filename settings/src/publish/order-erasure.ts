/** Orders the erasure of a removed tenant's renders, for `deletionPolicy: Delete`. */

import {
  decodeErasure,
  type ErasureOrder,
  encodeErasure,
  erasureKey,
  lastRoundAt,
} from '@platen/contract/domain/erasure.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'

export interface ErasureOrderStore {
  readonly artifacts: Pick<ArtifactStore, 'create' | 'get'>
  readonly serviceBucket: string
  readonly clock: Pick<Clock, 'now'>
}

/** Resolves when the order is durable. An earlier order stays as it is. Throws `Unavailable`. */
export async function orderErasure(
  tenant: Required<Pick<ErasureOrder, 'tenant' | 'account' | 'storage'>>,
  { artifacts, serviceBucket, clock }: ErasureOrderStore,
  signal: AbortSignal,
): Promise<void> {
  const order: ErasureOrder = { ...tenant, orderedAt: clock.now(), by: 'deletionPolicy' }
  await artifacts.create({ bucket: serviceBucket, key: erasureKey(order) }, encodeErasure(order), signal)
}

/** When the erasure ends that was ordered when the account's tenant was removed. Undefined if there is none. Throws `Unavailable`. */
export async function erasureEndsAt(
  account: string,
  { artifacts, serviceBucket }: Omit<ErasureOrderStore, 'clock'>,
  signal: AbortSignal,
): Promise<Instant | undefined> {
  const bytes = await artifacts.get({ bucket: serviceBucket, key: erasureKey({ account }) }, signal)
  return bytes && lastRoundAt(decodeErasure(bytes))
}
