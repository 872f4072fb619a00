/**
 * Carries out erasure orders, in rounds. A round looks at all renders that may belong to the order's tenant; the manifest of each says
 * whether it does. So a render that runs or waits is left to a later round, after it has ended and the expiry index lists it.
 *
 * Any number of processes may do this at once: erasing a render twice is safe. The order records that a process works on a round, so that
 * mostly only one does.
 */

import {
  decodeErasure,
  ERASURE_PREFIX,
  type ErasureOrder,
  encodeErasure,
  held,
  isListed,
  isOfRound,
  isRoundDue,
  LISTED_ERASURE_PREFIX,
  lastRoundAt,
  workedOff,
} from '@platen/contract/domain/erasure.ts'
import type { ArtifactAddress } from '@platen/contract/domain/render.ts'
import { issuedAt, parseRenderId, type RenderId } from '@platen/contract/domain/render-id.ts'
import { batchesFolder, batchIdIn, keptUnder } from '@platen/contract/stored/batch.ts'
import { decodeExpiry, EXPIRY_PREFIX } from '@platen/contract/stored/expiry.ts'
import { claimsFolder, decodeClaim } from '@platen/contract/stored/idempotency.ts'
import { type Erasure, type ErasurePorts, eraseRenders, isLeftOf } from './erasure.ts'
import { ERASED_TOGETHER_MAX } from './limit.ts'
import { eraseListed } from './listed-erasure.ts'

/** Objects of the expiry index that an erasure reads at once: half a megabyte. */
const INDEX_READ_AT_ONCE = 8

export interface ErasureOrderPorts extends ErasurePorts {
  /** All renders that may be of the order's tenant and have a manifest. May yield others, and one more than once. */
  readonly findRenders: (order: ErasureOrder, signal: AbortSignal) => AsyncIterable<RenderId>
}

interface StoredOrder {
  readonly order: ErasureOrder
  readonly address: ArtifactAddress
}

interface ErasureRound {
  readonly erased: number
  readonly failed: number
  /** The error of the first one that failed. */
  readonly err?: unknown
}

/** Does a round of each due order. A failure does not stop the other orders, and is tried again with the next call. */
export async function workOffErasures(ports: ErasureOrderPorts, signal: AbortSignal): Promise<void> {
  const { artifacts, serviceBucket, log } = ports
  for (const prefix of [LISTED_ERASURE_PREFIX, ERASURE_PREFIX]) {
    for await (const address of artifacts.list(serviceBucket, prefix, signal)) {
      try {
        await workOff(address, ports, signal)
      } catch (err) {
        signal.throwIfAborted()
        log.warn({ order: address.key, err }, 'erasure order not worked off')
      }
    }
  }
}

async function workOff(address: ArtifactAddress, ports: ErasureOrderPorts, signal: AbortSignal): Promise<void> {
  const { artifacts, clock } = ports
  const bytes = await artifacts.get(address, signal)
  const now = clock.now()
  const stored = bytes && decodeErasure(bytes)
  if (stored === undefined || !isRoundDue(stored, now)) return
  const order = held(stored, now)
  await artifacts.put(address, encodeErasure(order), signal)
  if (isListed(order)) await eraseListed({ order, address }, ports, signal)
  else await eraseTenant({ order, address }, ports, signal)
}

/**
 * Does one round of a stored order that this process holds, and records it in the order if nothing failed. The last round removes the
 * order. Throws `Unavailable` if it could not look at all renders; erased ones stay erased.
 */
export async function eraseTenant(
  { order, address }: StoredOrder,
  ports: ErasureOrderPorts,
  signal: AbortSignal,
): Promise<ErasureRound> {
  const { artifacts, clock, log } = ports
  const workedOffAt = clock.now()
  const isLast = workedOffAt >= lastRoundAt(order)
  const round = { erased: 0, failed: 0, err: undefined as unknown }
  let worked = order
  for await (const ids of inBatches(rendersOfRound(order, ports, signal), ERASED_TOGETHER_MAX)) {
    const { erased, failed, err } = await eraseRenders({ ids, ...whatOf(order, isLast) }, ports, signal)
    round.erased += erased.length
    round.failed += failed.length
    round.err ??= err
    worked = held({ ...worked, erased: (worked.erased ?? 0) + erased.length }, clock.now())
    await artifacts.put(address, encodeErasure(worked), signal)
  }
  await removeClaims(order, ports, signal)
  await removeBatches(order, ports, signal)
  const { tenant, account, by } = order
  const fields = { tenant, account, by, erased: round.erased, failed: round.failed }
  if (round.failed > 0) {
    log.warn({ ...fields, err: round.err }, 'some renders of a tenant not erased')
    return round
  }
  if (isLast) await artifacts.delete(address, signal)
  else await artifacts.put(address, encodeErasure(workedOff(worked, workedOffAt)), signal)
  if (isLast) log.info(fields, 'tenant erasure completed')
  else if (round.erased > 0) log.info(fields, 'renders of a tenant erased')
  return round
}

function whatOf({ account, storage, orderedAt }: ErasureOrder, isLast: boolean): Omit<Erasure, 'ids'> {
  return {
    isWanted(id, manifest) {
      if (manifest !== undefined && 'account' in manifest.render) return isLeftOf(account, manifest)
      if (manifest?.kind === 'erased' && manifest.isComplete) return false
      // By the last round every render from before the order has ended. If it has no manifest, only its data was left in the folder.
      return isLast && issuedAt(id) < orderedAt
    },
    ...(storage && { storage }),
  }
}

/** The renders of a round, from the index or manifests, then from the tenant's folder: a PDF is stored before any index lists it. */
async function* rendersOfRound(
  order: ErasureOrder,
  ports: ErasureOrderPorts,
  signal: AbortSignal,
): AsyncGenerator<RenderId> {
  for (const found of [ports.findRenders(order, signal), rendersInFolder(order, ports, signal)]) {
    for await (const id of found) if (isOfRound(order, id)) yield id
  }
}

async function* inBatches<T>(items: AsyncIterable<T>, max: number): AsyncGenerator<readonly T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < max) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

async function* rendersInFolder(
  { storage }: ErasureOrder,
  { artifacts }: ErasureOrderPorts,
  signal: AbortSignal,
): AsyncGenerator<RenderId> {
  if (storage === undefined) return
  const { bucket, prefix } = storage
  let last: string | undefined
  for await (const { key } of artifacts.list(bucket, prefix, signal)) {
    const [name = ''] = key.slice(prefix.length).split('/')
    const id = parseRenderId(name)
    // The objects of one render mostly follow each other.
    if (id !== undefined && id === name && id !== last) yield id
    last = name
  }
}

/** Finds renders in the expiry index, which lists every ended render of a cluster. */
export async function* rendersInIndex(
  order: ErasureOrder,
  { artifacts, serviceBucket }: Pick<ErasurePorts, 'artifacts' | 'serviceBucket'>,
  signal: AbortSignal,
): AsyncGenerator<RenderId> {
  const listed = artifacts.list(serviceBucket, EXPIRY_PREFIX, signal)
  // A remote store takes longer to answer than to read, so several objects are read at once.
  for await (const addresses of inBatches(listed, INDEX_READ_AT_ONCE)) {
    const objects = await Promise.all(addresses.map((address) => artifacts.get(address, signal)))
    // Absent when the object was removed meanwhile, together with its renders.
    const renders = objects.flatMap((bytes) => (bytes ? decodeExpiry(bytes) : []))
    for (const { id, account } of renders) if (account === order.account) yield id
  }
}

interface LedgerOfAccounts {
  /** Yields the ended renders of an account, and perhaps others. */
  ofAccount(account: string, signal: AbortSignal): AsyncIterable<RenderId>
}

/** Finds renders in a ledger that has every ended one. Renders that a killed erasure removed from it are in the expiry index. */
export async function* rendersInLedger(
  order: ErasureOrder,
  { ledger, ...ports }: Pick<ErasurePorts, 'artifacts' | 'serviceBucket'> & { readonly ledger: LedgerOfAccounts },
  signal: AbortSignal,
): AsyncGenerator<RenderId> {
  yield* ledger.ofAccount(order.account, signal)
  yield* rendersInIndex(order, ports, signal)
}

/** Claims contain file names and webhook URLs. */
async function removeClaims(
  { account, before = Number.POSITIVE_INFINITY }: ErasureOrder,
  { artifacts, serviceBucket }: ErasureOrderPorts,
  signal: AbortSignal,
): Promise<void> {
  for await (const address of artifacts.list(serviceBucket, claimsFolder(account), signal)) {
    const bytes = await artifacts.get(address, signal)
    if (bytes !== undefined && decodeClaim(bytes).claimedAt < before) await artifacts.delete(address, signal)
  }
}

/** Batches contain receivers and labels. Their items are in the folder of the tenant. */
async function removeBatches(
  { account, before = Number.POSITIVE_INFINITY }: ErasureOrder,
  { artifacts, deliveries, serviceBucket }: ErasureOrderPorts,
  signal: AbortSignal,
): Promise<void> {
  const folder = batchesFolder(account)
  for await (const address of artifacts.list(serviceBucket, folder, signal)) {
    const id = batchIdIn(address.key, folder)
    if (issuedAt(id) >= before) continue
    await deliveries.forget(keptUnder(id), signal)
    await artifacts.delete(address, signal)
  }
}
