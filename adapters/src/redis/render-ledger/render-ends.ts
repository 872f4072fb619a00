/**
 * The ends of renders of several processes. The ledger publishes the id of each render that ends, on one channel that every API process
 * receives. Nothing is stored: after a reconnection, everybody looks at the state.
 */

import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { openEndWaiters } from '@platen/contract/port/end-waiters.ts'
import type { RenderEnds } from '@platen/contract/port/render-ends.ts'
import { subscribe } from '../connect/subscription.ts'
import type { RedisConnection } from '../connect.ts'

export const ENDS_CHANNEL = 'platen:ended'

/** Resolves when ends are received; throws `Unavailable`. */
export async function openRedisRenderEnds(
  redis: RedisConnection,
  signal: AbortSignal,
): Promise<RenderEnds & Disposable> {
  const waiters = openEndWaiters()
  const subscriber = {
    channel: ENDS_CHANNEL,
    // Only the ledger publishes here. Nobody waits for an invalid id.
    onMessage: (id: string) => waiters.ended(id as RenderId),
    onReconnect: () => waiters.missed(),
  }
  const subscription = await subscribe(redis, subscriber, signal)
  return { expect: (id) => waiters.expect(id), [Symbol.dispose]: () => subscription[Symbol.dispose]() }
}
