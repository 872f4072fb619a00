/**
 * Removes the renders that have expired according to the expiry index. An index object is deleted when all its renders are removed. Renders
 * that could not be removed are written to the index again under the current day, and tried again when it is over. So a store that fails
 * for weeks costs one try per day.
 *
 * Any number of processes may do this at once: each skips what another has removed, and removing a render twice is safe.
 */

import type { ArtifactAddress } from '@platen/contract/domain/render.ts'
import {
  type Day,
  dayOf,
  decodeExpiry,
  EXPIRY_PREFIX,
  expiryFolder,
  expiryObjectOf,
  isDayOver,
  type StoredRender,
} from '@platen/contract/stored/expiry.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import { RENDERS_REMOVED_AT_ONCE } from './limit.ts'
import { openRemovalCounter, type RemovalCounter, type RemovalPorts, removeRender } from './removal.ts'

/**
 * Removes the renders whose day is over. Lists only the days of the index and the due objects. Throws `Unavailable` when the index cannot
 * be listed.
 */
export async function removeExpired(ports: RemovalPorts, signal: AbortSignal): Promise<void> {
  const { artifacts, serviceBucket, clock } = ports
  const renders = openRemovalCounter('render', ports)
  const objects = openRemovalCounter('expiry_index_part', ports)
  const now = clock.now()
  const pass = { ports, renders, day: dayOf(now) }
  for await (const day of artifacts.listFolders(serviceBucket, EXPIRY_PREFIX, signal)) {
    if (!isDayOver(day, now)) continue
    for await (const address of artifacts.list(serviceBucket, expiryFolder(day), signal))
      await objects.count(() => removeObject(address, pass, signal), signal)
  }
  renders.end()
  objects.end()
}

interface Pass {
  readonly ports: RemovalPorts
  readonly renders: RemovalCounter
  readonly day: Day
}

/** Returns false when another process has removed the object meanwhile. */
async function removeObject(address: ArtifactAddress, pass: Pass, signal: AbortSignal): Promise<boolean> {
  const { artifacts, serviceBucket } = pass.ports
  const bytes = await artifacts.get(address, signal)
  if (bytes === undefined) return false
  const left = await removeAll(decodeExpiry(bytes), pass, signal)
  if (left.length > 0) {
    const again = expiryObjectOf(pass.day, left)
    await artifacts.put({ bucket: serviceBucket, key: again.key }, again.bytes, signal)
  }
  await artifacts.delete(address, signal)
  return true
}

/** Returns the renders that could not be removed. */
async function removeAll(
  renders: readonly StoredRender[],
  { ports, renders: counter }: Pass,
  signal: AbortSignal,
): Promise<StoredRender[]> {
  const left: StoredRender[] = []
  await forEachConcurrently(renders, RENDERS_REMOVED_AT_ONCE, async (render) => {
    const result = await counter.count(() => removeRender(render, ports, signal), signal)
    if (result === 'failed') left.push(render)
  })
  return left
}
