/** How much documents differ in how long they take: over a thousand of them, beside a crowd, and at the first of a template. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from '@platen/contract/render-options.ts'
import { html, manifestOf, template, tsx } from '../../fixture/manifests.ts'
import { poll } from '../../time/poll.ts'
import { ended, render, request, submit } from '../../topology/service.ts'
import { HTML, invoiceData, TSX } from '../invoice.ts'
import { type Figure, quantile, race } from '../measure.ts'
import { CROWDING_LIVE, MEASURED_LIVE, startMeasured, syncRenders } from '../service.ts'

const SLOTS = 2

export async function* steadiness(scale: number): AsyncGenerator<Figure> {
  await using service = await startMeasured(SLOTS)
  for (const engine of ['html', 'react_pdf'] as const) {
    const [own] = await race([syncRenders(service, engine)], {
      rows: 10,
      concurrency: 1,
      count: Math.ceil(1000 * scale),
      rounds: 1,
      warmUp: 300,
    })
    const [p95, worst] = [quantile(own.latenciesMs, 0.95), Math.max(...own.latenciesMs)]
    yield {
      name: `${engine}: worst of ${own.latenciesMs.length} documents ÷ p95`,
      detail: `${ms(worst)} ÷ ${ms(p95)}`,
      value: worst / p95,
      target: { atMost: 2 },
    }
  }
  for (const engine of ['html', 'react_pdf'] as const) yield await crowded(service, engine, scale)
}

/** Sync renders of one tenant while another's async renders wait in their hundreds. */
async function crowded(
  service: Awaited<ReturnType<typeof startMeasured>>,
  engine: Engine,
  scale: number,
): Promise<Figure> {
  const batch = { rows: 10, concurrency: 1, count: Math.ceil(100 * scale), rounds: 1, warmUp: 50 }
  const [solo] = await race([syncRenders(service, engine)], batch)
  const body = { template: 'invoice', engine, data: invoiceData(50) }
  const queued = await Promise.all(Array.from({ length: 500 }, () => submit(service, CROWDING_LIVE, body)))
  const [beside] = await race([syncRenders(service, engine)], { ...batch, warmUp: 1 })
  // The next case must be alone on the machine again.
  for (const id of queued) await ended(service, CROWDING_LIVE, id)
  const [quiet, busy] = [solo, beside].map(({ latenciesMs }) => quantile(latenciesMs, 0.95))
  return {
    name: `${engine}: sync p95 beside 500 queued async renders ÷ alone`,
    detail: `${ms(busy)} ÷ ${ms(quiet)}`,
    value: (busy ?? 0) / (quiet ?? 0),
    target: { atMost: 1.5 },
  }
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
