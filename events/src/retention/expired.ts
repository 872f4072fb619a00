/**
 * Removes the renders that the expiry index says are past their time. An object of the index goes when all its renders are gone;
 * those that could not be removed are written into the index anew, under the day it is, and so are tried again when that is over:
 * a store that refuses for weeks costs no more than a try a day.
 *
 * Any number of processes may do so at once: each passes over what another has ended, and to remove a render twice is fine.
 */
import {
  type Day,
  dayOf,
  decodeExpiry,
  EXPIRY_PREFIX,
  expiryObjectOf,
  isDayOver,
  type StoredRender,
} from '@platen/contract/expiry.ts'
import type { ArtifactAddress } from '@platen/contract/render.ts'
import { RENDERS_REMOVED_AT_ONCE } from '@platen/contract/retention-limit.ts'
import { openRemovalCounter, type RemovalCounter, type RemovalPorts, removeRender } from './removal.ts'

/** Removes the renders whose day is over. Throws `Unavailable` when the index cannot be listed. */
export async function removeExpired(ports: RemovalPorts, signal: AbortSignal): Promise<void> {
  const { artifacts, serviceBucket, clock, log } = ports
  const renders = openRemovalCounter('render', log)
  const objects = openRemovalCounter('part of the expiry index', log)
  const now = clock.now()
  const pass = { ports, renders, day: dayOf(now) }
  // The whole index is listed, in pages of a thousand objects, each of which stands for hundreds of renders.
  for await (const address of artifacts.list(serviceBucket, EXPIRY_PREFIX, signal)) {
    if (isDayOver(address.key, now)) await objects.count(() => removeObject(address, pass, signal), signal)
  }
  renders.log()
  objects.log()
}

interface Pass {
  readonly ports: RemovalPorts
  readonly renders: RemovalCounter
  /** On which it began. */
  readonly day: Day
}

/** False when another process has removed it meanwhile. */
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

/** Removes renders, a few at a time. Gives those that could not be removed. */
async function removeAll(
  renders: readonly StoredRender[],
  { ports, renders: counter }: Pass,
  signal: AbortSignal,
): Promise<StoredRender[]> {
  const left: StoredRender[] = []
  // All draw from the one iterator, so each render is removed once.
  const waiting = renders.values()
  const draw = async () => {
    for (const render of waiting) {
      const remove = async () => {
        await removeRender(render, ports, signal)
        return true
      }
      if ((await counter.count(remove, signal)) === 'failed') left.push(render)
    }
  }
  // All their steps have ended when this ends, also where one was told to stop.
  await Promise.allSettled(Array.from({ length: RENDERS_REMOVED_AT_ONCE }, draw))
  signal.throwIfAborted()
  return left
}
