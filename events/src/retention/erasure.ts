/**
 * Erases renders before their retention is over. It leaves a tombstone in place of the manifest: the render may still wait in a queue or
 * run in a renderer, which must not write a manifest any more. The expiry index says when to remove the tombstone, and with it everything
 * that came too late.
 *
 * Erasing again is safe, and completes an interrupted erasure: the tombstone says where everything is, and that something may be left.
 */

import { ERASED_KEPT_DAYS } from '@platen/contract/domain/limit.ts'
import {
  decodeManifest,
  encodeManifest,
  expiryOf,
  type Manifest,
  manifestAddress,
  type RenderRecord,
  type Tombstone,
  tombstoneOf,
  UnreadableManifest,
} from '@platen/contract/domain/render.ts'
import { issuedAt, type RenderId } from '@platen/contract/domain/render-id.ts'
import type { DeliveryListView } from '@platen/contract/port/delivery-list.ts'
import type { ErasableRenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { RenderListView } from '@platen/contract/port/render-list.ts'
import { dayOf, expiryObjectOf, type StoredRender } from '@platen/contract/stored/expiry.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import { RENDERS_REMOVED_AT_ONCE } from './limit.ts'
import { type RemovalPorts, removeData } from './removal.ts'

const DAY_MS = 24 * 60 * 60 * 1000

export interface ErasurePorts extends Omit<RemovalPorts, 'meter'> {
  readonly ledger: Pick<ErasableRenderLedger, 'forget' | 'complete'>
  /** Absent where the ledger keeps the list of renders. */
  readonly list?: Pick<RenderListView, 'remove'>
  /** Absent where the delivery log keeps the list of deliveries. */
  readonly deliveryList?: Pick<DeliveryListView, 'remove'>
  /** Removes the records of a render that are neither in the artifact store nor in the ledger. Absent means that they cannot be removed. */
  readonly forgetRecords?: (id: RenderId, signal: AbortSignal) => Promise<void>
}

export interface Erasure {
  /** At most `ERASED_TOGETHER_MAX`. */
  readonly ids: readonly RenderId[]
  /** Which of them to erase. The manifest is undefined if it is missing or damaged. */
  readonly isWanted: (id: RenderId, manifest: Manifest | undefined) => boolean
  /** Where the data of renders without a manifest is, if known. */
  readonly storage?: RenderRecord['storage']
}

interface ErasureResult {
  readonly erased: readonly ErasedRender[]
  readonly failed: readonly RenderId[]
  readonly err?: unknown
}

interface ErasedRender {
  readonly id: RenderId
  /** Without a manifest, the render waits, runs, or was removed before. */
  readonly hadManifest: boolean
}

/**
 * Erases the wanted renders. A failure does not stop the others. Throws when `signal` aborts, or when the expiry index cannot be written:
 * then nothing was erased.
 */
export async function eraseRenders(
  { ids, isWanted, storage }: Erasure,
  ports: ErasurePorts,
  signal: AbortSignal,
): Promise<ErasureResult> {
  const now = ports.clock.now()
  const [erased, failed]: [ErasedRender[], RenderId[]] = [[], []]
  let err: unknown
  const fail = (id: RenderId, cause: unknown) => {
    signal.throwIfAborted()
    failed.push(id)
    err ??= cause
  }
  const found: Found[] = []
  await forEachConcurrently(new Set(ids), RENDERS_REMOVED_AT_ONCE, async (id) => {
    try {
      const manifest = await readManifest(id, ports, signal)
      if (isWanted(id, manifest)) found.push(foundOf(id, { manifest, storage, now }, ports))
    } catch (cause) {
      fail(id, cause)
    }
  })
  await recordTombstones(found, now, { ports, signal })
  await forEachConcurrently(found, RENDERS_REMOVED_AT_ONCE, async (render) => {
    const { id, hadManifest } = render
    try {
      await erase(render, ports, signal)
      erased.push({ id, hadManifest })
    } catch (cause) {
      fail(id, cause)
    }
  })
  return { erased, failed, ...(err !== undefined && { err }) }
}

interface Found {
  readonly id: RenderId
  readonly hadManifest: boolean
  readonly tombstone: Tombstone
  readonly isYoung: boolean
}

interface Known {
  readonly manifest: Manifest | undefined
  readonly storage: RenderRecord['storage'] | undefined
  readonly now: Instant
}

function foundOf(id: RenderId, { manifest, storage, now }: Known, { serviceBucket }: ErasurePorts): Found {
  // No key begins with a render id, so this storage has nothing of the render.
  const nowhere = { bucket: serviceBucket, prefix: '' }
  const render = manifest?.render
  // A tombstone without an owner is what an interrupted erasure has left, which may not have known the storage.
  const known = render && 'account' in render ? render : { id, storage: storage ?? render?.storage ?? nowhere }
  return {
    id,
    hadManifest: manifest !== undefined,
    tombstone: tombstoneOf(known, now),
    isYoung: isYoung(id, now),
  }
}

/** Whether the record of a render may still be in a queue. */
export function isYoung(id: RenderId, now: Instant): boolean {
  return now - issuedAt(id) < ERASED_KEPT_DAYS * DAY_MS
}

/** Whether the render is of the account and something of it may be left to erase. */
export function isLeftOf(account: string, manifest: Manifest): boolean {
  return isOf(account, manifest) && !(manifest.kind === 'erased' && manifest.isComplete)
}

export function isOf(account: string, { render }: Manifest): boolean {
  return 'account' in render && render.account === account
}

/** A damaged manifest is erased like a missing one. */
async function readManifest(
  id: RenderId,
  { artifacts, serviceBucket }: ErasurePorts,
  signal: AbortSignal,
): Promise<Manifest | undefined> {
  const bytes = await artifacts.get(manifestAddress(id, serviceBucket), signal)
  try {
    return bytes && decodeManifest(bytes)
  } catch (error) {
    if (error instanceof UnreadableManifest) return undefined
    throw error
  }
}

/** Writes into the expiry index when to remove the tombstones. Comes first, so that no tombstone stays for ever. */
async function recordTombstones(
  found: readonly Found[],
  now: Instant,
  { ports, signal }: { readonly ports: ErasurePorts; readonly signal: AbortSignal },
): Promise<void> {
  const renders = found.map(({ tombstone }) => tombstone.render)
  const [first] = renders
  if (first === undefined) return
  const { key, bytes } = expiryObjectOf(dayOf(expiryOf(first, now)), renders.map(storedRenderOf))
  await ports.artifacts.put({ bucket: ports.serviceBucket, key }, bytes, signal)
}

function storedRenderOf({ id, storage, ...render }: Tombstone['render']): StoredRender {
  return { id, storage, ...('account' in render && { account: render.account }) }
}

async function erase({ id, tombstone, isYoung }: Found, ports: ErasurePorts, signal: AbortSignal): Promise<void> {
  const { artifacts, serviceBucket, ledger, list, deliveryList, forgetRecords } = ports
  const address = manifestAddress(id, serviceBucket)
  await artifacts.put(address, encodeManifest({ ...tombstone, isComplete: false }), signal)
  const { render } = tombstone
  await removeData(render, ports, signal)
  // Without a manifest the account is unknown. The render leaves the list when it leaves the queue.
  if ('account' in render) {
    await list?.remove(render, id, signal)
    await deliveryList?.remove(render, id, signal)
  }
  await ledger.forget(id, signal)
  // From now on no renderer begins it.
  if (isYoung) await ledger.complete(tombstone, signal)
  await forgetRecords?.(id, signal)
  // Last: if this is interrupted before, the next round sees that something may be left.
  await artifacts.put(address, encodeManifest(tombstone), signal)
}
