/**
 * The render ledger of the embedded service. It also reads the rows of the queue, so a render whose `markQueued` was lost in a crash is
 * still found as queued.
 */

import { QUEUE_AGE_MS_MAX, RENDER_ATTEMPTS_MAX } from '@platen/contract/domain/limit.ts'
import {
  expiryOf,
  type RenderEnd,
  type RenderRecord,
  type RenderView,
  shownOf,
  viewOf,
} from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import { cancelableLedger } from '@platen/contract/port/cancelable-ledger.ts'
import type { ClaimResult, ErasableRenderLedger, Lease } from '@platen/contract/port/render-ledger.ts'
import { recordOfText } from '@platen/contract/stored/record-text.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Row } from './connection.ts'
import { type Database, integerIn, textIn } from './database.ts'
import { PRUNE_ROWS_MAX } from './limit.ts'
import {
  IS_UNLISTED,
  LIST_COLUMNS,
  listedValues,
  scopesOf,
  shownIn,
  unlistedValues,
} from './render-ledger/render-list.ts'

const OPEN = `INSERT INTO render (id, template, accepted_at, status, expires_at, storage, ${LIST_COLUMNS})
  VALUES (?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
const CLAIM = `UPDATE render SET status = 'running', attempts = attempts + 1, owner = ?2, lease_until = ?3 + ?4
  WHERE id = ?1 AND outcome IS NULL AND attempts - returned < ?5 AND (owner IS NULL OR owner = ?2 OR lease_until <= ?3)
  RETURNING attempts`
const STATE = `SELECT status, attempts - returned AS counted, owner, lease_until FROM render WHERE id = ?`
const RENEW = `UPDATE render SET lease_until = ?1 WHERE id = ?2 AND attempts = ?3 AND owner = ?4 RETURNING id`
const RELEASE = `UPDATE render SET returned = returned + 1, owner = NULL, lease_until = NULL
  WHERE id = ? AND attempts = ? AND owner = ?`
const END = `INSERT INTO render (id, template, accepted_at, status, attempts, outcome, expires_at, storage, ${LIST_COLUMNS})
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET status = excluded.status, attempts = excluded.attempts, outcome = excluded.outcome,
    expires_at = excluded.expires_at, storage = excluded.storage, owner = NULL, lease_until = NULL`
const UNLESS_ENDED = `WHERE render.outcome IS NULL`
const COMPLETE = `${END},
    scope = iif(${IS_UNLISTED}, render.scope, excluded.scope), engine = excluded.engine,
    reference = excluded.reference, metadata = excluded.metadata, batch = excluded.batch ${UNLESS_ENDED}`
/** A cancellation knows less of the render than its row. */
const CANCEL = `${END} ${UNLESS_ENDED}`
const FIND = `SELECT template, accepted_at, status, attempts, outcome, reference, metadata, batch FROM render WHERE id = ?`
const FIND_QUEUED = `SELECT record FROM queue WHERE id = ?`
const RELEASE_ALL = `UPDATE render SET owner = NULL, lease_until = NULL WHERE owner IS NOT NULL`
const DUE = `SELECT id, storage, expires_at FROM render WHERE expires_at <= ? AND (expires_at, id) > (?, ?)
  ORDER BY expires_at, id LIMIT ?`
const IN_SCOPE = `SELECT id FROM render INDEXED BY render_listed WHERE scope = ? AND id > ? ORDER BY id LIMIT ?`
const FORGET = `DELETE FROM render WHERE id = ?`
const FORGET_RECORDS = [
  `DELETE FROM queue WHERE id = ?`,
  `DELETE FROM dead_letter WHERE id = ?`,
  `DELETE FROM event WHERE event ->> '$.manifest.render.id' = ?`,
]
const NEWEST = `SELECT id FROM render ORDER BY id DESC LIMIT 1`

/** A render past its retention. `storage` locates everything stored of it below `renderPrefix`, except the manifest. */
export type DueRender = Pick<RenderRecord, 'id' | 'storage'>

/** A ledger that forgets nothing by itself: it is the index of stored renders. The code that removes a render calls `forget` last. */
export interface SqliteRenderLedger extends ErasableRenderLedger {
  /** Yields the renders to remove by `by`, the longest overdue first. Each comes once, whether it is removed meanwhile or not. */
  due(by: Instant, signal: AbortSignal): AsyncIterable<DueRender>
  /** Yields the ended renders of an account, and perhaps others. Its cost does not depend on the number of other renders. */
  ofAccount(account: string, signal: AbortSignal): AsyncIterable<RenderId>
  /**
   * Removes a render from the rest of the database: from the queue, the dead letters and the events. Readers of the events keep what they
   * made of them. Resolves when durable.
   */
  forgetRecords(id: RenderId, signal: AbortSignal): Promise<void>
  newest(signal: AbortSignal): Promise<RenderId | undefined>
}

/**
 * One ledger per database, opened before any render. Existing claims belong to a dead process that had the database before, so all of them
 * are released at once.
 */
export function sqliteRenderLedger(database: Database, clock: Clock): SqliteRenderLedger {
  database.post([{ sql: RELEASE_ALL }])
  return cancelableLedger(ledgerIn(database, clock), async (id, signal) => {
    const [[state] = []] = await database.run([{ sql: STATE, values: [id] }], signal)
    return typeof state?.['owner'] === 'string' && integerIn(state, 'lease_until') > clock.now()
  })
}

function ledgerIn(database: Database, clock: Clock): Omit<SqliteRenderLedger, 'cancel' | 'isCanceled'> {
  return {
    async markQueued(record, signal) {
      signal.throwIfAborted()
      database.post([opening(record)])
    },
    async claim(record, lease, signal) {
      const now = clock.now()
      const { owner, leaseMs } = lease
      const claiming = { sql: CLAIM, values: [record.id, owner, now, leaseMs, RENDER_ATTEMPTS_MAX] }
      const command = [opening(record), claiming, { sql: STATE, values: [record.id] }]
      const [, granted = [], [state] = []] = await database.run(command, signal)
      if (granted[0] === undefined) return refusedClaim(state, lease, now)
      const attempt = integerIn(granted[0], 'attempts')
      return { kind: 'granted', claim: { id: record.id, fence: attempt, attempt } }
    },
    async renew({ id, fence }, { owner, leaseMs }, signal) {
      const [renewed = []] = await database.run(
        [{ sql: RENEW, values: [clock.now() + leaseMs, id, fence, owner] }],
        signal,
      )
      return renewed.length > 0
    },
    async release({ id, fence }, owner, signal) {
      await database.run([{ sql: RELEASE, values: [id, fence, owner] }], signal)
    },
    complete: async (end, signal) => void (await database.run([ending(end)], signal)),
    async find(id, signal) {
      const command = [
        { sql: FIND, values: [id] },
        { sql: FIND_QUEUED, values: [id] },
      ]
      const [[known] = [], [queued] = []] = await database.run(command, signal)
      return known !== undefined ? viewIn(known, id) : queued && queuedView(recordOfText(textIn(queued, 'record')))
    },
    async *due(by, signal) {
      let after: [Instant, string] = [0, '']
      for (;;) {
        const [rows = []] = await database.run([{ sql: DUE, values: [by, ...after, PRUNE_ROWS_MAX] }], signal)
        for (const row of rows) yield dueIn(row)
        const last = rows.at(-1)
        if (last === undefined || rows.length < PRUNE_ROWS_MAX) return
        after = [integerIn(last, 'expires_at'), textIn(last, 'id')]
      }
    },
    async *ofAccount(account, signal) {
      for (const scope of scopesOf(account)) yield* idsIn(scope, database, signal)
    },
    forget: async (id, signal) => void (await database.run([{ sql: FORGET, values: [id] }], signal)),
    forgetRecords: async (id, signal) => void (await database.run(forgettingRecords(id), signal)),
    async newest(signal) {
      const [[row] = []] = await database.run([{ sql: NEWEST }], signal)
      return row && idIn(row)
    },
  }
}

async function* idsIn(scope: string, database: Database, signal: AbortSignal): AsyncGenerator<RenderId> {
  let after = ''
  for (;;) {
    const [rows = []] = await database.run([{ sql: IN_SCOPE, values: [scope, after, PRUNE_ROWS_MAX] }], signal)
    for (const row of rows) yield idIn(row)
    const last = rows.at(-1)
    if (last === undefined || rows.length < PRUNE_ROWS_MAX) return
    after = idIn(last)
  }
}

function forgettingRecords(id: RenderId) {
  return FORGET_RECORDS.map((sql) => ({ sql, values: [id] }))
}

function opening(record: RenderRecord) {
  const { id, template, acceptedAt, storage } = record
  // In case the end is never recorded: by then the render has ended, so the row does not stay for ever.
  const expiresAt = expiryOf(record, acceptedAt + QUEUE_AGE_MS_MAX)
  // Sync renders are listed when they have ended.
  const listed = record.mode === 'async' ? listedValues(record) : unlistedValues({ engine: record.engine })
  return { sql: OPEN, values: [id, template.code, acceptedAt, expiresAt, JSON.stringify(storage), ...listed] }
}

function ending(end: RenderEnd) {
  const { id, storage } = end.render
  const { template, acceptedAt, state } = { ...viewOf(end), state: end.outcome }
  const attempt = 'attempt' in end ? end.attempt : 0
  const ended = [state.status, attempt, JSON.stringify(state), expiryOf(end.render, state.finishedAt)]
  const values = [id, template ?? null, acceptedAt, ...ended, JSON.stringify(storage), ...listValuesOf(end)]
  return { sql: end.kind === 'canceled' ? CANCEL : COMPLETE, values }
}

function listValuesOf({ kind, render }: RenderEnd) {
  switch (kind) {
    case 'ended':
    case 'removed':
      return listedValues(render)
    case 'abandoned':
    case 'canceled':
      return unlistedValues(render)
    case 'erased':
      return unlistedValues('account' in render ? render : {})
  }
}

/** `state` was read in the same transaction as the claim that changed nothing. */
function refusedClaim(state: Row | undefined, { owner }: Lease, now: Instant): ClaimResult {
  const status = textIn(state, 'status')
  if (status === 'succeeded' || status === 'failed') return { kind: 'settled' }
  const isHeld = typeof state?.['owner'] === 'string' && state['owner'] !== owner
  const until = isHeld ? integerIn(state, 'lease_until') : now
  return until > now ? { kind: 'held', until } : { kind: 'exhausted', attempts: integerIn(state, 'counted') }
}

function viewIn(row: Row, id: RenderId): RenderView {
  const acceptedAt = integerIn(row, 'accepted_at')
  return { id, ...templateIn(row), acceptedAt, ...shownIn(row), state: stateIn(row) }
}

function stateIn(row: Row): RenderView['state'] {
  if (row['outcome'] !== null) return JSON.parse(textIn(row, 'outcome'))
  const attempt = integerIn(row, 'attempts')
  return attempt > 0 ? { status: 'running', attempt } : { status: 'queued' }
}

function queuedView(record: RenderRecord): RenderView {
  const { id, template, acceptedAt } = record
  return { id, template: template.code, acceptedAt, ...shownOf(record), state: { status: 'queued' } }
}

function dueIn(row: Row): DueRender {
  return { id: idIn(row), storage: JSON.parse(textIn(row, 'storage')) }
}

function idIn(row: Row): RenderId {
  // Only `markQueued`, `claim` and `complete` write it, from a render id.
  return textIn(row, 'id') as RenderId
}

function templateIn({ template }: Row): Pick<RenderView, 'template'> {
  // Only `markQueued`, `claim` and `complete` write it, from a template code.
  return typeof template === 'string' ? { template: template as TemplateCode } : {}
}
