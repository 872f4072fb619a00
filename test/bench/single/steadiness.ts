/** How much documents differ in how long they take: over a thousand of them, beside a crowd, and at the first of a template. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import { html, manifestOf, template, tsx } from '../../fixture/manifests.ts'
import { poll } from '../../time/poll.ts'
import { render, request } from '../../topology/service.ts'
import { contend } from '../child.ts'
import { HTML, invoiceData, TSX } from '../invoice.ts'
import { type Contender, type Figure, quantile, race } from '../measure.ts'
import { MEASURED_LIVE, startMeasured, syncRenders } from '../service.ts'
import { watchMachine } from './machine.ts'

const SLOTS = 2

/** So many at any scale: the worst of a hundred is another thing than the worst of a thousand. */
const DOCUMENTS = 1000
const CROWD = 500
/** A page and what fills it are warm sooner than V8 has compiled react-pdf. With more, a browser would retire in the measured part. */
const WARM_UP = { html: 300, react_pdf: 1000 } as const

export async function* steadiness(): AsyncGenerator<Figure> {
  for (const engine of ['html', 'react_pdf'] as const) yield* spread(engine)
  for (const engine of ['html', 'react_pdf'] as const) yield* crowded(engine)
}

/** The worst of a thousand is one accident. The mean of the ten worst says more of the service, and differs less between two runs. */
async function* spread(engine: Engine): AsyncGenerator<Figure> {
  await using service = await startMeasured(SLOTS)
  const sync = syncRenders(service, engine)
  const batch = { rows: 10, concurrency: 1 }
  await sync.run({ ...batch, count: WARM_UP[engine] })
  await using machine = await watchMachine()
  const { latenciesMs } = await sync.run({ ...batch, count: DOCUMENTS })
  const machineDid = await machine.said()
  const p95 = quantile(latenciesMs, 0.95)
  const worst = latenciesMs.toSorted((one, other) => other - one).slice(0, 10)
  const figure = (which: string, value: number, more = ''): Figure => ({
    name: `${engine}: ${which} of ${DOCUMENTS} documents ÷ p95`,
    detail: `${ms(value)} ÷ ${ms(p95)}${more}`,
    value: value / p95,
    target: { atMost: 2 },
  })
  yield figure('worst', Math.max(...worst), `; ${machineDid}`)
  yield figure('mean of the ten worst', worst.reduce((sum, each) => sum + each, 0) / worst.length)
}

/**
 * Sync renders of one tenant while another's async renders arrive, and while they wait in their hundreds. The first second is another thing
 * than the rest: in it they are accepted, and the threads that make them start.
 */
async function* crowded(engine: Engine): AsyncGenerator<Figure> {
  await using service = await startMeasured(SLOTS)
  const sync = syncRenders(service, engine)
  const batch = { rows: 10, concurrency: 1, count: 200 }
  await sync.run({ ...batch, count: WARM_UP[engine] })
  const alone = await sync.run(batch)
  await using crowd = await contend('raw/crowd.ts', [service.url(), engine])
  const arriving = crowd.run({ rows: 50, concurrency: CROWD, count: CROWD })
  const first = await latenciesOfASecond(sync)
  await arriving
  const beside = await sync.run(batch)
  const quiet = quantile(alone.latenciesMs, 0.95)
  const figure = (when: string, latenciesMs: readonly number[]): Figure => {
    const busy = quantile(latenciesMs, 0.95)
    const name = `${engine}: sync p95 ${when} ${CROWD} async renders ÷ alone`
    return { name, detail: `${ms(busy)} ÷ ${ms(quiet)}`, value: busy / quiet, target: { atMost: 1.5 } }
  }
  yield figure('in the first second of', first)
  yield figure('beside', beside.latenciesMs)
}

async function latenciesOfASecond(contender: Contender): Promise<readonly number[]> {
  const latencies: number[] = []
  for (const endsAt = performance.now() + 1000; performance.now() < endsAt; ) {
    latencies.push(...(await contender.run({ rows: 10, concurrency: 1, count: 1 })).latenciesMs)
  }
  return latencies
}

/** The first render of each of many templates beside later ones, in a process that has long been rendering. */
export async function* firstRenders(scale: number): AsyncGenerator<Figure> {
  await using service = await startMeasured(SLOTS)
  const names = Array.from({ length: Math.ceil(40 * scale) }, (_, at) => `own-${at}`)
  const templates = names.map((name) =>
    template('measured', name, { ...tsx(`${TSX}\n// ${name}`), ...html(`${HTML}<!-- ${name} -->`) }),
  )
  await writeFile(join(service.manifestsDir, 'own.yaml'), manifestOf(templates))
  const list = () => request(service, { key: MEASURED_LIVE, path: '/api/v1/templates' })
  await poll(list).until(({ body }) => names.every((name) => Buffer.from(body).includes(`"${name}"`)))
  for (const engine of ['html', 'react_pdf'] as const) {
    await race([syncRenders(service, engine)], { rows: 10, concurrency: 1, count: 1, rounds: 1, warmUp: 300 })
    const times = { first: new Array<number>(), warm: new Array<number>() }
    for (const name of names) {
      const body = { template: name, engine, data: invoiceData(10) }
      for (const which of ['first', 'warm', 'warm', 'warm'] as const) {
        const beganAt = performance.now()
        const { status } = await render(service, MEASURED_LIVE, body)
        if (status !== 200) throw new Error(`the answer has the status ${status}`)
        times[which].push(performance.now() - beganAt)
      }
    }
    const [first, warm] = [quantile(times.first, 0.5), quantile(times.warm, 0.5)]
    yield {
      name: `${engine}: first render of a template ÷ later ones`,
      detail: `${ms(first)} ÷ ${ms(warm)}`,
      value: first / warm,
      target: { atMost: 2 },
    }
  }
}

function ms(value: number | undefined): string {
  return `${(value ?? Number.NaN).toFixed(1)} ms`
}
