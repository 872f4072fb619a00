/**
 * A well-behaved tenant beside one that means harm: its renders all end well, none waits for a crowd, and a key
 * that it takes back is refused. `make hostile` tries every attack, one after the other; else some of them are tried, four at once.
 */
import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StatusRecord } from '@platen/contract/schema/answer.ts'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { shuffled } from '../chaos/cluster/series.ts'
import { seeded } from '../chaos/cluster/trial/random.ts'
import { html, key, liveKey, liveOf, manifestOf, plan, template, tenant, tsx } from '../fixture/manifests.ts'
import {
  ATTACKER_LIVE,
  type Attack,
  attackerDocuments,
  NEIGHBOUR_LIVE,
  openAttacker,
} from '../hostile/neighbour/attacker.ts'
import { ATTACKS } from '../hostile/neighbour/corpus.ts'
import { TEMPLATES } from '../hostile/neighbour/source.ts'
import { IS_LONG } from '../run/form.ts'
import { until } from '../time/until.ts'
import { ended, render, request, statusOf, submit, type TestedService } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'

const ROUNDS_MIN = 3
const AT_ONCE = IS_LONG ? 1 : 4
/** On each topology: on both together a third of the corpus. */
const TRIALS = 7
const SLOTS = 2
/** Of so many that wait, most come after: those before are the fair share, and what the other slot makes meanwhile. */
const CROWD_MIN = 100

const LETTER = {
  ...tsx(
    "import { Document, Page, Text } from '@react-pdf/renderer'\nexport default ({ data }) => <Document><Page><Text>{data.name}</Text></Page></Document>",
  ),
  ...html('<p>{{ name }}</p>'),
  variablesSchema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
}

const neighbourDocuments = (...keys: readonly string[]) => [
  plan('quiet', {
    htmlEngineEnabled: true,
    htmlRateLimitPerMinute: 100_000,
    syncRateLimitPerMinute: 100_000,
    asyncRateLimitPerMinute: 100_000,
    renderTimeoutSeconds: 60,
  }),
  tenant('neighbour', 'quiet'),
  key('neighbour', 'live', NEIGHBOUR_LIVE),
  ...keys.map((name) => liveKey('neighbour', liveOf(name), name)),
  template('neighbour', 'letter', LETTER),
]

const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31))
process.stdout.write(`the seed is ${seed}; again with SEED=${seed}\n`)

interface Trial {
  readonly name: string
  /** None where it is not one for this topology. */
  readonly attacks: readonly Attack[]
}

/** In the long form each attack is a trial of its own; else the seed chooses those of each. */
function trials(): readonly Trial[] {
  const applies = ({ isByResources = false }: Attack) => inject('topology') === 'embedded' || !isByResources
  if (IS_LONG) return ATTACKS.map((attack) => ({ name: attack.name, attacks: [attack].filter(applies) }))
  const chosen = shuffled(ATTACKS.filter(applies), seeded(seed))
  return Array.from({ length: TRIALS }, (_, at) => ({
    name: `attacks of the seed, trial ${at + 1}`,
    attacks: chosen.slice(at * AT_ONCE, (at + 1) * AT_ONCE),
  }))
}

let service: TestedService
beforeAll(async () => {
  const text = manifestOf([...attackerDocuments(TEMPLATES), ...neighbourDocuments()])
  service = await startService({ PLATEN_RENDER_SLOTS: `${SLOTS}` }, text)
  await until(
    () => render(service, ATTACKER_LIVE, { template: 'plain', data: {} }),
    ({ status }) => status === 200,
  )
})
afterAll(() => service[Symbol.asyncDispose]())

const withKeys = (...names: readonly string[]) =>
  writeFile(
    join(service.manifestsDir, 'all.yaml'),
    manifestOf([...attackerDocuments(TEMPLATES), ...neighbourDocuments(...names)]),
  )

async function statusWith(name: string): Promise<number> {
  return (await request(service, { key: liveOf(name), path: '/api/v1/templates' })).status
}

/** A sync and an async render of each engine, all of which end well. */
async function round(count: number): Promise<readonly StatusRecord[]> {
  const body = { template: 'letter', data: { name: `${count}` } }
  const records: StatusRecord[] = []
  for (const engine of ['react_pdf', 'html'] as const) {
    const answer = await render(service, NEIGHBOUR_LIVE, { ...body, engine })
    expect([engine, answer.status, Buffer.from(answer.body).toString('latin1', 0, 5)]).toEqual([engine, 200, '%PDF-'])
    const record = await ended(service, NEIGHBOUR_LIVE, await submit(service, NEIGHBOUR_LIVE, { ...body, engine }))
    expect(record).toMatchObject({ status: 'succeeded' })
    records.push(record)
  }
  return records
}

/** Of these renders, those that waited when one was accepted; and of them those that ended before it. */
function crowdOf(records: readonly StatusRecord[], own: StatusRecord): { waiting: number; ahead: number } {
  const [from, to = ''] = [own.created_at, own.finished_at]
  const waiting = records.filter(({ created_at: at, finished_at: end = '~' }) => at < from && end > from)
  return { waiting: waiting.length, ahead: waiting.filter(({ finished_at: end = '~' }) => end < to).length }
}

describe('beside a tenant that means harm, a neighbour is served, and what it takes back is taken back', () => {
  test.for(trials().map((trial) => [trial.name, trial] as const))('%s', async ([, { attacks }], { skip }) => {
    const [first] = attacks
    if (first === undefined) return skip()
    const spare = `spare-${ATTACKS.indexOf(first)}`
    await withKeys(spare)
    await until(
      () => statusWith(spare),
      (status) => status === 200,
    )
    await watchBeside(attacks, spare).catch((cause: unknown) => {
      throw new Error(`beside ${attacks.map(({ name }) => name).join(' + ')}`, { cause })
    })
  })
})

async function watchBeside(attacks: readonly Attack[], spare: string): Promise<void> {
  await using attacker = openAttacker(service)
  const over = new AbortController()
  const attacking = Promise.all(attacks.map(({ begin }) => begin(attacker))).then(() => over.abort())
  const records: StatusRecord[] = []
  const watch = async () => {
    for (let count = 0; count < ROUNDS_MIN || !over.signal.aborted; count++) records.push(...(await round(count)))
  }
  const revoke = async () => {
    await withKeys()
    await until(
      () => statusWith(spare),
      (status) => status === 401,
    )
  }
  await Promise.all([watch(), revoke()])
  await attacking
  const others = await Promise.all(attacker.ids.map((id) => statusOf(service, ATTACKER_LIVE, id)))
  for (const { waiting, ahead } of records.map((record) => crowdOf(others, record)))
    if (waiting >= CROWD_MIN) expect(ahead).toBeLessThan(waiting / 2)
}
