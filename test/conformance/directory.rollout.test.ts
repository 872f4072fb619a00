/** Tests the directory in Redis while operators and readers know different fields, as during an upgrade. */
import type { RedisConnection } from '@platen/adapters/redis/connect.ts'
import { hashKey, readMeta } from '@platen/adapters/redis/directory/layout.ts'
import { KINDS, type Kind, type LaterFields } from '@platen/adapters/redis/directory/value.ts'
import { FORMAT } from '@platen/contract/domain/format.ts'
import { DEFAULT_LIMITS, type Limits, type Template, type Tenant } from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { expect, test } from 'vitest'
import { anAccount, aPublisher, aReader, ofAccounts } from './directory-harness.ts'
import { describeOnRedis } from './redis-harness.ts'

const ACCOUNTS = [1, 2, 3]

const SECRETS = [{ sealed: 'old', until: 7 }, { sealed: 'new' }]

/** Builds the snapshot of an operator that does not know a limit. */
function without(limit: string): DirectorySnapshot {
  return withTenants((tenant) => {
    const known = Object.entries(tenant.limits).filter(([name]) => name !== limit)
    return { ...tenant, limits: Object.fromEntries(known) as unknown as Limits }
  })
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
const OPERATORS = [...OLDER, NEWER]

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

  test('is left alone by an operator that does not read its format, and names the format', async ({ signal }) => {
    await using connection = await redis.emptied()
    const inForce = ofAccounts(1, ACCOUNTS)
    const newer = await aPublisher(connection)
    await newer.publish(inForce, signal)
    await using reader = await aReader(connection)
    await connection.call((client) => client.hset('platen:{directory}:meta', { schema: FORMAT + 1 }), signal)
    const reason = `the published settings cannot be read: it is of format ${FORMAT + 1}, and this version reads formats up to ${FORMAT}`
    const refused: unknown = await aPublisher(connection).catch((error: unknown) => error)
    expect(refused).toMatchObject({ message: reason })
    await reader.refresh(signal)
    expect(reader.current()).toStrictEqual(inForce)
    // The other operator may still publish.
    await newer.publish({ ...inForce, revision: 2 }, signal)
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

/** Reads all values in Redis. */
async function valuesIn(connection: RedisConnection, signal: AbortSignal) {
  const hashes = KINDS.map(async (kind) => {
    return [kind, await connection.call((client) => client.hgetall(hashKey(kind)), signal)] as const
  })
  // One of each kind.
  return Object.fromEntries(await Promise.all(hashes)) as Record<Kind, Record<string, string>>
}
