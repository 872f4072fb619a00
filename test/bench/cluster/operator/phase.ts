/** What is done to an operator that has much to look after, one thing after the other, and what each comes to. */
import { setTimeout as sleep } from 'node:timers/promises'
import { scanFields } from '@platen/adapters/redis/directory/layout.ts'
import type { KubeObject } from '@platen/operator/cluster/object.ts'
import { collectionOf } from '@platen/operator/reconcile/resource-view.ts'
import { NEVER } from '../../../fixture/build.ts'
import { cpuMsOf } from '../../measure.ts'
import { COMMON_PLAN, tenantOf } from './estate.ts'
import type { Seen } from './reader.ts'
import { now, rateOf, type Stand } from './stand.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const PAGE_OBJECTS = 500
const TENANTS = collectionOf('Tenant')
const WRITES = ['POST', 'PUT', 'PATCH', 'DELETE']

export interface Started {
  readonly leadingMs: number
  /** Until there was nothing to do. */
  readonly idleMs: number
  readonly statusWrites: number
  readonly requests: Readonly<Record<string, number>>
}

export async function startOn({ operator }: Stand): Promise<Started> {
  const begunAt = now()
  const [leadingAt, idleAt] = await Promise.all([operator.untilLeading(), operator.untilIdle(), operator.start()])
  const counts = await Promise.all(
    ['GET', ...WRITES].map(async (method) => {
      const count = await operator.count('rest_client_requests_total', `method="${method}"`)
      return [method, count] as const
    }),
  )
  const requests = Object.fromEntries(counts)
  return {
    leadingMs: leadingAt - begunAt,
    idleMs: idleAt - begunAt,
    statusWrites: requests['PATCH'] ?? Number.NaN,
    requests,
  }
}

/** The same, after Redis was emptied; and until all stands there again as it did. */
export async function startOnNothing(stand: Stand): Promise<Started & { readonly publishedMs: number }> {
  const last = stand.seen.at(-1)
  if (last === undefined) throw new Error('there is something to lose')
  await stand.redis.call((client) => client.flushall(), NEVER)
  const begunAt = now()
  const wanted = JSON.stringify(last.counts)
  const published = stand.untilSeen(({ at, counts }) => at > begunAt && JSON.stringify(counts) === wanted)
  const started = await startOn(stand)
  return { ...started, publishedMs: (await published).at - begunAt }
}

export interface Latencies {
  /** What the API server took for the change itself, in milliseconds. */
  readonly writtenMs: readonly number[]
  /** From the call to the API server until a process that follows Redis has it, in milliseconds. */
  readonly seenMs: readonly number[]
  /** Until its status says so. */
  readonly propagatedMs: readonly number[]
}

export interface Changes {
  readonly tenants: number
  readonly changes: number
  readonly perSecond: number
}

/** Changes one tenant after the other, so many a second. None is to have been changed before. */
export async function changeTenants(
  { client, seen: revisions, untilSeen }: Stand,
  { tenants, changes, perSecond }: Changes,
): Promise<Latencies> {
  const over = new AbortController()
  const untilPropagated = await followPropagated(client, over.signal)
  const one = async (change: number): Promise<readonly [number, number, number]> => {
    const name = tenantOf((change * 7919) % tenants)
    const limit = 1000 + change
    const since = revisions.length
    const begunAt = now()
    const patch = { spec: { overrides: { syncRateLimitPerMinute: limit } } }
    const { metadata } = await client.mergePatch({ ...TENANTS, name }, patch, NEVER)
    const writtenAt = now()
    const isSeen = ({ limits }: Seen) =>
      limits.some(([tenant, found]) => tenant === name && found.syncRateLimitPerMinute === limit)
    const seen = await untilSeen(isSeen, since)
    const propagatedAt = await untilPropagated(name, metadata.generation ?? 0)
    return [writtenAt - begunAt, seen.at - begunAt, propagatedAt - begunAt]
  }
  const all: Promise<readonly [number, number, number]>[] = []
  for (let change = 0; change < changes; change++) {
    all.push(one(change))
    await sleep(SECOND_MS / perSecond)
  }
  const latencies = await Promise.all(all)
  over.abort()
  return {
    writtenMs: latencies.map(([written]) => written),
    seenMs: latencies.map(([, seen]) => seen),
    propagatedMs: latencies.map(([, , propagated]) => propagated),
  }
}

/** Resolves when the status of a tenant first says that a generation is propagated. */
async function followPropagated(client: Stand['client'], signal: AbortSignal) {
  const { resourceVersion } = await client.list(TENANTS, { limit: 1 }, signal)
  const waiting = new Map<string, { readonly generation: number; readonly resolve: (at: number) => void }>()
  const known = new Map<string, readonly [generation: number, at: number]>()
  const follow = async () => {
    const options = { resourceVersion, timeoutSeconds: 3600 }
    for await (const event of client.watch(TENANTS, options, signal)) {
      if (event.type !== 'MODIFIED') continue
      const { name } = event.object.metadata
      const generation = propagatedGeneration(event.object)
      if ((known.get(name)?.[0] ?? 0) < generation) known.set(name, [generation, now()])
      const [wanted, at] = [waiting.get(name), known.get(name)?.[1] ?? 0]
      if (wanted !== undefined && generation >= wanted.generation) wanted.resolve(at)
    }
  }
  follow().catch(() => undefined)
  return (name: string, generation: number): Promise<number> => {
    const [found = 0, at = 0] = known.get(name) ?? []
    if (found >= generation) return Promise.resolve(at)
    return new Promise((resolve) => waiting.set(name, { generation, resolve }))
  }
}

function propagatedGeneration({ status }: KubeObject): number {
  const { conditions = [] } = (status ?? {}) as {
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly observedGeneration: number
    }[]
  }
  const propagated = conditions.find(({ type, status: holds }) => type === 'Propagated' && holds === 'True')
  return propagated?.observedGeneration ?? 0
}

export interface PlanChanged {
  readonly seenMs: number
  readonly propagatedMs: number
}

/** Changes the plan of all tenants, until each of them is told to have it. */
export async function changePlan(stand: Stand, tenants: number, limit: number): Promise<PlanChanged> {
  const begunAt = now()
  const plan = { ...collectionOf('Plan'), name: COMMON_PLAN }
  await stand.client.mergePatch(plan, { spec: { renderLimitMonthly: limit } }, NEVER)
  const changed = new Set<string>()
  const seen = await stand.untilSeen(({ at, limits }) => {
    if (at > begunAt)
      for (const [name, { renderLimitMonthly }] of limits) if (renderLimitMonthly === limit) changed.add(name)
    return changed.size === tenants
  })
  const propagatedAt = await untilPropagated(stand)
  return { seenMs: seen.at - begunAt, propagatedMs: propagatedAt - begunAt }
}

/** How long a pipeline takes that writes the settings of all tenants as they stand. */
export async function writeRaw({ redis }: Stand): Promise<number> {
  const texts = new Map<string, string>()
  for await (const fields of scanFields(redis, NEVER))
    for (const { kind, name, text } of fields) if (kind === 'tenants') texts.set(name, text)
  const begunAt = now()
  await redis.call((client) => {
    const pipeline = client.pipeline()
    for (const [name, text] of texts) pipeline.hset('bench', name, text)
    return pipeline.exec()
  }, NEVER)
  const elapsedMs = now() - begunAt
  await redis.call((client) => client.del('bench'), NEVER)
  return elapsedMs
}

/** How many statuses the API server takes a second: those of tenants as they are, each with one other word in it. Of an operator that is stopped. */
export async function rateOfStatusWrites({ client }: Stand, count: number): Promise<number> {
  const tenants: KubeObject[] = []
  let token: string | undefined
  do {
    const page = await client.list(TENANTS, { limit: PAGE_OBJECTS, continue: token }, NEVER)
    tenants.push(...page.items)
    token = page.continue
  } while (token !== undefined && tenants.length < count)
  return rateOf(tenants.slice(0, count), ({ apiVersion, kind, metadata: { name }, status }) => {
    const other = { ...(status as object), effective: { ...(status as Effective).effective, renderLimitMonthly: 7 } }
    const object = { apiVersion, kind, metadata: { name }, status: other }
    const at = { ...TENANTS, name, subresource: 'status' }
    return client.apply(at, { object, manager: 'platen-operator-status' }, NEVER)
  })
}

interface Effective {
  readonly effective: object
}

/**
 * Resolves when the operator has nothing to do and all is propagated, with the time at which that began. A write that has failed
 * is tried again after a rest, in which the operator seems to have nothing to do.
 */
export async function untilPropagated(stand: Stand): Promise<number> {
  const idleAt = await stand.operator.untilIdle()
  for (let at = idleAt; ; at = now()) {
    const late = await unpropagatedIn(stand)
    if (late.length === 0) return at
    if (at - idleAt > MINUTE_MS) throw new Error(`not propagated: ${late.slice(0, 10).join(', ')}`)
    await sleep(SECOND_MS)
  }
}

/** The resources that are not propagated, with their statuses. */
async function unpropagatedIn({ client }: Stand): Promise<readonly string[]> {
  const late: string[] = []
  for (const kind of ['Plan', 'Tenant', 'Template', 'ApiKey'] as const) {
    let token: string | undefined
    do {
      const page = await client.list(collectionOf(kind), { limit: PAGE_OBJECTS, continue: token }, NEVER)
      for (const item of page.items)
        if (propagatedGeneration(item) !== item.metadata.generation)
          late.push(`${kind} ${item.metadata.name} ${JSON.stringify(item['status'])}`)
      token = page.continue
    } while (token !== undefined)
  }
  return late
}

/** What share of a core it takes while nothing changes. */
export async function idleShare({ operator }: Stand, ms: number): Promise<number> {
  const before = cpuMsOf([operator.pid()])
  const begunAt = now()
  await sleep(ms)
  return (cpuMsOf([operator.pid()]) - before) / (now() - begunAt)
}
