/** The composition root of a renderer process: renders from Kafka, PDFs to S3, replies through Redis, outcomes to Kafka. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fallbackLimiter } from '@platen/adapters/fallback/limiter.ts'
import { fallbackRenderLedger } from '@platen/adapters/fallback/render-ledger.ts'
import { httpEgress } from '@platen/adapters/http/egress.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import { rendererMeter } from '@platen/adapters/prometheus/renderer.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { redisRenderList } from '@platen/adapters/redis/render-list.ts'
import { openRedisReplyChannel } from '@platen/adapters/redis/reply-channel.ts'
import { warnOfMissingLimits } from '@platen/adapters/setting/slots.ts'
import { limitMainThreadOnly } from '@platen/adapters/system/heap.ts'
import { forceStopSignal } from '@platen/adapters/system/run.ts'
import { REPLY_CALL_MS_MAX } from '@platen/contract/domain/limit.ts'
import type { RendererMeter } from '@platen/contract/port/renderer-meter.ts'
import { beginWithSettings, type DataPlane, openDataPlane } from '@platen/process/data-plane.ts'
import { type Process, runProcess, serveUntilStopped } from '@platen/process/process.ts'
import { type Config, SETTINGS } from './config.ts'
import { type Engines, openEngines } from './engine/open-engines.ts'
import { openRenderer, type Renderer } from './service.ts'
import { syncSlotsOf } from './worker/slots.ts'

/** The kind of thread task of each engine. Above `serve`, which runs while this module is still loading. */
const TASK_OF = { react_pdf: 'react_pdf', html: 'fill' } as const

if (import.meta.main) await runProcess({ deployable: 'renderer', settings: SETTINGS, variables: process.env }, serve)

/**
 * Renders until the process is stopped. Then the running renders end, or the drain time is over, and the queue gives the rest to others.
 */
async function serve(own: Process<Config>): Promise<void> {
  // First: browser and threads start while this process connects to Kafka.
  const engines = await beginEngines(own)
  const base = await openDataPlane(own)
  const { config, log, redis, kafka, topics, directory, metrics, dependencies, serviceBucket, starting, stop, stack } =
    base
  const replyLine = stack.use(await redis.duplicate(REPLY_CALL_MS_MAX, starting))
  const running: { renderer?: Renderer } = {}
  const isChromiumUp = () => running.renderer?.states().html === 'running'
  const meter = rendererMeter(metrics, {
    tenants: config.tenantsCounted,
    dependencies,
    ...(config.engines.includes('html') && { isChromiumUp }),
  })
  engines.measure(meter)
  const queue = stack.use(openQueue(base, meter))
  const renderer = stack.use(
    openRenderer({
      ports: {
        ...base,
        queue,
        events: kafkaEventLog(kafka, topics),
        ledger: fallbackRenderLedger(redisRenderLedger(redis), { ...base, list: redisRenderList(redis) }),
        limiter: fallbackLimiter({ ...base, limiter: redisLimiter(redis) }),
        replies: stack.use(await openRedisReplyChannel(replyLine, starting)),
        meter,
      },
      worker: {
        owner: randomUUID(),
        serviceBucket,
        eventKey: () => own.latest().eventKey,
        lanes: config.lanes,
      },
      engines,
      servedEngines: config.engines,
      forceStop: forceStopSignal(stop, { drainMs: config.drainMs, log }),
    }),
  )
  running.renderer = renderer
  void beginWithSettings(base, () => renderer.start())
  const statesOf = () => {
    const states = renderer.states()
    return config.engines.map((engine) => [engine, states[engine]] as const)
  }
  const health = {
    isReady() {
      const [states, settings] = [statesOf(), directory.state()]
      const ready = settings.isReady && states.every(([, state]) => state === 'running')
      return { ready, detail: { engines: Object.fromEntries(states), directory: settings } }
    },
    isAlive: () => queue.isAlive() && statesOf().every(([, state]) => state !== 'dead'),
  }
  await serveUntilStopped(base, health, { engines: config.engines, lanes: config.lanes })
}

async function beginEngines(own: Process<Config>): Promise<Engines> {
  const { config, stack } = own
  limitMainThreadOnly()
  const kinds = config.engines.map((engine) => TASK_OF[engine])
  const engines = stack.use(await openEngines({ ...own, ...(await engineSettings(own)), kinds }))
  if (!config.engines.includes('html')) return engines
  if (engines.openHtml === undefined) {
    throw new Error('PLATEN_ENGINES has html, but no Chromium was found: set PLATEN_CHROMIUM to its path')
  }
  // The worker of the engine reports the failure.
  engines.openHtml().catch(() => undefined)
  return engines
}

function openQueue({ kafka, topics, config }: DataPlane<Config>, meter: RendererMeter) {
  return kafkaRenderQueue(kafka, {
    ...topics,
    lanes: config.lanes,
    deadLettered: () => meter.deadLettered('unreadable'),
  })
}

/** Browser profiles need a folder of this process alone, because it is emptied at start. */
async function engineSettings({ config, clock, log, stack }: Process<Config>) {
  const { renderSlots, lanes, chromium, egressAllowCidrs } = config
  const { count } = renderSlots
  warnOfMissingLimits(renderSlots, log)
  const profileDir = await mkdtemp(join(tmpdir(), 'platen-renderer-'))
  stack.defer(() => rm(profileDir, { recursive: true, force: true }))
  const slots = count + syncSlotsOf(count + 1, lanes)
  return { slots, profileDir, chromium, egress: httpEgress({ clock, allowCidrs: egressAllowCidrs }) }
}
