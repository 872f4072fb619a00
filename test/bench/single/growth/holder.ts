/** An API process with the settings of many tenants and templates, and memory in the place of all stores. It says what they cost. */
import { createHash } from 'node:crypto'
import { memoryDeliveryList } from '@platen/adapters/memory/delivery-log/delivery-list.ts'
import { memoryRenderEnds } from '@platen/adapters/memory/render-ledger/render-ends.ts'
import { memoryRenderList } from '@platen/adapters/memory/render-ledger/render-list.ts'
import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { memoryRenderQueue } from '@platen/adapters/memory/render-queue.ts'
import { memoryReplyChannel } from '@platen/adapters/memory/reply-channel.ts'
import { apiMeter } from '@platen/adapters/prometheus/api.ts'
import { openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { DEFAULT_TRAFFIC_LIMITS } from '@platen/adapters/setting/limit.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { buildApp } from '@platen/api/app.ts'
import { openBodyChecks } from '@platen/api/body/check/body-checks.ts'
import type { KeyHash, TemplateCode, TemplateDigest, TenantId } from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { NO_TRACER } from '@platen/lib/tracer.ts'
import { aTemplate, aTenant, SILENT } from '../../../fixture/build.ts'
import { liveOf, UNLIMITED } from '../../../fixture/manifests.ts'
import { memoryArtifactStore } from '../../../fixture/memory/artifact-store.ts'
import { memoryDeliveryLog } from '../../../fixture/memory/delivery-log.ts'
import { memoryLimiter } from '../../../fixture/memory/limiter.ts'
import { heapBytes, quantile } from '../../measure.ts'

export interface Holding {
  /** What the heap has grown by. */
  readonly bytes: number
  /** CPU of a request whose template was used just before, and of one whose template was not used before or long ago. */
  readonly warmMs: number
  readonly staleMs: number
}

const [tenants = 0, templates = 0, requests = 0] = process.argv.slice(2).map(Number)
const AT_ONCE = 100
const secretOf = (tenant: number) => liveOf(`t${tenant}t`)
const codeOf = (template: number) => `invoice-${template}` as TemplateCode
const clock = systemClock()

const before = heapBytes()
const directory = settingsOf()
const bytes = heapBytes() - before
await using checks = openBodyChecks(clock)
const app = buildApp(portsOn(directory))
process.once('disconnect', () => void app.close().then(() => process.exit()))
const batches = { warm: new Array<number>(), stale: new Array<number>() }
for (let done = 0; done < requests; done += AT_ONCE) {
  const some = Array.from({ length: AT_ONCE }, (_, at) => at + done)
  // Spread over all of them, so that each comes after as many others as there are.
  const spread = (at: number) => (at * 7919) % (tenants * templates)
  batches.stale.push(await cpuMsOfEach(some, (at) => accept(spread(at))))
  batches.warm.push(await cpuMsOfEach(some, (at) => accept(at % 2)))
}
// The first ones load and compile code.
const later = (times: readonly number[]) => quantile(times.slice(Math.ceil(times.length / 3)), 0.5)
process.send?.({ bytes, warmMs: later(batches.warm), staleMs: later(batches.stale) } satisfies Holding)

async function accept(number: number): Promise<void> {
  const payload = { template: codeOf(number % templates), mode: 'async', data: { field: 'x' } }
  const authorization = `Bearer ${secretOf(Math.floor(number / templates) % tenants)}`
  const answer = await app.inject({ method: 'POST', url: '/api/v1/render', headers: { authorization }, payload })
  if (answer.statusCode !== 202) throw new Error(answer.body)
}

async function cpuMsOfEach(all: readonly number[], task: (at: number) => Promise<void>): Promise<number> {
  const begun = process.cpuUsage()
  for (const at of all) await task(at)
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1000 / all.length
}

/** Brands are put on by what validates input; these are valid by being written here. */
function settingsOf(): DirectorySnapshot {
  const numbers = Array.from({ length: tenants }, (_, number) => number)
  const idOf = (number: number) => `tenant-${number}` as TenantId
  return {
    revision: 1,
    tenants: new Map(
      numbers.map((number) => [
        idOf(number),
        aTenant({ id: idOf(number), account: digest(`uid ${number}`).slice(0, 32), limits: UNLIMITED }),
      ]),
    ),
    keys: new Map(
      numbers.map((number) => {
        const hash = digest(secretOf(number)) as KeyHash
        return [hash, { hash, tenant: idOf(number), environment: 'live', suspended: false }]
      }),
    ),
    templates: new Map(
      numbers.map((number) => {
        const own = Array.from({ length: templates }, (_, at) => templateOf(idOf(number), codeOf(at)))
        return [idOf(number), new Map(own.map((template) => [template.code, template]))]
      }),
    ),
  }
}

/** With a schema of its own, of some 1.2 kB, as that of an invoice. */
function templateOf(tenant: TenantId, code: TemplateCode) {
  const others = Array.from({ length: 13 }, (_, at) => [
    `field${at}`,
    { type: 'string', maxLength: 200, description: `Field ${at} of ${tenant} and ${code}` },
  ])
  const properties = Object.fromEntries([['field', { type: 'string' }], ...others])
  const own = digest(`${tenant}/${code}`) as TemplateDigest
  return aTemplate({ tenant, code, digest: own, variablesSchema: { type: 'object', required: ['field'], properties } })
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function portsOn(snapshot: DirectorySnapshot): Parameters<typeof buildApp>[0] {
  const state = { isReady: true, revision: 1, isConnected: true, ageMs: 0, damaged: 0 }
  const list = memoryRenderList(clock)
  return {
    directory: { current: () => snapshot },
    limiter: memoryLimiter(clock),
    queue: { ...memoryRenderQueue(), enqueue: async () => undefined },
    ...memoryRenderEnds(memoryRenderLedger(clock)),
    list,
    artifacts: memoryArtifactStore(),
    replies: memoryReplyChannel(),
    deliveries: memoryDeliveryLog(clock),
    deliveryList: memoryDeliveryList(clock),
    checks,
    clock,
    ids: systemIds(),
    keys: () => [Buffer.alloc(32, 1)],
    log: SILENT,
    meter: apiMeter(openMetrics({ isRead: false, deployable: 'test' }), { directory: () => state }),
    tracer: NO_TRACER,
    engineStatus: () => 'available',
    isReady: () => ({ ready: true, detail: { revision: 1 } }),
    isAlive: () => true,
    settings: {
      brand: 'service',
      serviceBucket: 'platen',
      webhooks: { isHttpAllowed: false, allowCidrs: [] },
      traffic: { ...DEFAULT_TRAFFIC_LIMITS },
    },
  }
}
