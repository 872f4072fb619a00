/**
 * What the processes take, as the proportional share (PSS) of their trees: idle after a start, under load, and idle again when threads and
 * the browser have ended that nobody needs.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { ENGINES, type Engine } from '@platen/contract/domain/render-options.ts'
import { BROWSER_IDLE_MS_MAX } from '@platen/renderer/browser/limit.ts'
import { RENDER_THREAD_IDLE_MS } from '@platen/renderer/engine/limit.ts'
import { CHECK_THREADS_IDLE_MS } from '@platen/renderer/engine/template-checker.ts'
import { html, key, manifestOf, plan, template, tenant, tsx, UNLIMITED } from '../../../fixture/manifests.ts'
import type { Deployable } from '../../../topology/cluster/cluster.ts'
import { type ClusterService, startClusterService } from '../../../topology/cluster/service.ts'
import { type EmbeddedService, startEmbedded } from '../../../topology/embedded.ts'
import { startKafka } from '../../../topology/server/kafka.ts'
import { published, type Service } from '../../../topology/service.ts'
import { HTML, TSX } from '../../invoice.ts'
import type { Figure } from '../../measure.ts'
import { MEASURED_LIVE, settingsFor, syncRenders } from '../../service.ts'
import { highest, type Memory, memoriesDuring, memoryOf } from './tree.ts'

const SLOTS = 2
const ROWS = 50
const TEMPLATES = 5
const DOCUMENTS = 300
/** After it the threads and the browser have ended that no render has used. V8 tidies up a moment later. */
const REST_MS = Math.max(BROWSER_IDLE_MS_MAX, 2 * RENDER_THREAD_IDLE_MS) + 20_000

/** After it the threads have ended that checked the templates. */
const CHECKED_MS = CHECK_THREADS_IDLE_MS + 10_000

/** The embedded service: one that has only started, and beside it one that works and rests. */
export async function* embeddedMemory(scale: number): AsyncGenerator<Figure> {
  await using started = await startWithTemplates()
  await using worked = await startWithTemplates()
  // The threads that checked the templates take as much as the renders.
  await sleep(CHECKED_MS)
  const load = mixedRenders(worked, { documents: Math.ceil(DOCUMENTS * scale) })
  yield figure(
    'embedded, both engines, 2 at a time each: highest',
    650,
    highest(await memoriesDuring(worked.pid(), load)),
  )
  await sleep(REST_MS)
  yield figure(`embedded, idle after a start with ${TEMPLATES} templates`, 250, memoryOf(started.pid()))
  yield figure('embedded, idle after that load', 250, memoryOf(worked.pid()))
}

/** Mixed load for MINUTES, an hour for the figure of record: the highest of the last sixth beside the highest of the first. */
export async function* steadyMemory(scale: number): AsyncGenerator<Figure> {
  const minutes = Number(process.env['MINUTES'] ?? 3 * scale)
  await using service = await startWithTemplates()
  await sleep(CHECKED_MS)
  // What V8 compiles and what threads there are must have settled.
  await mixedRenders(service, { documents: DOCUMENTS })
  const over = AbortSignal.timeout(minutes * 60_000)
  const memories = await memoriesDuring(service.pid(), mixedRenders(service, { until: over }))
  const sixth = Math.ceil(memories.length / 6)
  const [first, last] = [highest(memories.slice(0, sixth)), highest(memories.slice(-sixth))]
  yield {
    name: `embedded, ${minutes} minutes of mixed load: last sixth ÷ first`,
    detail: `${last.mib.toFixed(0)} ÷ ${first.mib.toFixed(0)} MiB; ${last.detail}`,
    value: last.mib / first.mib,
    target: { atMost: 1.1 },
  }
}

/** The processes of a cluster, each on the options of its image. */
export async function* clusterMemory(scale: number): AsyncGenerator<Figure> {
  await using kafka = await startKafka({ isMeasured: true })
  await using service = await startClusterService(settingsFor(SLOTS), { kafka, manifests: manifestOf(resources()) })
  await published(service, MEASURED_LIVE, `invoice-${TEMPLATES - 2}`)
  // In the images all code is compiled before the first start.
  await mixedRenders(service, { documents: SLOTS })
  await service.stop()
  await service.start()
  const pids = pidsOf(service)
  const load = mixedRenders(service, { documents: Math.ceil(DOCUMENTS * scale) })
  const all = await Promise.all(pids.map(async ({ pid }) => highest(await memoriesDuring(pid, load))))
  for (const [at, { name, atMost }] of pids.entries()) {
    const memory = all[at]
    if (memory !== undefined) yield figure(`${name}, both engines, 2 at a time each: highest`, atMost, memory)
  }
}

function pidsOf(service: ClusterService) {
  const pidOf = (name: Deployable, at = 0) => service.processes(name)[at]?.pid() ?? 0
  // One renderer for each engine, in the order of `ENGINES`.
  return [
    { name: 'renderer of html', pid: pidOf('renderer', ENGINES.indexOf('html')), atMost: 350 },
    { name: 'renderer of react_pdf', pid: pidOf('renderer', ENGINES.indexOf('react_pdf')), atMost: 400 },
    { name: 'api', pid: pidOf('api'), atMost: 120 },
    { name: 'events', pid: pidOf('events'), atMost: 120 },
  ]
}

function figure(name: string, atMost: number, { mib, detail }: Memory): Figure {
  return { name: `${name}, MiB`, detail, value: mib, target: { atMost } }
}

async function startWithTemplates(): Promise<EmbeddedService> {
  const service = await startEmbedded(settingsFor(SLOTS), manifestOf(resources()))
  await published(service, MEASURED_LIVE, `invoice-${TEMPLATES - 2}`)
  return service
}

function resources(): readonly object[] {
  const names = ['invoice', ...Array.from({ length: TEMPLATES - 1 }, (_, at) => `invoice-${at}`)]
  return [
    plan('measured', { ...UNLIMITED, renderTimeoutSeconds: 60 }),
    tenant('measured', 'measured'),
    key('measured', 'live', MEASURED_LIVE),
    ...names.map((name) => template('measured', name, { ...tsx(TSX), ...html(HTML) })),
  ]
}

interface Load {
  /** Of each engine. */
  readonly documents?: number
  readonly until?: AbortSignal
}

/** Renders in both engines at the same time, two at a time in each. */
async function mixedRenders(service: Service, { documents = 1, until }: Load): Promise<void> {
  const work = async (engine: Engine) => {
    const contender = syncRenders(service, engine)
    const batch = { rows: ROWS, concurrency: SLOTS, count: until === undefined ? documents : 20 }
    await contender.run(batch)
    if (until !== undefined) while (!until.aborted) await contender.run(batch)
  }
  await Promise.all([work('html'), work('react_pdf')])
}
