/**
 * The render ledger of several processes. Each render is one hash, which expires; after that only the manifest tells how it ended. Nothing
 * here survives a loss of Redis: attempts and fences then begin anew.
 */
import { QUEUE_AGE_MS_MAX, RENDER_ATTEMPTS_MAX, VIEW_KEPT_MS } from '@platen/contract/domain/limit.ts'
import {
  queuedViewOf,
  type RenderEnd,
  type RenderRecord,
  type RenderView,
  viewOf,
} from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { ClaimResult, ErasableRenderLedger, RestorableRenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { gathered } from './connect/gather.ts'
import type { RedisConnection } from './connect.ts'
import { ENDED_AT_ONCE } from './limit.ts'
import { ENDS_CHANNEL } from './render-ledger/render-ends.ts'
import { openScript } from './script.ts'

/** As long as the record of an ended render may come back from the queue. */
const ENDED_KEPT_MS = QUEUE_AGE_MS_MAX

/** Without a clock it uses the time of Redis, so that a lease is the same to every process. */
export function redisRenderLedger(
  redis: RedisConnection,
  clock?: Clock,
): ErasableRenderLedger & RestorableRenderLedger {
  const script = openScript(redis, { file: './render-ledger.lua', clock })
  const run = (id: RenderId, request: object, signal: AbortSignal) =>
    script.run({ keys: [keyOf(id)], request: { id, ...request } }, signal)
  const completeAll = async (ends: readonly RenderEnd[], signal: AbortSignal) => {
    const ids = ends.map(({ render }) => render.id)
    const texts = ends.flatMap((end) => {
      const { state, ...view } = viewOf(end)
      return [JSON.stringify(view), JSON.stringify(state)]
    })
    const request = { operation: 'complete', ids, keptMs: ENDED_KEPT_MS, channel: ENDS_CHANNEL }
    await script.run({ keys: ids.map(keyOf), request, texts }, signal)
  }
  return {
    markQueued: gathered({
      // In a Cluster the keys of two renders may be on two servers.
      nameOf: ({ id }: RenderRecord) => (redis.isCluster ? id : ''),
      async call(records, signal) {
        const request = { operation: 'markQueued', keptMs: VIEW_KEPT_MS }
        await script.run({ keys: records.map(({ id }) => keyOf(id)), request, texts: records.map(queuedView) }, signal)
      },
    }),
    async claim(record, { owner, leaseMs }, signal) {
      const kept = { view: queuedView(record), keptMs: VIEW_KEPT_MS }
      const claiming = { operation: 'claim', ...kept, owner, leaseMs, attemptsMax: RENDER_ATTEMPTS_MAX }
      // The script returns the type of the port.
      return (await run(record.id, claiming, signal)) as ClaimResult
    },
    async renew({ id, fence }, { owner, leaseMs }, signal) {
      const renewing = { operation: 'renew', fence, owner, leaseMs, keptMs: VIEW_KEPT_MS }
      return (await run(id, renewing, signal)) === true
    },
    async release({ id, fence }, owner, signal) {
      await run(id, { operation: 'release', fence, owner }, signal)
    },
    async cancel(id, signal) {
      return (await run(id, { operation: 'cancel', keptMs: VIEW_KEPT_MS }, signal)) === true
    },
    async isCanceled(id, signal) {
      return (await run(id, { operation: 'isCanceled' }, signal)) === true
    },
    complete: (end, signal) => completeAll([end], signal),
    async completeAll(ends, signal) {
      await Promise.all(slicesOf(ends, redis.isCluster ? 1 : ENDED_AT_ONCE).map((each) => completeAll(each, signal)))
    },
    async find(id, signal) {
      // Only the script writes this value, from the requests `markQueued`, `claim` and `complete`.
      const found = (await run(id, { operation: 'find' }, signal)) as Found | undefined
      if (found === undefined) return undefined
      const { view, mayHaveEnded } = found
      return { ...JSON.parse(view), state: stateOf(found), ...(mayHaveEnded && { mayHaveEnded }) }
    },
    async forget(id, signal) {
      await redis.call((client) => client.del(keyOf(id)), signal)
    },
  }
}

function slicesOf<Item>(all: readonly Item[], size: number): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))
}

function keyOf(id: RenderId): string {
  return `platen:render:{${id}}`
}

interface Found {
  readonly view: string
  readonly attempts: number
  readonly outcome?: string
  readonly mayHaveEnded?: true
}

function queuedView(record: RenderRecord): string {
  return JSON.stringify(queuedViewOf(record))
}

function stateOf({ attempts, outcome }: Found): RenderView['state'] {
  if (outcome !== undefined) return JSON.parse(outcome)
  return attempts > 0 ? { status: 'running', attempt: attempts } : { status: 'queued' }
}
