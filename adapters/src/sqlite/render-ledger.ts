/**
 * The render ledger in the database of the embedded service. The queue's rows stand there too, so that a render whose `open` was
 * lost in a crash is still found as queued.
 */
import type { Instant } from '@platen/contract/brand.ts'
import { RENDER_ATTEMPTS_MAX } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { ClaimAnswer, Lease, RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { RenderRecord, RenderView } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import type { TemplateCode } from '@platen/contract/tenant.ts'
import type { Row } from './connection.ts'
import { type Database, integerIn, prune, textIn } from './database.ts'

const OPEN = `INSERT INTO render (id, template, accepted_at, status, dated) VALUES (?1, ?2, ?3, 'queued', ?3)
  ON CONFLICT DO NOTHING`
const CLAIM = `UPDATE render SET status = 'running', attempts = attempts + 1, owner = ?2, lease_until = ?3 + ?4
  WHERE id = ?1 AND outcome IS NULL AND attempts < ?5 AND (owner IS NULL OR owner = ?2 OR lease_until <= ?3)
  RETURNING attempts`
const STATE = `SELECT status, attempts, owner, lease_until FROM render WHERE id = ?`
const RENEW = `UPDATE render SET lease_until = ?1 WHERE id = ?2 AND attempts = ?3 AND owner = ?4 RETURNING id`
const SETTLE = `INSERT INTO render (id, template, accepted_at, status, attempts, outcome, dated) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET status = excluded.status, attempts = excluded.attempts, outcome = excluded.outcome,
    dated = excluded.dated, owner = NULL, lease_until = NULL
  WHERE render.outcome IS NULL`
const FIND = `SELECT template, accepted_at, status, attempts, outcome FROM render WHERE id = ?`
const FIND_QUEUED = `SELECT record FROM queue WHERE id = ?`
const TAKE_BACK = `UPDATE render SET owner = NULL, lease_until = NULL WHERE owner IS NOT NULL`
const PRUNE = `DELETE FROM render WHERE id IN (SELECT id FROM render WHERE dated < ? LIMIT ?) RETURNING id`

export interface SqliteRenderLedger extends RenderLedger {
  /** Forgets renders that ended before then, and those accepted before then that never did. Safe to cut short. */
  prune(before: Instant, signal: AbortSignal): Promise<void>
}

/**
 * The ledger in an open database; one a database, opened when nobody renders: whoever held a claim was a process that had the
 * database before and is dead, so all claims are free at once.
 */
export function sqliteRenderLedger(database: Database, clock: Clock): SqliteRenderLedger {
  database.post([{ sql: TAKE_BACK }])
  return {
    async open(record, signal) {
      signal.throwIfAborted()
      database.post([opening(record)])
    },
    async claim(record, lease, signal) {
      const now = clock.now()
      const { owner, leaseMs } = lease
      const claiming = { sql: CLAIM, values: [record.id, owner, now, leaseMs, RENDER_ATTEMPTS_MAX] }
      const command = [opening(record), claiming, { sql: STATE, values: [record.id] }]
      const [, granted = [], [state] = []] = await database.run(command, signal)
      if (granted[0] === undefined) return refusal(state, lease, now)
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
    async settle({ render, attempt, outcome }, signal) {
      const { id, template, acceptedAt } = render
      const { status, finishedAt } = outcome
      const values = [id, template.code, acceptedAt, status, attempt, JSON.stringify(outcome), finishedAt]
      await database.run([{ sql: SETTLE, values }], signal)
    },
    async find(id, signal) {
      const command = [
        { sql: FIND, values: [id] },
        { sql: FIND_QUEUED, values: [id] },
      ]
      const [[known] = [], [queued] = []] = await database.run(command, signal)
      return known !== undefined ? viewIn(known, id) : queued && queuedView(JSON.parse(textIn(queued, 'record')))
    },
    prune: (before, signal) => prune(database, { sql: PRUNE, before }, signal),
  }
}

function opening({ id, template, acceptedAt }: RenderRecord) {
  return { sql: OPEN, values: [id, template.code, acceptedAt] }
}

/** Why a claim changed nothing, in the state it left. */
function refusal(state: Row | undefined, { owner }: Lease, now: Instant): ClaimAnswer {
  const status = textIn(state, 'status')
  if (status === 'succeeded' || status === 'failed') return { kind: 'settled' }
  const isHeld = typeof state?.['owner'] === 'string' && state['owner'] !== owner
  const until = isHeld ? integerIn(state, 'lease_until') : now
  return until > now ? { kind: 'held', until } : { kind: 'exhausted', attempts: integerIn(state, 'attempts') }
}

function viewIn(row: Row, id: RenderId): RenderView {
  return { id, template: codeIn(row), acceptedAt: integerIn(row, 'accepted_at'), state: stateIn(row) }
}

function stateIn(row: Row): RenderView['state'] {
  if (row['outcome'] !== null) return JSON.parse(textIn(row, 'outcome'))
  const attempt = integerIn(row, 'attempts')
  return attempt > 0 ? { status: 'running', attempt } : { status: 'queued' }
}

function queuedView({ id, template, acceptedAt }: RenderRecord): RenderView {
  return { id, template: template.code, acceptedAt, state: { status: 'queued' } }
}

function codeIn(row: Row): TemplateCode {
  // Written by `opening` and `settle`, from a template code.
  return textIn(row, 'template') as TemplateCode
}
