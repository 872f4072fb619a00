/** What a well-behaved tenant has beside one that means harm: its sync renders beside each attack of the corpus, and alone. */
import { ATTACKER_LIVE, attackerDocuments, openAttacker } from '../../hostile/neighbour/attacker.ts'
import { ATTACKS } from '../../hostile/neighbour/corpus.ts'
import { TEMPLATES } from '../../hostile/neighbour/source.ts'
import { until } from '../../time/until.ts'
import { startEmbedded } from '../../topology/embedded.ts'
import { freePorts } from '../../topology/server/free-port.ts'
import { render } from '../../topology/service.ts'
import type { Figure } from '../case.ts'
import { quantile } from '../measure.ts'
import { publishMeasured, settingsFor, syncRenders } from '../service.ts'

const SLOTS = 2
const WARM_UP = 200
const COUNT_MIN = 40

/** On the embedded topology, where everything is one process: what one tenant costs there, the others have less of. */
export async function* neighbours(scale: number): AsyncGenerator<Figure> {
  const metricsPort = await freePorts(1)
  await using service = await startEmbedded({ ...settingsFor(SLOTS), PLATEN_METRICS_PORT: `${metricsPort}` })
  await publishMeasured(service, attackerDocuments(TEMPLATES))
  await until(
    () => render(service, ATTACKER_LIVE, { template: 'plain', data: {} }),
    ({ status }) => status === 200,
  )
  const contender = syncRenders(service, 'react_pdf')
  const some = async (count: number) => (await contender.run({ rows: 10, count, concurrency: 1 })).latenciesMs
  await some(WARM_UP)
  const attacks = ATTACKS.filter((_, at) => at % Math.round(1 / scale) === 0)
  for (const { name, begin } of attacks) {
    const alone = await some(COUNT_MIN)
    const beside: number[] = []
    const over = new AbortController()
    {
      await using attacker = openAttacker(service)
      const attack = begin(attacker).then(() => over.abort())
      while (!over.signal.aborted || beside.length < COUNT_MIN) beside.push(...(await some(1)))
      await attack
    }
    const [aloneMs, besideMs] = [alone, beside].map((latencies) => quantile(latencies, 0.95))
    yield {
      name: `sync p95 beside ${name} ÷ alone`,
      detail: `${besideMs?.toFixed(1)} ÷ ${aloneMs?.toFixed(1)} ms of ${beside.length}`,
      value: (besideMs ?? 0) / (aloneMs ?? 0),
      target: { atMost: 2 },
    }
    for (const [of, atMost] of [
      ['p99', 0.05],
      ['max', 0.25],
    ] as const) {
      const value = await delayOf(of, metricsPort)
      if (value > atMost)
        yield {
          name: `event loop, ${of} after ${name}`,
          detail: 'seconds, of the last minutes',
          value,
          target: { atMost },
        }
    }
  }
}

async function delayOf(of: 'p99' | 'max', port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(new RegExp(`^platen_event_loop_delay_${of}_seconds (.*)$`, 'm').exec(text)?.[1])
}
