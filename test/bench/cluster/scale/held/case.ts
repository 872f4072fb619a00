/** What more renderer processes bring when each has a fixed share of a core, as pods have, so that they do not take it from each other. */
import { setTimeout as sleep } from 'node:timers/promises'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import { scrape, sumOf } from '../../../../chaos/cluster/signal/exposition.ts'
import type { ClusterService } from '../../../../topology/cluster/service.ts'
import { startKafka } from '../../../../topology/server/kafka.ts'
import { ended, submit } from '../../../../topology/service.ts'
import { invoiceData } from '../../../invoice.ts'
import type { Figure } from '../../../measure.ts'
import { MEASURED_LIVE } from '../../../service.ts'
import { startMeasuredCluster } from '../../case.ts'
import { holdTo, whyNotHeld } from './cgroup.ts'

/** Renders that each renderer makes before it is held: V8 compiles for hundreds of them. */
const WARM_UP = 100
/** Renders that wait for each renderer. Their partitions have more or fewer, so only a part is measured, while all are busy. */
const WAITING = 100
const MEASURED_FROM = 0.1
const MEASURED = 0.5
const LOOKED_EVERY_MS = 200
/** More than that at once, beside renderers that take all cores, and the API refuses some. */
const SUBMITTED_AT_ONCE = 32

interface Held {
  readonly renderers: number
  /** What each may use of a core. */
  readonly cores: number
}

export function twoRenderers(scale: number): AsyncGenerator<Figure> {
  return heldRenderers({ renderers: 2, cores: 1 / 2 }, { share: 'half a core', atLeast: 1.9, scale })
}

export function eightRenderers(scale: number): AsyncGenerator<Figure> {
  return heldRenderers({ renderers: 8, cores: 1 / 8 }, { share: 'an eighth of a core', atLeast: 7, scale })
}

interface Goal {
  readonly share: string
  readonly atLeast: number
  readonly scale: number
}

async function* heldRenderers(many: Held, { share, atLeast, scale }: Goal): AsyncGenerator<Figure> {
  const name = `async renders of 50 rows: ${many.renderers} renderers × one, ${share} each`
  const reason = whyNotHeld()
  if (reason !== undefined) {
    process.stdout.write(`skipped                ${name}: ${reason}\n`)
    return
  }
  const [together, alone] = await perSecond(many, scale)
  const detail = `${together.toFixed(1)}/s, ${alone.toFixed(1)}/s`
  yield { name, detail, value: together / alone, target: { atLeast } }
}

/** Renders a second of all renderers together, and then of one of them. */
async function perSecond({ renderers, cores }: Held, scale: number): Promise<readonly [number, number]> {
  using held = new DisposableStack()
  // One of its own: what is left in its queue is nobody's.
  await using kafka = await startKafka({ isMeasured: true })
  // As many partitions as the product creates.
  const settings = { PLATEN_KAFKA_PARTITIONS: '24' }
  await using service = await startMeasuredCluster(kafka, 1, { renderers, settings })
  // Before the service is closed: the end of a renderer that is still held takes its time.
  using limits = new DisposableStack()
  for (const id of await submitMany(service, WARM_UP * renderers)) await ended(service, MEASURED_LIVE, id)
  const all = service.processes('renderer')
  const holds = all.map((each) => limits.adopt(held.use(holdTo(cores, each.pid())), (hold) => hold.lift()))
  const each = Math.ceil(WAITING * scale)
  await submitMany(service, each * renderers)
  const together = await rateOf(all, each * renderers)
  for (const hold of holds.slice(1)) hold.lift()
  await Promise.all(all.slice(1).map((other) => other.stop()))
  await submitMany(service, each)
  return [together, await rateOf(all.slice(0, 1), each)]
}

type Renderers = ReturnType<ClusterService['processes']>

/** Renders a second of these renderers, while so many wait that all are busy. */
async function rateOf(renderers: Renderers, waiting: number): Promise<number> {
  const before = await madeBy(renderers)
  const from = await whenMade(renderers, before + waiting * MEASURED_FROM)
  const to = await whenMade(renderers, from.made + waiting * MEASURED)
  return ((to.made - from.made) * 1000) / (to.at - from.at)
}

async function submitMany(service: ClusterService, count: number): Promise<string[]> {
  const body = { template: 'invoice', engine: 'react_pdf', data: invoiceData(50) }
  const ids: string[] = []
  await forEachConcurrently(Array.from({ length: count }), SUBMITTED_AT_ONCE, async () => {
    ids.push(await submit(service, MEASURED_LIVE, body))
  })
  return ids
}

async function whenMade(renderers: Renderers, wanted: number): Promise<{ readonly at: number; readonly made: number }> {
  for (;;) {
    const made = await madeBy(renderers)
    if (made >= wanted) return { at: performance.now(), made }
    await sleep(LOOKED_EVERY_MS)
  }
}

async function madeBy(renderers: Renderers): Promise<number> {
  const read = await scrape(renderers)
  return read.reduce((sum, each) => {
    if (each === undefined) throw new Error('a renderer does not answer')
    return sum + (sumOf(each, 'platen_renders_ended_total{outcome="succeeded"}') ?? 0)
  }, 0)
}
