/** A tenant that behaves, and what it must not feel of one beside it that means harm. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StatusRecord } from '@platen/contract/schema/response.ts'
import { messageOf } from '@platen/lib/thrown.ts'
import { expect } from 'vitest'
import {
  html,
  key,
  liveKey,
  liveOf,
  manifestOf,
  plan,
  template,
  tenant,
  tsx,
  UNLIMITED,
} from '../../fixture/manifests.ts'
import { poll } from '../../time/poll.ts'
import { ended, published, render, request, statusOf, submit, type TestedService } from '../../topology/service.ts'
import {
  ATTACKER_LIVE,
  type Attack,
  attackerDocuments,
  NEIGHBOUR_LIVE,
  openAttacker,
  type SyncRender,
} from './attacker.ts'
import { TEMPLATES } from './source.ts'

const ROUNDS_MIN = 3
const LAST_NAME_CHARS = 1000
/** Slots of the service for each engine. */
export const SLOTS = 2
/** Of so many that wait, most come after: those before are the fair share, and what the other slot makes meanwhile. */
const ASYNC_CROWD_MIN = 100
const SYNC_CROWD_MIN = 20

const LETTER = {
  ...tsx(
    "import { Document, Page, Text } from '@react-pdf/renderer'\nexport default ({ data }) => <Document><Page><Text>{data.name}</Text></Page></Document>",
  ),
  ...html('<p>{{ name }}</p>'),
  variablesSchema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
}

const neighbourDocuments = (...keys: readonly string[]) => [
  plan('quiet', { ...UNLIMITED, renderTimeoutSeconds: 60 }),
  tenant('neighbour', 'quiet'),
  key('neighbour', 'live', NEIGHBOUR_LIVE),
  ...keys.map((name) => liveKey('neighbour', liveOf(name), name)),
  template('neighbour', 'letter', LETTER),
]

/** Both tenants, and spare keys of the one that behaves. */
export const bothTenants = (...keys: readonly string[]) =>
  manifestOf([...attackerDocuments(TEMPLATES), ...neighbourDocuments(...keys)])

/** Resolves when the templates of both are in force. Any of them may still be checked when the service says that it is ready. */
export async function inForce(service: TestedService): Promise<void> {
  await published(service, NEIGHBOUR_LIVE, 'letter')
  for (const code of Object.keys(TEMPLATES)) await published(service, ATTACKER_LIVE, code)
}

/** Says beside which attacks something failed. */
export const beside = (attacks: readonly Attack[]) => (cause: unknown) => {
  throw new Error(`beside ${attacks.map(({ name }) => name).join(' + ')}: ${messageOf(cause)}`, { cause })
}

export const letter = (name: string) => ({ template: 'letter', data: { name } })

/**
 * Rejects where the neighbour feels anything of these attacks: its renders all end well, none waits for a crowd, and a key of this name,
 * which it takes back, is refused.
 */
export async function watchBeside(service: TestedService, attacks: readonly Attack[], spare: string): Promise<void> {
  const statusWith = async () => (await request(service, { key: liveOf(spare), path: '/api/v1/templates' })).status
  const withKeys = (...names: readonly string[]) =>
    writeFile(join(service.manifestsDir, 'all.yaml'), bothTenants(...names))
  await withKeys(spare)
  await poll(statusWith).until((status) => status === 200)
  await using attacker = openAttacker(service)
  const over = new AbortController()
  const attacking = Promise.all(attacks.map(({ begin }) => begin(attacker))).then(() => over.abort())
  const [records, crowds]: [StatusRecord[], SyncCrowd[]] = [[], []]
  const watch = async () => {
    for (let count = 0, isLast = false; !isLast; count++) {
      isLast = count + 1 >= ROUNDS_MIN && over.signal.aborted
      // The last one is larger than those before, so that room which they gave back is too little for it.
      const name = isLast ? `${count}`.padStart(LAST_NAME_CHARS, '0') : `${count}`
      for (const engine of ['react_pdf', 'html'] as const) {
        const body = { ...letter(name), engine }
        const before = attacker.waiting().filter((other) => other.engine === engine)
        const answer = await render(service, NEIGHBOUR_LIVE, body)
        expect([engine, answer.status, Buffer.from(answer.body).toString('latin1', 0, 5)]).toEqual([
          engine,
          200,
          '%PDF-',
        ])
        crowds.push({ waiting: before, ahead: before.filter(({ status }) => status !== undefined) })
        const record = await ended(service, NEIGHBOUR_LIVE, await submit(service, NEIGHBOUR_LIVE, body))
        expect(record).toMatchObject({ status: 'succeeded' })
        records.push(record)
      }
    }
  }
  const revoke = async () => {
    await withKeys()
    await poll(statusWith).until((status) => status === 401)
  }
  await Promise.all([watch(), revoke()])
  await attacking
  for (const { waiting, ahead } of crowds.map(renderedOf))
    if (waiting >= SYNC_CROWD_MIN) expect(ahead).toBeLessThan(waiting / 2)
  const others = await Promise.all(attacker.ids.map((id) => statusOf(service, ATTACKER_LIVE, id)))
  for (const { waiting, ahead } of records.map((record) => crowdOf(others, record)))
    if (waiting >= ASYNC_CROWD_MIN) expect(ahead).toBeLessThan(waiting / 2)
}

/** Sync renders that waited when one was sent; and of them those that were answered before it. */
interface SyncCrowd {
  readonly waiting: readonly SyncRender[]
  readonly ahead: readonly SyncRender[]
}

/** Of them, those that were rendered. A 504 says only that their time was over, for all at once and wherever they stood in the queue. */
function renderedOf({ waiting, ahead }: SyncCrowd): { waiting: number; ahead: number } {
  const isRendered = ({ status }: SyncRender) => status === 200
  return { waiting: waiting.filter(isRendered).length, ahead: ahead.filter(isRendered).length }
}

/** Of these renders, those that waited when one was accepted; and of them those that ended before it. */
function crowdOf(records: readonly StatusRecord[], own: StatusRecord): { waiting: number; ahead: number } {
  const [from, to = ''] = [own.created_at, own.finished_at]
  const waiting = records.filter(({ created_at: at, finished_at: end = '~' }) => at < from && end > from)
  return { waiting: waiting.length, ahead: waiting.filter(({ finished_at: end = '~' }) => end < to).length }
}
