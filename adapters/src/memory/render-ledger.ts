/**
 * The render ledger of one process, without durability: for unit tests, and for GETs of sync renders in the embedded service. The queue
 * bounds the number of open renders. Keeps the newest `LEDGER_ENDED_MAX` ended renders.
 */
import assert from 'node:assert/strict'
import { LEDGER_ENDED_MAX, RENDER_ATTEMPTS_MAX } from '@platen/contract/domain/limit.ts'
import {
  canTransition,
  queuedViewOf,
  type RenderRecord,
  type RenderView,
  viewOf,
} from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { cancelableLedger } from '@platen/contract/port/cancelable-ledger.ts'
import type { ClaimResult, ErasableRenderLedger, Lease } from '@platen/contract/port/render-ledger.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { openLruCache } from '@platen/lib/lru-cache.ts'

interface Entry {
  view: RenderView
  /** The number of claims. Also the fence, as every claim is an attempt. */
  attempts: number
  returned: number
  hold?: { readonly owner: string; readonly until: Instant } | undefined
}

export function memoryRenderLedger(clock: Clock): ErasableRenderLedger {
  const open = new Map<RenderId, Entry>()
  const ended = openLruCache<RenderView>(LEDGER_ENDED_MAX)

  const ledger: Parameters<typeof cancelableLedger>[0] = {
    async markQueued(record, signal) {
      signal.throwIfAborted()
      if (ended.peek(record.id) === undefined && !open.has(record.id)) open.set(record.id, entryOf(record))
    },
    async claim(record, lease, signal) {
      signal.throwIfAborted()
      if (ended.peek(record.id) !== undefined) return { kind: 'settled' }
      const entry = open.get(record.id) ?? entryOf(record)
      open.set(record.id, entry)
      return claim(entry, lease, clock.now())
    },
    async renew({ id, fence }, { owner, leaseMs }, signal) {
      signal.throwIfAborted()
      const entry = open.get(id)
      if (entry?.hold?.owner !== owner || entry.attempts !== fence) return false
      entry.hold = { owner, until: clock.now() + leaseMs }
      return true
    },
    async release({ id, fence }, owner, signal) {
      signal.throwIfAborted()
      const entry = open.get(id)
      if (entry?.hold?.owner !== owner || entry.attempts !== fence) return
      entry.hold = undefined
      entry.returned += 1
    },
    async complete(end, signal) {
      signal.throwIfAborted()
      const { id } = end.render
      if (ended.peek(id) !== undefined) return
      open.delete(id)
      ended.set(id, viewOf(end))
    },
    async find(id, signal) {
      signal.throwIfAborted()
      return ended.peek(id) ?? open.get(id)?.view
    },
    async forget(id, signal) {
      signal.throwIfAborted()
      open.delete(id)
      ended.drop(id)
    },
  }
  return cancelableLedger(ledger, async (id) => {
    const hold = open.get(id)?.hold
    return hold !== undefined && hold.until > clock.now()
  })
}

function entryOf(record: RenderRecord): Entry {
  return { view: { ...queuedViewOf(record), state: { status: 'queued' } }, attempts: 0, returned: 0 }
}

function claim(entry: Entry, { owner, leaseMs }: Lease, now: Instant): ClaimResult {
  const { view, attempts, hold } = entry
  const counted = attempts - entry.returned
  if (hold !== undefined && hold.owner !== owner && hold.until > now) return { kind: 'held', until: hold.until }
  if (counted >= RENDER_ATTEMPTS_MAX) return { kind: 'exhausted', attempts: counted }
  assert(canTransition(view.state.status, 'running'))
  const attempt = attempts + 1
  entry.attempts = attempt
  entry.hold = { owner, until: now + leaseMs }
  entry.view = { ...view, state: { status: 'running', attempt } }
  return { kind: 'granted', claim: { id: view.id, fence: attempt, attempt } }
}
