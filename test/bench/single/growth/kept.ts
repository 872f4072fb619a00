/**
 * What requests and a start of the embedded service cost with a thousand renders kept, and with a million. `GROWTH=long` takes ten million.
 * The services of all sizes are measured in turns.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathOfKey } from '@platen/adapters/fs/manifest-folder.ts'
import { manifestKey } from '@platen/contract/domain/render.ts'
import { parseRenderId, type RenderId } from '@platen/contract/domain/render-id.ts'
import { platenWith } from '../../../cli/command.ts'
import { poll } from '../../../time/poll.ts'
import { type EmbeddedService, startEmbedded } from '../../../topology/embedded.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../../../topology/receiver.ts'
import { ended, render, request, submit } from '../../../topology/service.ts'
import { invoiceData } from '../../invoice.ts'
import { cpuMsOf, type Figure, quantile } from '../../measure.ts'
import { CROWDING_LIVE, MEASURED_LIVE, publishMeasured, settingsFor } from '../../service.ts'
import { type Filling, fillDatabase, filledIds, fillNames } from './fill.ts'
import { grouped, rounded, tableOf } from './table.ts'

const SIZES = process.env['GROWTH'] === 'long' ? [1000, 10_000_000] : [1000, 100_000, 1_000_000]
const ROUNDS = 3
const REQUESTS = 100
/** Renders that expire while the service is away. */
const EXPIRED = 200
/** Renders of a tenant that is erased. */
const ERASED = 20
/** Of what is filled, so old that half of the renders are newer. */
const FAR_MS = 15 * 24 * 3_600_000
/** With so many more, each step of a tree is one more, and the processor's caches hold less of it. */
const RATIO_MAX = 2

const ORDER = { template: 'invoice', data: invoiceData(10), reference: 'order-7', metadata: { order: '7' } }

const TIMES = {
  start: 'start after a kill, ms',
  startCpu: 'its CPU, ms',
  accept: 'accept an async render, ms',
  sync: 'a sync render of ten rows, ms',
  status: 'status, ms',
  pdf: 'PDF, ms',
  list: 'list: the newest 100, ms',
  far: 'list: 100 behind half of all, ms',
  template: 'list: of a template, ms',
  reference: 'list: of a reference, ms',
  few: 'list: the failed, of which there are none, ms',
  deliveries: 'list of deliveries, ms',
  usage: 'usage, ms',
  remove: 'delete, ms',
  expire: 'retention, for each expired render, ms',
  erase: 'erase a tenant of 20 renders, ms',
} as const
type Times = Record<keyof typeof TIMES, number[]>

/** Requests without a body, by the row that they are in. */
const PATHS: Partial<Record<keyof Times, string>> = {
  list: '/api/v1/renders?limit=100',
  far: `/api/v1/renders?limit=100&created_before=${new Date(Date.now() - FAR_MS).toISOString()}`,
  template: '/api/v1/renders?limit=100&template=invoice',
  reference: '/api/v1/renders?limit=100&reference=order-7',
  few: '/api/v1/renders?limit=100&status=failed',
  deliveries: '/api/v1/deliveries?limit=100',
  usage: '/api/v1/usage',
}

interface Kept extends AsyncDisposable {
  readonly service: EmbeddedService
  readonly filling: Filling
  readonly times: Times
}

export async function* kept(scale: number): AsyncGenerator<Figure> {
  await using stack = new AsyncDisposableStack()
  const all: Kept[] = []
  for (const count of SIZES) all.push(stack.use(await filled(count)))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const each of all) await measure(each, Math.ceil((REQUESTS * scale) / ROUNDS))
  for (const each of all) await expire(each)
  const bytes = all.map(({ filling: { path, count } }) => rounded(statSync(path).size / count))
  const rows = (Object.keys(TIMES) as (keyof Times)[]).map((name) => [
    TIMES[name],
    ...all.map(({ times }) => rounded(quantile(times[name], 0.5))),
  ])
  const head = ['renders kept', ...SIZES.map(grouped)]
  process.stdout.write(tableOf(head, [['bytes of SQLite for each', ...bytes], ...rows]))
  const [few, many] = [all[0], all.at(-1)]
  for (const [name, label] of Object.entries(TIMES) as [keyof Times, string][]) {
    const [least = Number.NaN, most = Number.NaN] = [few, many].map((one) => quantile(one?.times[name] ?? [], 0.5))
    yield {
      name: `${grouped(SIZES.at(-1) ?? 0)} renders kept ÷ ${grouped(SIZES[0] ?? 0)}: ${label}`,
      detail: `${rounded(most)} ÷ ${rounded(least)}`,
      value: most / least,
      target: { atMost: RATIO_MAX },
    }
  }
}

/** A service with so many renders, stopped. */
async function filled(count: number): Promise<Kept> {
  await using stack = new AsyncDisposableStack()
  const settings = { ...settingsFor(1), ...LOOPBACK_ALLOWED, PLATEN_LOG_LEVEL: 'info', PLATEN_CHROMIUM: 'none' }
  const service = stack.use(await startEmbedded(settings))
  await publishMeasured(service)
  const receiver = stack.use(await aReceiver())
  const first = await submit(service, MEASURED_LIVE, { ...ORDER, webhook_url: `${receiver.url}/` })
  await ended(service, MEASURED_LIVE, first)
  await receiver.until(1)
  await service.stop()
  const id = parseRenderId(first)
  if (id === undefined) throw new Error('the service answers with an id')
  const filling = { path: join(service.dataDir, 'platen.db'), id, count, now: Date.now() }
  fillDatabase(filling)
  const bucket = join(service.dataDir, 'artifacts', 'platen')
  const manifestOf = (one: RenderId) => join(bucket, pathOfKey(manifestKey(one)))
  fillNames(manifestOf(id), Iterator.from(filledIds(filling)).map(manifestOf))
  // Half of the renders are of one tenant, whose folder has a folder for each. Names of a file are as many, and take no inodes.
  const own = Iterator.from(filledIds(filling)).filter((_, at) => at % 2 === 1)
  fillNames(
    manifestOf(id),
    own.map((one) => join(bucket, 'measured', one)),
  )
  const none = Object.keys(TIMES).map((name) => [name, new Array<number>()])
  const owned = stack.move()
  // Each name has its list.
  const times = Object.fromEntries(none) as Times
  return { service, filling, times, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function measure({ service, times }: Kept, count: number): Promise<void> {
  times.start.push(await timed(() => service.start()))
  times.startCpu.push(cpuMsOf([service.pid()]))
  const get = (path: string) => async () => {
    const { status } = await request(service, { key: MEASURED_LIVE, path })
    if (status !== 200) throw new Error(`${path}: ${status}`)
  }
  const renderNow = async () => {
    const { status } = await render(service, MEASURED_LIVE, { ...ORDER, mode: 'sync' })
    if (status !== 200) throw new Error(`a sync render: ${status}`)
  }
  const ids: string[] = []
  const accept = async () => void ids.push(await submit(service, MEASURED_LIVE, ORDER))
  for (let at = 0; at < count; at += 1) times.accept.push(await timed(accept))
  for (const id of ids) await ended(service, MEASURED_LIVE, id)
  for (const id of ids) {
    times.status.push(await timed(get(`/api/v1/render/${id}`)))
    times.pdf.push(await timed(get(`/api/v1/render/${id}/pdf`)))
    times.sync.push(await timed(renderNow))
    for (const [name, path] of Object.entries(PATHS) as [keyof Times, string][])
      times[name].push(await timed(get(path)))
  }
  for (const id of ids) {
    const call = { key: MEASURED_LIVE, path: `/api/v1/render/${id}`, method: 'DELETE' }
    times.remove.push(await timed(async () => void (await request(service, call))))
  }
  await service.kill()
}

/** Lets the oldest expire while the service is away, and starts it. Then erases a tenant that has few renders. */
async function expire({ service, filling, times }: Kept): Promise<void> {
  {
    using database = new DatabaseSync(filling.path)
    database.exec(`UPDATE render SET expires_at = 1 WHERE id IN (SELECT id FROM render ORDER BY id LIMIT ${EXPIRED})`)
  }
  await service.start()
  const taken = await timed(() => poll(() => service.log()).until((log) => log.includes('expired data removed')))
  times.expire.push(taken / EXPIRED)
  for (let at = 0; at < ERASED; at += 1)
    await ended(service, CROWDING_LIVE, await submit(service, CROWDING_LIVE, ORDER))
  await service.stop()
  const erase = async () => {
    const { code, out, err } = await platenWith({ PLATEN_DATA_DIR: service.dataDir }, ...ERASE)
    if (code !== 0 || !out.includes(`${ERASED} renders erased`)) throw new Error(`${out}${err}`)
  }
  times.erase.push(await timed(erase))
}

const ERASE = ['erase', 'tenant', 'crowding', '--embedded']

async function timed(task: () => Promise<unknown>): Promise<number> {
  const begunAt = performance.now()
  await task()
  return performance.now() - begunAt
}
