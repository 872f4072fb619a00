/**
 * From the start of the process to its first PDF, in each engine, on a new data folder and on one that was used before. Beside it, in
 * turns, a process that does the same with the bare library. Compiled code is there, as in an image: an unmeasured start keeps it.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ENGINES, type Engine } from '@platen/contract/domain/render-options.ts'
import { ACME_LIVE, manifests } from '../../fixture/manifests.ts'
import { startCluster } from '../../topology/cluster/cluster.ts'
import { COMPILED, type EmbeddedService, startEmbedded } from '../../topology/embedded.ts'
import { render } from '../../topology/service.ts'
import { contend } from '../child.ts'
import { type Figure, quantile } from '../measure.ts'

const ROUNDS = 5
/** After it, every thread has kept what it compiled. */
const REST_MS = 6000

const TARGETS_MS = { fresh: 1000, later: 600 } as const
const BARE = { react_pdf: ['raw/react-pdf.ts', []], html: ['raw/html.ts', ['warm']] } as const

export async function* start(scale: number): AsyncGenerator<Figure> {
  await measureStarts('react_pdf', REST_MS)
  for (const engine of ENGINES) {
    const rounds: Awaited<ReturnType<typeof measureStarts>>[] = []
    for (let round = 0; round < Math.ceil(ROUNDS * scale); round += 1) rounds.push(await measureStarts(engine))
    const median = (which: 'bare' | 'fresh' | 'later') =>
      quantile(
        rounds.map((times) => times[which]),
        0.5,
      )
    for (const which of ['fresh', 'later'] as const) {
      const folder = which === 'fresh' ? 'new data folder' : 'later start'
      const [time, bare] = [median(which), median('bare')]
      const detail = `${ms(time)}; bare ${ms(bare)}`
      yield {
        name: `${engine}, ${folder}: process to first PDF, ms`,
        detail,
        value: time,
        target: { atMost: TARGETS_MS[which] },
      }
      yield {
        name: `${engine}, ${folder}: × the bare library`,
        detail,
        value: time / bare,
        target: { atMost: which === 'fresh' ? 3 : 2 },
      }
    }
  }
}

async function measureStarts(engine: Engine, restMs = 0) {
  const bare = await timeOf(async () => {
    const [program, args] = BARE[engine]
    const library = await contend(program, args)
    await library.run({ rows: 1, count: 1, concurrency: 1 })
    return library
  })
  await bare.result[Symbol.asyncDispose]()
  const fresh = await timeOf(async () => {
    const service = await startEmbedded({ PLATEN_LOG_LEVEL: 'warn' })
    await renderOne(service, engine)
    return service
  })
  await using service = fresh.result
  await sleep(restMs)
  await service.stop()
  const later = await timeOf(async () => {
    await service.start()
    await renderOne(service, engine)
  })
  return { bare: bare.elapsedMs, fresh: fresh.elapsedMs, later: later.elapsedMs }
}

async function renderOne(service: EmbeddedService, engine: Engine): Promise<void> {
  const answer = await render(service, ACME_LIVE, { template: 'invoice', engine, data: { number: '1', rows: [] } })
  if (answer.status !== 200) throw new Error(`${answer.status}: ${Buffer.from(answer.body).toString()}`)
}

const POD_READY_MS = 1500

/** How long after its start a renderer of a cluster is ready. */
export async function* podStart(scale: number): AsyncGenerator<Figure> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-bench-'))
  await writeFile(join(folder, 'all.yaml'), manifests())
  await using cluster = await startCluster({
    settings: { PLATEN_LOG_LEVEL: 'warn', NODE_COMPILE_CACHE: COMPILED },
    manifestsDir: folder,
    dataDir: join(folder, 'data'),
    apiPorts: [0],
    engines: ENGINES,
  })
  await sleep(REST_MS)
  for (const [at, engine] of ENGINES.entries()) {
    const renderer = cluster.processes('renderer')[at]
    const times: number[] = []
    for (let round = 0; round < Math.ceil(ROUNDS * scale); round += 1) {
      await renderer?.stop()
      times.push((await timeOf(async () => await renderer?.start())).elapsedMs)
    }
    const value = quantile(times, 0.5)
    yield {
      name: `renderer of ${engine}: process to ready, ms`,
      detail: ms(value),
      value,
      target: { atMost: POD_READY_MS },
    }
  }
  await rm(folder, { recursive: true, force: true })
}

async function timeOf<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly elapsedMs: number }> {
  const beganAt = performance.now()
  const result = await work()
  return { result, elapsedMs: performance.now() - beganAt }
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`
}
