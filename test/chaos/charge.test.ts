/** kill -9 while renders are charged: a tenant pays exactly for its succeeded renders, and every outcome has exactly one event. */
import { EventEmitter, once } from 'node:events'
import { watch } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import { decodeManifest, type EndedManifest, type Manifest } from '@platen/contract/domain/render.ts'
import { expect, test } from 'vitest'
import { html, key, manifestOf, plan, template, tenant, tsx, UNLIMITED } from '../fixture/manifests.ts'
import { IS_LONG } from '../run/form.ts'
import { type EmbeddedService, startEmbedded } from '../topology/embedded.ts'
import { ended, published, render } from '../topology/service.ts'

const COUNTED_LIVE = `service_live_${'C'.repeat(43)}`
const COUNTED_TEST = `service_test_${'C'.repeat(43)}`
const MULTIPLIER = 5
const SENDERS = 6

const PAGE = `
import { Document, Page, Text } from '@react-pdf/renderer'
export default function Letter({ data }) { return <Document><Page><Text>{data.text.trim()}</Text></Page></Document> }
`
const RESOURCES = [
  plan('counted', { ...UNLIMITED, htmlEngineRenderMultiplier: MULTIPLIER }),
  tenant('counted', 'counted'),
  key('counted', 'live', COUNTED_LIVE),
  key('counted', 'test', COUNTED_TEST),
  template('counted', 'letter', { ...tsx(PAGE), ...html('<p>{{ text }}</p>') }),
]

/** Answers that callers got before the process died. */
interface Outcomes {
  /** Renders answered 202. */
  readonly accepted: { readonly id: string; readonly secret: string }[]
  /** Renders answered with their PDF. */
  readonly answered: string[]
  /** Renders answered with a failure: some requests have data that does not suit the template. */
  readonly failed: string[]
  /** Emits `answer` for each answer. */
  readonly answers: EventEmitter
}

/** Sends one render after the other, alternating all kinds, until the connection breaks. */
async function send(service: EmbeddedService, outcomes: Outcomes, first: number): Promise<void> {
  for (let index = first; ; index++) {
    const secret = index % 11 === 0 ? COUNTED_TEST : COUNTED_LIVE
    const mode = index % 2 === 0 ? 'sync' : 'async'
    const data = index % 7 === 0 ? { text: 7 } : { text: `letter ${index}` }
    const body = { template: 'letter', data, mode, engine: index % 3 === 0 ? 'html' : 'react_pdf' }
    const answer = await render(service, secret, body).catch(() => undefined)
    // The connection broke with the process, so nothing was promised.
    if (answer === undefined) return
    const id = answer.headers.get('x-service-render-id') ?? ''
    if (answer.status === 202) outcomes.accepted.push({ id: String(answer.json()['render_id']), secret })
    else if (answer.status === 200) outcomes.answered.push(id)
    else if (answer.status === 500) outcomes.failed.push(id)
    else throw new Error(`${answer.status}: ${Buffer.from(answer.body).toString()}`)
    outcomes.answers.emit('answer')
  }
}

interface Moment {
  readonly name: string
  until(service: EmbeddedService, outcomes: Outcomes): Promise<void>
}

/** More moments for the long form. The short form kills after a written manifest, too. */
const LONG_MOMENTS: readonly Moment[] = [
  { name: 'the first manifest was written', until: (service) => whenWritten(service, 1) },
  { name: 'many manifests were written', until: (service) => whenWritten(service, 40) },
]
/** Moments at which to kill. Each is a number of events and not a time. */
const MOMENTS: readonly Moment[] = [
  { name: 'a manifest was written', until: (service) => whenWritten(service, 7) },
  { name: 'a sync caller was answered', until: (_, outcomes) => untilOutcome(outcomes, 'answered', 9) },
  { name: 'a render was accepted', until: (_, outcomes) => untilOutcome(outcomes, 'accepted', 20) },
  { name: 'a sync render failed', until: (_, outcomes) => untilOutcome(outcomes, 'failed', 2) },
  ...(IS_LONG ? LONG_MOMENTS : []),
]

function foldersOf({ dataDir }: EmbeddedService): { manifests: string; database: string } {
  return { manifests: join(dataDir, 'artifacts/platen/manifest-by-hour'), database: join(dataDir, 'platen.db') }
}

/** Resolves right after `count` manifests were written. The steps that follow the last manifest are then still to be done. */
async function whenWritten(service: EmbeddedService, count: number): Promise<void> {
  const seen = new Set<string | null>()
  const { promise, resolve } = Promise.withResolvers<void>()
  const watcher = watch(foldersOf(service).manifests, { recursive: true }, (_, file) => {
    if (file?.endsWith('.json') && seen.add(file).size === count) resolve()
  })
  await promise
  watcher.close()
}

async function untilOutcome(outcomes: Outcomes, kind: 'accepted' | 'answered' | 'failed', more: number): Promise<void> {
  const count = outcomes[kind].length + more
  while (outcomes[kind].length < count) await once(outcomes.answers, 'answer')
}

async function manifestsOf(service: EmbeddedService): Promise<Map<string, Manifest>> {
  const folder = foldersOf(service).manifests
  const read = async (file: string) => decodeManifest(await readFile(join(folder, file)))
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.json'))
  const manifests = await Promise.all(files.map(read))
  return new Map(manifests.map((manifest) => [manifest.render.id, manifest]))
}

test(`under ${MOMENTS.length} kills, what is charged is what succeeded, and each end is told once`, async () => {
  await using service = await startEmbedded()
  await writeFile(join(service.manifestsDir, 'counted.yaml'), manifestOf(RESOURCES))
  await published(service, COUNTED_LIVE, 'letter')
  // Renders once with each engine, so that both engines and the folder of manifests exist.
  for (const engine of ['html', 'react_pdf']) {
    const { headers } = await render(service, COUNTED_LIVE, { template: 'letter', data: { text: 'first' }, engine })
    await ended(service, COUNTED_LIVE, String(headers.get('x-service-render-id')))
  }
  const outcomes: Outcomes = { accepted: [], answered: [], failed: [], answers: new EventEmitter() }
  for (const [round, moment] of MOMENTS.entries()) {
    const reached = moment.until(service, outcomes)
    const senders = Array.from({ length: SENDERS }, (_, at) => send(service, outcomes, round * 1000 + at * 100))
    await Promise.race([reached, Promise.all(senders)])
    await service.kill()
    await Promise.all(senders)
    await service.start()
  }
  for (const { id, secret } of outcomes.accepted) await ended(service, secret, id)
  expect(await service.stop()).toBe(0)

  const manifests = await manifestsOf(service)
  const due = [...manifests.values()].filter((manifest): manifest is EndedManifest => manifest.kind === 'ended')
  const succeeded = due.filter(({ outcome }) => outcome.status === 'succeeded')
  const paid = succeeded.filter(({ render }) => render.environment === 'live')
  using database = new DatabaseSync(foldersOf(service).database, { readOnly: true })
  const charges = database.prepare('SELECT id, units FROM charge').all()
  expect(charges.map(({ id }) => String(id)).toSorted()).toEqual(paid.map(({ render }) => render.id).toSorted())
  const units = paid.map(({ render }) => (render.engine === 'html' ? MULTIPLIER : 1))
  expect(sum(charges.map((row) => Number(row['units'])))).toBe(sum(units))

  const events = database.prepare('SELECT event FROM event').all()
  const appended = events.map((row) => JSON.parse(String(row['event'])) as RenderEvent)
  const ends = appended.map(({ manifest }) => manifest)
  expect(ends.map(({ render }) => render.id).toSorted()).toEqual(due.map(({ render }) => render.id).toSorted())
  for (const { id, manifest } of appended)
    expect({ ...manifest, eventId: id }).toEqual(manifests.get(manifest.render.id))

  expect(outcomes.accepted.filter(({ id }) => !manifests.has(id))).toEqual([])
  // All kinds must have occurred, or the sums would prove little.
  for (const engine of ['html', 'react_pdf'])
    for (const mode of ['sync', 'async'])
      expect(paid.filter(({ render }) => render.engine === engine && render.mode === mode).length).toBeGreaterThan(5)
  expect(manifests.size - succeeded.length).toBeGreaterThan(5)
  expect(succeeded.length - paid.length).toBeGreaterThan(2)
})

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
