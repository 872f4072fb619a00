/** What a well-behaved tenant has beside one that means harm: its sync renders beside each attack of the corpus, and alone. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ATTACKER_LIVE, attackerDocuments, openAttacker } from '../../hostile/neighbour/attacker.ts'
import { ATTACKS } from '../../hostile/neighbour/corpus.ts'
import { TEMPLATES } from '../../hostile/neighbour/source.ts'
import { rssOf, treeOf } from '../../soak/process-tree.ts'
import { poll } from '../../time/poll.ts'
import { startEmbedded } from '../../topology/embedded.ts'
import { freePorts } from '../../topology/server/port.ts'
import { render } from '../../topology/service.ts'
import type { Figure } from '../measure.ts'
import { quantile } from '../measure.ts'
import { publishMeasured, settingsFor, syncRenders } from '../service.ts'

const SLOTS = 2
const WARM_UP = 200
const COUNT_MIN = 40
/** What an answer may wait for the main thread. */
const DELAY_S_MAX = { p99: 0.05, max: 0.25 }
/** The metric is of four minutes at most. */
const START_WAITS_MAX = 13
/** Between two looks at the memory. */
const LOOK_EVERY_MS = 500
/** What a browser that retires, and a thread that is worn, take to be gone. */
const REST_MS = 20_000

/** On the embedded topology, where everything is one process: what one tenant costs there, the others have less of. */
export async function* neighbours(scale: number): AsyncGenerator<Figure> {
  const metricsPort = await freePorts(1)
  await using service = await startEmbedded({ ...settingsFor(SLOTS), PLATEN_METRICS_PORT: `${metricsPort}` })
  await publishMeasured(service, attackerDocuments(TEMPLATES))
  await poll(() => render(service, ATTACKER_LIVE, { template: 'plain', data: {} })).until(
    ({ status }) => status === 200,
  )
  const contender = syncRenders(service, 'react_pdf')
  const some = async (count: number) => (await contender.run({ rows: 10, count, concurrency: 1 })).latenciesMs
  const pages = syncRenders(service, 'html')
  const clean = async () => {
    await Promise.all([contender, pages].map((each) => each.run({ rows: 10, count: WARM_UP, concurrency: SLOTS })))
  }
  const cleanBytes = await peakOf(service.pid(), clean)
  const delays = { p99: { name: '', value: 0 }, max: { name: '', value: 0 } }
  const look = async (name: string) => {
    for (const which of ['p99', 'max'] as const) {
      const value = await delayOf(which, metricsPort)
      if (value > delays[which].value) delays[which] = { name, value }
    }
  }
  // A start loads modules, which is no attack's doing.
  for (let waits = 0; waits < START_WAITS_MAX && (await delayOf('max', metricsPort)) > DELAY_S_MAX.max; waits++)
    await sleep(REST_MS)
  let attackedBytes = 0
  const attacks = ATTACKS.filter((_, at) => at % Math.round(1 / scale) === 0)
  for (const { name, begin } of attacks) {
    const alone = await some(COUNT_MIN)
    const beside: number[] = []
    const over = new AbortController()
    const bytes = await peakOf(service.pid(), async () => {
      await using attacker = openAttacker(service)
      const attack = begin(attacker).then(() => over.abort())
      while (!over.signal.aborted || beside.length < COUNT_MIN) beside.push(...(await some(1)))
      await attack
    })
    attackedBytes = Math.max(attackedBytes, bytes)
    const [aloneMs, besideMs] = [alone, beside].map((latencies) => quantile(latencies, 0.95))
    yield {
      name: `sync p95 beside ${name} ÷ alone`,
      detail: `${besideMs?.toFixed(1)} ÷ ${aloneMs?.toFixed(1)} ms of ${beside.length}`,
      value: (besideMs ?? 0) / (aloneMs ?? 0),
      target: { atMost: 2 },
    }
    await look(name)
  }
  for (const which of ['p99', 'max'] as const)
    yield {
      name: `delay of the event loop, ${which}, s`,
      detail: `highest after ${delays[which].name}`,
      value: delays[which].value,
      target: { atMost: DELAY_S_MAX[which] },
    }
  await sleep(REST_MS)
  const laterBytes = await peakOf(service.pid(), clean)
  for (const [when, bytes] of [
    ['beside all attacks', attackedBytes],
    ['under a clean load after them', laterBytes],
  ] as const)
    yield {
      name: `highest memory ${when} ÷ under a clean load before`,
      detail: `${mib(bytes)} ÷ ${mib(cleanBytes)} MiB`,
      value: bytes / cleanBytes,
      target: { atMost: 1.5 },
    }
}

const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(0)

/** The most memory that a process and all below it had while something went on. */
async function peakOf(pid: number, action: () => Promise<void>): Promise<number> {
  const over = new AbortController()
  const done = action().finally(() => over.abort())
  let peak = 0
  while (!over.signal.aborted) {
    peak = Math.max(peak, rssOf(treeOf(pid)))
    await sleep(LOOK_EVERY_MS)
  }
  await done
  return peak
}

async function delayOf(of: 'p99' | 'max', port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(new RegExp(`^platen_event_loop_delay_${of}_seconds (.*)$`, 'm').exec(text)?.[1])
}
