/**
 * The dispatcher, from event to recorded delivery. Arguments: `backlog`, to measure how quickly it works off what is there when it begins,
 * the port of the good receivers, and their certificate for HTTPS; `steady`, to have it run all the while, that port, and those of bad
 * ones, by which 20 receivers more are served; or `cluster`, to have it run all the while, that port, and the servers as JSON. It is on
 * SQLite, as the embedded service composes it, and in a cluster on Kafka, S3 and Redis.
 */
import { webhookSender } from '@platen/adapters/http/webhook-sender.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { runDispatcher } from '@platen/events/webhook/dispatcher.ts'
import { parseCidrs } from '@platen/lib/address.ts'
import { NO_TRACER } from '@platen/lib/tracer.ts'
import { aManifest, anEvent, aRecord, aRenderId, aTenant } from '../../fixture/build.ts'
import { memoryArtifactStore } from '../../fixture/memory/artifact-store.ts'
import { at } from '../../topology/host.ts'
import { serve } from '../child.ts'
import { openClusterLogs, openEmbeddedLogs } from './logs.ts'
import { GOOD_RECEIVERS, secureUrlOf, urlOf } from './post.ts'

const BAD_RECEIVERS = 20
const DELIVERIES_PER_BAD_RECEIVER = 10
/** Fewer than may wait for the database. */
const APPENDED_AT_ONCE = 4000

const [mode, port, ...others] = process.argv.slice(2)
const good = Number(port)
const ca = mode === 'backlog' ? others[0] : undefined
const bad = mode === 'steady' ? others.map(Number) : []
const target = ca === undefined ? urlOf : secureUrlOf
const clock = systemClock()
const logs = mode === 'cluster' ? await openClusterLogs(JSON.parse(others[0] ?? '')) : await openEmbeddedLogs()
const tenants = [aTenant()]
const directory: DirectorySnapshot = {
  revision: 1,
  tenants: new Map(tenants.map((tenant) => [tenant.id, tenant])),
  keys: new Map(),
  templates: new Map(),
}
const policy = { isHttpAllowed: true, allowCidrs: parseCidrs('127.0.0.0/8') ?? [] }
const resolve = async () => [at('127.0.0.1')]
const sender = webhookSender({ clock, policy, ...(ca !== undefined && { ca: () => ca, resolve }) })

/** Of the batch under way. */
const begunAt = new Map<string, number>()
let latenciesMs: number[] = []
let left = 0
let over = Promise.withResolvers<void>()

const context = {
  ...logs,
  directory: { current: () => directory },
  sender: {
    async post(...call: Parameters<typeof sender.post>) {
      const answer = await sender.post(...call)
      const begun = begunAt.get(call[0].headers['webhook-id'] ?? '')
      if (begun !== undefined) latenciesMs.push(performance.now() - begun)
      return answer
    },
    [Symbol.asyncDispose]: () => sender[Symbol.asyncDispose](),
  },
  meter: {
    dispatching: () => undefined,
    begun: () => undefined,
    deferred: () => undefined,
    attempted: () => undefined,
    ended(status: string) {
      if (status !== 'delivered') return
      left -= 1
      if (left === 0) over.resolve()
    },
  },
  artifacts: memoryArtifactStore(),
  serviceBucket: 'platen',
  clock,
  tracer: NO_TRACER,
  ids: systemIds(),
  log: openLog({ level: 'error', process: 'test', instance: 'test' }),
}
const SECRET = 'a secret of some length'
const settings = { brand: 'service', retriesMax: 5, signingSecretsOf: () => ({ oldest: SECRET, all: [SECRET] }) }

function run(): AsyncDisposable {
  const stop = new AbortController()
  const running = runDispatcher(context, settings, stop.signal)
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

const steady = new AsyncDisposableStack()
if (mode !== 'backlog') steady.use(run())

async function append(url: string): Promise<string> {
  // As if it was accepted and had ended just now: ids are in the order of time, and its retention counts from there.
  const manifest = aManifest({ record: aRecord({ id: aRenderId(clock.now()), webhookUrl: url }) })
  const event = anEvent({ ...manifest, outcome: { ...manifest.outcome, finishedAt: clock.now() } })
  begunAt.set(event.id, performance.now())
  // A signal of its own: thousands that listen to one are searched at each call.
  await logs.events.append(event, new AbortController().signal)
  return event.id
}

const toBad = Array.from({ length: bad.length === 0 ? 0 : BAD_RECEIVERS * DELIVERIES_PER_BAD_RECEIVER }, (_, index) =>
  append(urlOf(index % BAD_RECEIVERS, bad[index % bad.length] ?? 0)),
)
for (const id of await Promise.all(toBad)) begunAt.delete(id)

serve(async ({ count }) => {
  latenciesMs = []
  left = count
  over = Promise.withResolvers()
  const beforeMs = performance.now()
  for (let begun = 0; begun < count; begun += APPENDED_AT_ONCE) {
    const length = Math.min(APPENDED_AT_ONCE, count - begun)
    await Promise.all(Array.from({ length }, (_, index) => append(target(index % GOOD_RECEIVERS, good))))
  }
  const startedAt = mode === 'backlog' ? performance.now() : beforeMs
  await using _running = mode === 'backlog' ? run() : undefined
  await over.promise
  return { elapsedMs: performance.now() - startedAt, latenciesMs, sample: new Uint8Array() }
})

async function leave(): Promise<void> {
  await steady.disposeAsync()
  await sender[Symbol.asyncDispose]()
  await logs[Symbol.asyncDispose]()
  process.exit()
}

process.once('disconnect', () => void leave())
