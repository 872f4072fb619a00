/** Tenants whose receivers hang, and one whose receivers do not. */
import { setImmediate } from 'node:timers/promises'
import type { Delivery } from '@platen/contract/domain/delivery.ts'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { WebhookSender } from '@platen/contract/port/webhook-sender.ts'
import { NO_TRACER } from '@platen/lib/tracer.ts'
import { expect, test } from 'vitest'
import { aDelivery, aTenant, NEVER, NOON, SILENT } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { type ManualClock, manualClock } from '../../../test/fixture/memory/clock.ts'
import { memoryDeliveryLog } from '../../../test/fixture/memory/delivery-log.ts'
import { memoryEventLog } from '../../../test/fixture/memory/event-log.ts'
import { seededIds } from '../../../test/fixture/memory/ids.ts'
import { runDispatcher } from './dispatcher.ts'

/** What a sender gives a receiver. */
const HANGS_MS = 10_000
const STEP_MS = 250

const named = (id: string) => aTenant({ id: id as TenantId, account: id })

/** A dispatcher whose receivers hang, except those of `vera`. */
function sceneOf(tenants: readonly string[], clock: ManualClock) {
  const deliveries = memoryDeliveryLog(clock)
  /** When each attempt of a delivery began. */
  const begun = new Map<string, number[]>()
  const sender: WebhookSender = {
    async post({ url, headers }) {
      const id = headers['webhook-id'] ?? ''
      begun.set(id, [...(begun.get(id) ?? []), clock.now()])
      if (url.includes('vera')) return { result: 'ok', statusCode: 200 }
      await clock.sleep(HANGS_MS, NEVER)
      return { result: 'timeout', message: 'it took too long' }
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
  const known = new Map([...tenants, 'vera'].map(named).map((tenant) => [tenant.id, tenant]))
  const uncounted = () => undefined
  const ports = {
    events: memoryEventLog(),
    deliveries,
    artifacts: memoryArtifactStore(),
    serviceBucket: 'platen',
    directory: { current: () => ({ revision: 1, tenants: known, keys: new Map(), templates: new Map() }) },
    sender,
    meter: { dispatching: uncounted, begun: uncounted, deferred: uncounted, attempted: uncounted, ended: uncounted },
    clock,
    ids: seededIds('a'),
    tracer: NO_TRACER,
    log: SILENT,
  }
  const secret = 'service_webhook_of-acme-in-tests'
  const settings = { brand: 'service', retriesMax: 5, signingSecretsOf: () => ({ oldest: secret, all: [secret] }) }
  const stop = new AbortController()
  const ended = runDispatcher(ports, settings, stop.signal)
  const schedule = async (tenant: string, urls: readonly string[]): Promise<Delivery[]> => {
    const { id: name, account } = named(tenant)
    const due = urls.map((url) => aDelivery({ tenant: name, account, url, createdAt: clock.now() }))
    await deliveries.schedule(due, NEVER)
    await setImmediate()
    return due
  }
  const end = async () => {
    stop.abort()
    await clock.advance(HANGS_MS)
    await ended
  }
  return { deliveries, begun, schedule, end }
}

test.for([
  { tenants: 1, hosts: 80, each: 4400, inTurn: false },
  { tenants: 2, hosts: 80, each: 2200, inTurn: false },
  { tenants: 8, hosts: 100, each: 560, inTurn: true },
  { tenants: 100, hosts: 44, each: 44, inTurn: false },
])(
  '$tenants tenants with $each deliveries to $hosts receivers that hang (in turn: $inTurn) delay no first attempt of another',
  async ({ tenants, hosts, each, inTurn }) => {
    const clock = manualClock(NOON)
    const names = Array.from({ length: tenants }, (_, at) => `mallory-${at}`)
    const { deliveries, begun, schedule, end } = sceneOf(names, clock)
    const hanging: Delivery[] = []
    const urlOf = (name: string, number: number) => `https://h${number % hosts}.${name}.example/hook`
    // Either tenant after tenant, so that each finds what those before have left, or all of them together.
    const part = inTurn ? 70 : each
    for (let from = 0; from < each; from += part) {
      for (const name of names) {
        const urls = Array.from({ length: part }, (_, at) => urlOf(name, from + at))
        hanging.push(...(await schedule(name, urls)))
      }
    }
    const waits: number[] = []
    for (let step = 0; step < 40; step++) {
      for (let at = 0; at < 4; at++) {
        const name = names[(step * 4 + at) % names.length] ?? ''
        hanging.push(...(await schedule(name, [urlOf(name, step * 4 + at)])))
      }
      const own = await schedule('vera', ['https://a.vera.example/hook', 'https://b.vera.example/hook'])
      const createdAt = clock.now()
      // It counts as a second when nothing has begun after that long.
      for (let ms = 0; ms < 1000 && own.some(({ id }) => !begun.has(id)); ms += STEP_MS) await clock.advance(STEP_MS)
      waits.push(...own.map(({ id }) => (begun.get(id)?.[0] ?? clock.now()) - createdAt))
      await clock.advance(STEP_MS)
    }
    expect(waits.filter((ms) => ms >= 1000)).toEqual([])
    const records = await Promise.all(hanging.map(({ id }) => deliveries.find(id, NEVER)))
    // Nothing is lost: each was called, and is called again, or still waits for its first call.
    expect(records.filter((record) => record === undefined || record.status === 'delivered')).toEqual([])
    const attempts = records.map((record) => record?.attempts.map(({ startedAt }) => startedAt) ?? [])
    expect(attempts).toEqual(hanging.map(({ id }, at) => begun.get(id)?.slice(0, attempts[at]?.length) ?? []))
    expect(attempts.every((times) => times.every((time, at) => time > (times[at - 1] ?? 0)))).toBe(true)
    await end()
  },
)
