/**
 * Carries out an order that lists renders of a tenant. The ids come from outside and may be another tenant's, so the manifests decide whose
 * they are. An id without a manifest may wait, run, or never have been issued. Nothing happens to it until it has an outcome, or is too old
 * to get one.
 *
 * A round records the state of each render, not what this round did: every erased render leaves a tombstone. So a round that is repeated,
 * or done by two processes, finds the same.
 */

import {
  encodeErasure,
  isDone,
  type ListedErasureOrder,
  lastRoundAt,
  workedOff,
} from '@platen/contract/domain/erasure.ts'
import type { ArtifactAddress, Manifest } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { type ErasurePorts, eraseRenders, isLeftOf, isOf, isYoung } from './erasure.ts'
import { ERASED_TOGETHER_MAX } from './limit.ts'

/** Does one round of a stored order, and records the result in the order. Removes the order when its time is over. Throws `Unavailable`. */
export async function eraseListed(
  { order, address }: { readonly order: ListedErasureOrder; readonly address: ArtifactAddress },
  ports: ErasurePorts,
  signal: AbortSignal,
): Promise<void> {
  const { artifacts, clock, log } = ports
  const workedOffAt = clock.now()
  // A done order is due only for its removal. An order that is not done is never removed, however late it is.
  if (isDone(order)) return await artifacts.delete(address, signal)
  const { renders, unfinished = renders, erased = 0, notFound = 0, tenant, account, by } = order
  const found = { erased, notFound, unfinished: [] as RenderId[] }
  for (let at = 0; at < unfinished.length; at += ERASED_TOGETHER_MAX) {
    const ids = unfinished.slice(at, at + ERASED_TOGETHER_MAX)
    const states = new Map<RenderId, State>()
    const isWanted = (id: RenderId, manifest: Manifest | undefined) => {
      const state = stateOf(id, manifest, { order, now: workedOffAt })
      states.set(id, state)
      return manifest !== undefined && isLeftOf(account, manifest)
    }
    const { failed, err } = await eraseRenders({ ids, isWanted }, ports, signal)
    for (const id of failed) states.set(id, 'unfinished')
    for (const [id, state] of states) {
      if (state === 'unfinished') found.unfinished.push(id)
      else found[state] += 1
    }
    if (failed.length > 0)
      log.warn({ tenant, account, by, failed: failed.length, err }, 'some listed renders not erased')
  }
  const worked = { ...workedOff(order, workedOffAt), ...found }
  await artifacts.put(address, encodeErasure(worked), signal)
  const counts = { erased: found.erased, notFound: found.notFound }
  if (isDone(worked)) log.info({ tenant, account, by, ...counts }, 'listed renders erased')
}

type State = 'erased' | 'notFound' | 'unfinished'

/** `erased` means that the render is the tenant's. */
function stateOf(
  id: RenderId,
  manifest: Manifest | undefined,
  { order, now }: { readonly order: ListedErasureOrder; readonly now: Instant },
): State {
  if (manifest !== undefined) return isOf(order.account, manifest) ? 'erased' : 'notFound'
  return isYoung(id, now) && now < lastRoundAt(order) ? 'unfinished' : 'notFound'
}
