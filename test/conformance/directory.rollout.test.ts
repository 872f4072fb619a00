/** Tests the directory in Redis while operators and readers have different versions, in any order of rollout. */
import type { RedisConnection } from '@platen/adapters/redis/connect.ts'
import { hashKey, readMeta } from '@platen/adapters/redis/directory/layout.ts'
import { KINDS, type Kind, type LaterFields } from '@platen/adapters/redis/directory/value.ts'
import { canonicalJson } from '@platen/contract/canonical-json.ts'
import { FORMAT, FORMAT_DEFAULT } from '@platen/contract/format.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { DEFAULT_LIMITS, type Limits, type Template, type Tenant } from '@platen/contract/tenant.ts'
import { expect, test } from 'vitest'
import { leftBy } from '../scenario/upgrade/left.ts'
import { fillRedis } from '../scenario/upgrade/restore.ts'
import { anAccount, aPublisher, aReader, aSnapshot, ofAccounts } from './directory-harness.ts'
import { describeOnRedis } from './redis-harness.ts'

const ACCOUNTS = [1, 2, 3]

/** The tenant of `anAccount(1)` as the first version wrote it. Readers of that version require all of these fields. */
const FIRST_VALUE =
  '{"incarnation":"incarnation-1","limits":{"asyncFairShare":4,"asyncRateLimitPerMinute":600,"htmlEngineEnabled":false,' +
  '"htmlEngineRenderMultiplier":1,"htmlRateLimitPerMinute":10,"javascriptEnabled":false,"renderTimeoutSeconds":25,' +
  '"retentionDays":30,"syncRateLimitPerMinute":60},"storage":{"bucket":"platen","prefix":"tenant-1/"},"suspended":false}'

const SECRETS = [{ sealed: 'old', until: 7 }, { sealed: 'new' }]

/** Builds the snapshot of an operator that does not know a limit. */
function without(limit: string): DirectorySnapshot {
  return withTenants((tenant) => {
    const known = Object.entries(tenant.limits).filter(([name]) => name !== limit)
    return { ...tenant, limits: Object.fromEntries(known) as unknown as Limits }
  })
}

/** Builds the snapshot of an operator that writes the engine of a template only if the template names one. */
function withoutEngine(): DirectorySnapshot {
  const snapshot = ofAccounts(1, ACCOUNTS)
  const unnamed = ({ engine: _engine, ...template }: Template) => template as Template
  const templates = [...snapshot.templates].map(([id, codes]) => [id, mapped(codes, unnamed)] as const)
  return { ...snapshot, templates: new Map(templates) }
}

/** Builds the snapshot of an operator that knows additional fields, at every depth. */
function withMore(): DirectorySnapshot {
  const more = <One extends object>(one: One): One => ({ ...one, invented: { deep: [1] }, inventedPerMinute: 5 })
  const snapshot = withTenants((tenant) =>
    more({
      ...tenant,
      limits: more(tenant.limits),
      storage: more(tenant.storage),
      webhookSecrets: SECRETS.map(more),
    }),
  )
  const templates = [...snapshot.templates].map(([id, codes]) => [id, mapped(codes, more<Template>)] as const)
  return { ...snapshot, keys: mapped(snapshot.keys, more), templates: new Map(templates) }
}

function withTenants(change: (tenant: Tenant) => Tenant): DirectorySnapshot {
  const snapshot = ofAccounts(1, ACCOUNTS)
  return { ...snapshot, tenants: mapped(snapshot.tenants, change) }
}

function mapped<Name, Value>(map: ReadonlyMap<Name, Value>, change: (value: Value) => Value): ReadonlyMap<Name, Value> {
  return new Map([...map].map(([name, value]) => [name, change(value)]))
}

/** The same settings as this version reads them. */
const KNOWN_OF_OLDER = withTenants((tenant) => tenant)
const KNOWN_OF_NEWER = withTenants((tenant) => ({ ...tenant, webhookSecrets: SECRETS }))

/** Any limit with a default may be unknown to an older operator. */
const OLDER = Object.keys(DEFAULT_LIMITS).map((limit) => {
  return [`an operator that does not know ${limit}`, without(limit), KNOWN_OF_OLDER] as const
})
const NEWER = ['an operator that knows more fields', withMore(), KNOWN_OF_NEWER] as const
const NAMELESS = ['an operator that writes no engine', withoutEngine(), KNOWN_OF_OLDER] as const
const OPERATORS = [...OLDER, NAMELESS, NEWER]

describeOnRedis('the directory in Redis during a rollout', (redis) => {
  test.for(OPERATORS)(
    'is read whole after %s, by a fresh process and by one that follows',
    async ([, written, known], { signal }) => {
      await using connection = await redis.emptied()
      await using following = await aReader(connection)
      await (await aPublisher(connection)).publish(written, signal)
      await following.refresh(signal)
      await using fresh = await aReader(connection)
      for (const reader of [following, fresh]) {
        expect(reader.current()).toStrictEqual(known)
        expect(reader.state()).toMatchObject({ isReady: true, damaged: 0 })
      }
    },
  )

  test.for(OPERATORS)(
    'is left alone by an operator that comes after %s, and wants the same',
    async ([, written, known], { signal }) => {
      await using connection = await redis.emptied()
      await (await aPublisher(connection)).publish(written, signal)
      const [values, mark] = [await valuesIn(connection, signal), (await readMeta(connection, signal))?.revisionId]
      // Leadership may change between the versions several times while both run.
      for (const wanted of [known, written, known]) {
        const publisher = await aPublisher(connection)
        expect(publisher.published(() => undefined)).toStrictEqual(known)
        expect(publisher.differences(wanted)).toEqual([])
        expect(await publisher.repair(signal)).toBe(false)
        expect(await publisher.audit(signal)).toEqual([])
      }
      expect(await valuesIn(connection, signal)).toEqual(values)
      expect((await readMeta(connection, signal))?.revisionId).toBe(mark)
    },
  )

  test.for(OPERATORS)(
    'changes what is wanted otherwise after %s, and nothing beside it',
    async ([, written, known], { signal }) => {
      await using connection = await redis.emptied()
      await (await aPublisher(connection)).publish(written, signal)
      const values = await valuesIn(connection, signal)
      await using reader = await aReader(connection)
      const { tenant } = anAccount(2)
      const tenants = new Map(known.tenants).set(tenant.id, { ...tenant, suspended: true })
      const wanted = { ...known, tenants, revision: 2 }
      const publisher = await aPublisher(connection)
      expect(publisher.differences(wanted)).toEqual([{ kind: 'tenants', name: tenant.id, change: 'changed' }])
      await publisher.publish(wanted, signal)
      const after = await valuesIn(connection, signal)
      expect(after.tenants[tenant.id]).not.toBe(values.tenants[tenant.id])
      expect({ ...after, tenants: { ...after.tenants, [tenant.id]: '' } }).toEqual({
        ...values,
        tenants: { ...values.tenants, [tenant.id]: '' },
      })
      await reader.refresh(signal)
      await using fresh = await aReader(connection)
      for (const each of [reader, fresh]) expect(each.current()).toStrictEqual(wanted)
      expect(await publisher.audit(signal)).toEqual([])
    },
  )

  test('is read as the version before has published it, and is published as it did', async ({ signal }) => {
    await using harness = await redis.harness((connection) => connection)
    const connection = await harness.open()
    const { redis: values } = leftBy('cluster')
    const settings = Object.fromEntries(Object.entries(values).filter(([key]) => key.includes('{directory}')))
    await connection.call((client) => fillRedis(client, settings), signal)
    await using reader = await aReader(connection)
    expect(reader.state()).toMatchObject({ isReady: true, damaged: 0 })
    const snapshot = reader.current()
    expect([snapshot.tenants.size, snapshot.keys.size, snapshot.templates.size]).toEqual([2, 2, 2])
    await connection.call((client) => client.flushall(), signal)
    await (await aPublisher(connection)).publish(snapshot, signal)
    const { templates, ...others } = Object.fromEntries(KINDS.map((kind) => [kind, values[hashKey(kind)]]))
    // It writes no engine if the template names none, and reads one.
    const named = Object.entries(templates ?? {}).map(([name, text]) => {
      return [name, canonicalJson({ engine: 'react_pdf', ...JSON.parse(String(text)) })] as const
    })
    const before = { ...others, templates: Object.fromEntries(named) }
    expect(await valuesIn(connection, signal), 'the version before must read what is published').toEqual(before)
  })

  test('has the format that its publisher is told, and keeps what is in force when that changes', async ({
    signal,
  }) => {
    await using connection = await redis.emptied()
    const inForce = ofAccounts(1, ACCOUNTS)
    await (await aPublisher(connection)).publish(inForce, signal)
    await using old = await aReader(connection)
    const upgraded = await aPublisher(connection, undefined, FORMAT + 1)
    // Resources that are refused now stay in force as they are here.
    expect(upgraded.published(() => undefined)).toStrictEqual(inForce)
    // Everything is written again, and not only what differs.
    expect(upgraded.differences(inForce)).toHaveLength(await countIn(connection, signal))
    await upgraded.publish({ ...inForce, revision: 2 }, signal)
    expect((await readMeta(connection, signal))?.schema).toBe(FORMAT + 1)
    expect(await upgraded.audit(signal)).toEqual([])
    await old.refresh(signal)
    expect(old.current()).toStrictEqual(inForce)
    const reason = `the published settings are of format ${FORMAT + 1}, and this version reads formats up to ${FORMAT}`
    expect(old.state()).toMatchObject({ isReady: true, reason })
    // After a rollback the version before publishes in its own format, which both read.
    const before = await aPublisher(connection)
    expect(before.published(() => undefined).tenants.size).toBe(0)
    await before.publish({ ...inForce, revision: 3 }, signal)
    await old.refresh(signal)
    expect(old.current()).toStrictEqual({ ...inForce, revision: 3 })
    expect((await readMeta(connection, signal))?.schema).toBe(FORMAT_DEFAULT)
  })

  test('is written as readers of earlier versions demand it, with every field they know', async ({ signal }) => {
    await using connection = await redis.emptied()
    const { tenant } = anAccount(1)
    await (await aPublisher(connection)).publish(aSnapshot(1, { tenants: [tenant] }), signal)
    const { tenants } = await valuesIn(connection, signal)
    expect(tenants).toEqual({ [tenant.id]: FIRST_VALUE })
  })
})

test('a setting that is added does not compile before it has a default or is optional', () => {
  const fields = { byDefault: { type: 'number', default: 1 }, optional: { type: 'number' } }
  interface Before {
    readonly byDefault: number
    readonly optional?: number
  }
  interface After extends Before {
    readonly added: number
  }
  expect(fields satisfies LaterFields<Before>).toBe(fields)
  // @ts-expect-error `added` is missing.
  expect(fields satisfies LaterFields<After>).toBe(fields)
  // @ts-expect-error `added` has no default.
  expect({ ...fields, added: { type: 'number' } } satisfies LaterFields<After>).toBeDefined()
  // @ts-expect-error A limit that is added has no default.
  expect(DEFAULT_LIMITS satisfies Limits & { readonly added: number }).toBe(DEFAULT_LIMITS)
})

/** Counts all values in Redis. */
async function countIn(connection: RedisConnection, signal: AbortSignal): Promise<number> {
  return Object.values(await valuesIn(connection, signal)).reduce((sum, values) => sum + Object.keys(values).length, 0)
}

/** Reads all values in Redis. */
async function valuesIn(connection: RedisConnection, signal: AbortSignal) {
  const hashes = KINDS.map(async (kind) => {
    return [kind, await connection.call((client) => client.hgetall(hashKey(kind)), signal)] as const
  })
  // One of each kind.
  return Object.fromEntries(await Promise.all(hashes)) as Record<Kind, Record<string, string>>
}
