/** Shared by the tests of the directory in Redis: publishers, readers, and snapshots to publish. */

import { randomInt } from 'node:crypto'
import type { RedisConnection } from '@platen/adapters/redis/connect.ts'
import { DIRECTORY_CHANGE_BYTES_MAX } from '@platen/adapters/redis/directory/publish/write.ts'
import { openRedisPublisher } from '@platen/adapters/redis/directory/publisher.ts'
import { openRedisDirectory, type RedisDirectoryOptions } from '@platen/adapters/redis/directory.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import type { ApiKey, KeyHash, Template, TemplateCode, Tenant, TenantId } from '@platen/contract/domain/tenant.ts'
import type { Directory, DirectoryPublisher, DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { Log } from '@platen/lib/log.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { aTemplate, aTenant, type LogLine, logTo } from '../fixture/build.ts'

/** Far longer than any operation takes. */
const PATIENCE_MS = 20_000

/** Opens a publisher that fences all earlier ones. */
export function aPublisher(redis: RedisConnection, epoch?: number) {
  const options = {
    redis,
    ids: systemIds(),
    ...(epoch !== undefined && { epoch }),
  }
  return openRedisPublisher(options, AbortSignal.timeout(PATIENCE_MS))
}

/** Opens a directory; the caller closes it. */
export function aReader(redis: RedisConnection, options: Partial<RedisDirectoryOptions> = {}) {
  const defaults = { redis, clock: systemClock(), log: recordingLog() }
  return openRedisDirectory({ ...defaults, ...options }, AbortSignal.timeout(PATIENCE_MS))
}

/** Opens a publisher and a directory in the same process. When a publish resolves, the directory has the snapshot. */
export async function publishedDirectory(
  redis: RedisConnection,
): Promise<Directory & DirectoryPublisher & AsyncDisposable> {
  const publisher = await aPublisher(redis)
  const directory = await aReader(redis)
  return {
    ...publisher,
    current: () => directory.current(),
    async publish(snapshot, signal) {
      await publisher.publish(snapshot, signal)
      await directory.refresh(signal)
    },
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  }
}

export interface SnapshotFields {
  readonly tenants?: readonly Tenant[]
  readonly keys?: readonly ApiKey[]
  readonly templates?: readonly Template[]
}

export function aSnapshot(
  revision: number,
  { tenants = [aTenant()], keys = [], templates = [] }: SnapshotFields = {},
): DirectorySnapshot {
  const codes = new Map<TenantId, Map<TemplateCode, Template>>()
  for (const template of templates) {
    const own = codes.get(template.tenant) ?? new Map<TemplateCode, Template>()
    codes.set(template.tenant, own.set(template.code, template))
  }
  return {
    revision,
    tenants: new Map(tenants.map((tenant) => [tenant.id, tenant])),
    keys: new Map(keys.map((key) => [key.hash, key])),
    templates: codes,
  }
}

/** Accounts from this number on have a large template. Ten of these exceed the size limit of one delta. */
export const LARGE = 1000

/** Builds the tenant with this number, with its own key and template. */
export function anAccount(number: number): { tenant: Tenant; key: ApiKey; template: Template } {
  // Code that validates input sets brands. These values are written valid.
  const id = `tenant-${number}` as TenantId
  const tenant = aTenant({ id, account: `account-${number}` })
  const hash = number.toString(16).padStart(64, '0') as KeyHash
  const variablesSchema = { description: 'x'.repeat(number < LARGE ? number : DIRECTORY_CHANGE_BYTES_MAX / 10) }
  const template = aTemplate({ tenant: id, code: `invoice-${number}` as TemplateCode, variablesSchema })
  return { tenant, key: { hash, tenant: id, environment: 'live', suspended: false }, template }
}

export function ofAccounts(revision: number, numbers: readonly number[]): DirectorySnapshot {
  const accounts = numbers.map(anAccount)
  return aSnapshot(revision, {
    tenants: accounts.map(({ tenant }) => tenant),
    keys: accounts.map(({ key }) => key),
    templates: accounts.map(({ template }) => template),
  })
}

export function recordingLog(): Log & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = []
  return { lines, ...logTo((line) => lines.push(line)) }
}

/** A connection whose calls go through `around`, which also gets the number of the call, from 0 on. */
function through(
  connection: RedisConnection,
  around: <T>(call: () => Promise<T>, number: number) => Promise<T>,
): RedisConnection {
  let calls = 0
  return { ...connection, call: (command, signal) => around(() => connection.call(command, signal), calls++) }
}

/** A connection whose owner dies at call `number` and makes no further calls. */
export function dyingAt(connection: RedisConnection, number: number): RedisConnection {
  return through(connection, async (call, at) => {
    if (at >= number) throw new Unavailable('dead')
    return await call()
  })
}

/** A connection that runs `happen` before call `number`. */
export function atCall(connection: RedisConnection, number: number, happen: () => Promise<void>): RedisConnection {
  return through(connection, async (call, at) => {
    if (at === number) await happen()
    return await call()
  })
}

/** A connection that makes call `number` and loses its answer. */
export function deafAt(connection: RedisConnection, number: number): RedisConnection {
  return through(connection, async (call, at) => {
    const answer = await call()
    if (at === number) throw new Unavailable('no answer')
    return answer
  })
}

export interface Gate {
  open(): void
  close(): void
  readonly passed: () => Promise<void>
}

export function gate(): Gate {
  let way = Promise.withResolvers<void>()
  let isOpen = true
  way.resolve()
  return {
    open() {
      isOpen = true
      way.resolve()
    },
    close() {
      // A second `close` must not replace the promise that calls already wait for.
      if (isOpen) way = Promise.withResolvers()
      isOpen = false
    },
    passed: () => way.promise,
  }
}

export function behind(connection: RedisConnection, { passed }: Gate): RedisConnection {
  return through(connection, async (call) => {
    await passed()
    return await call()
  })
}

export type Accounts = ReadonlyMap<number, ReturnType<typeof anAccount>>

/** Adds, removes and changes some accounts at random; sometimes nearly all. */
export function changedAtRandom(accounts: Accounts): Accounts {
  const next = new Map(accounts)
  const most = randomInt(20) === 0 ? 120 : 4
  for (let i = randomInt(most); i >= 0; i--) {
    const number = randomInt(20) === 0 ? LARGE + randomInt(12) : randomInt(60)
    const account = next.get(number) ?? anAccount(number)
    const variablesSchema = { type: 'object', properties: { [`field-${randomInt(9)}`]: { type: 'string' } } }
    const template = { ...account.template, version: randomInt(9), variablesSchema }
    const tenant = { ...account.tenant, suspended: randomInt(2) === 0 }
    if (randomInt(3) === 0) next.delete(number)
    else next.set(number, { ...account, tenant, template })
  }
  return next
}
