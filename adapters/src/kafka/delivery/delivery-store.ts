/**
 * Deliveries as objects in the service's own bucket. The process that holds a delivery writes its progress; every process may read it.
 *
 *     delivery/of/<render>/<id>     the delivery and its progress
 *     delivery/by-id/<id>           the render of a delivery
 *     delivery/ask/<id>/<number>    a requested attempt that is not made yet
 *
 * The artifact store can create an object only if none exists, and has no compare-and-set. So objects that several processes may write
 * at the same time are only created. A request for an attempt takes a free number, and there is one number per permitted request.
 */

import { DELIVERY_STATUSES, type Delivery } from '@platen/contract/domain/delivery.ts'
import { encodeStored } from '@platen/contract/domain/format.ts'
import { WEBHOOK_REDELIVERIES_MAX } from '@platen/contract/domain/limit.ts'
import type { ArtifactAddress } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { compileValidator, type Validator } from '@platen/contract/schema/validator.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { openFairSemaphore } from '@platen/lib/fair-semaphore.ts'
import { WEBHOOK_OBJECTS_AT_ONCE } from '../limit.ts'
import { initialProgress, type Progress } from './progress.ts'
import { COUNT, NAME, readJson, VERSION } from './reminder.ts'

export interface AttemptRequest {
  readonly nonce: string
  /** Grows with each deferral. */
  readonly step: number
  readonly dueAt: Instant
  /** See `Progress`. */
  readonly waitMs?: number
}

export class UnreadableObject extends Error {
  override readonly name = 'Unreadable'
}

export interface DeliveryStore {
  /** Creates a delivery, unless it exists. Resolves when it can be read and found. */
  create(delivery: Delivery, now: Instant, signal: AbortSignal): Promise<void>
  /** Creates the index of a delivery that is not stored yet. Returns false if it existed. */
  announce(delivery: Delivery, signal: AbortSignal): Promise<boolean>
  write(progress: Progress, signal: AbortSignal): Promise<void>
  read(id: string, render: RenderId, signal: AbortSignal): Promise<Progress | undefined>
  /** `announced`: the delivery is known, and not stored yet. */
  find(id: string, signal: AbortSignal): Promise<Progress | 'announced' | undefined>
  listByRender(render: RenderId, signal: AbortSignal): Promise<readonly Progress[]>
  /** Takes a free request number; undefined if there is none. */
  requestAttempt(id: string, ask: AttemptRequest, signal: AbortSignal): Promise<number | undefined>
  readRequest(id: string, number: number, signal: AbortSignal): Promise<AttemptRequest | undefined>
  writeRequest(id: string, number: number, at: { ask: AttemptRequest; signal: AbortSignal }): Promise<void>
  removeRequest(id: string, number: number, signal: AbortSignal): Promise<void>
  forget(render: RenderId, signal: AbortSignal): Promise<void>
}

const ROOT = 'delivery'

/** Its methods throw `Unavailable`, `UnreadableObject` and `NewerFormat`. */
export function deliveryStoreIn(store: ArtifactStore, { bucket }: { readonly bucket: string }): DeliveryStore {
  const artifacts = limitConcurrency(store)
  const progressFaults = compileValidator(PROGRESS_SCHEMA)
  const requestFaults = compileValidator(REQUEST_SCHEMA)
  const indexFaults = compileValidator(INDEX_SCHEMA)
  const { indexAt, progressAt, requestAt } = addressesIn(bucket)

  async function get(address: ArtifactAddress, faultsOf: Validator, signal: AbortSignal): Promise<unknown> {
    const bytes = await artifacts.get(address, signal)
    if (bytes === undefined) return undefined
    const read = readJson(bytes, faultsOf)
    if ('newer' in read) throw read.newer
    if ('fault' in read) throw new UnreadableObject(`${address.key}: ${read.fault}`)
    return read.value
  }

  // Each schema matches its type.
  const progressIn = async (address: ArtifactAddress, signal: AbortSignal) =>
    (await get(address, progressFaults, signal)) as Progress | undefined
  const read: DeliveryStore['read'] = (id, render, signal) => progressIn(progressAt({ id, render }), signal)

  const announce: DeliveryStore['announce'] = ({ id, render }, signal) =>
    artifacts.create(indexAt(id), encodeStored({ render }), signal)

  return {
    read,
    announce,
    async create(delivery, now, signal) {
      await Promise.all([
        announce(delivery, signal),
        artifacts.create(progressAt(delivery), encodeStored(initialProgress(delivery, now)), signal),
      ])
    },
    write: (progress, signal) => artifacts.put(progressAt(progress.delivery), encodeStored(progress), signal),
    async find(id, signal) {
      const index = (await get(indexAt(id), indexFaults, signal)) as { readonly render: RenderId } | undefined
      return index && ((await read(id, index.render, signal)) ?? 'announced')
    },
    async listByRender(render, signal) {
      const addresses = await Array.fromAsync(artifacts.list(bucket, `${ROOT}/of/${render}/`, signal))
      const found = await Promise.all(addresses.map((address) => progressIn(address, signal)))
      return found
        .filter((progress) => progress !== undefined)
        .toSorted((one, other) => (one.delivery.id < other.delivery.id ? -1 : 1))
    },
    async requestAttempt(id, ask, signal) {
      for (let number = 0; number < WEBHOOK_REDELIVERIES_MAX; number++) {
        if (await artifacts.create(requestAt(id, number), encodeStored(ask), signal)) return number
      }
      return undefined
    },
    readRequest: async (id, number, signal) =>
      (await get(requestAt(id, number), requestFaults, signal)) as AttemptRequest | undefined,
    writeRequest: (id, number, { ask, signal }) => artifacts.put(requestAt(id, number), encodeStored(ask), signal),
    removeRequest: (id, number, signal) => artifacts.delete(requestAt(id, number), signal),
    async forget(render, signal) {
      for await (const address of artifacts.list(bucket, `${ROOT}/of/${render}/`, signal)) {
        const id = address.key.slice(address.key.lastIndexOf('/') + 1)
        const asks = Array.from({ length: WEBHOOK_REDELIVERIES_MAX }, (_, number) => requestAt(id, number))
        // The object that `list` finds goes last, so that an interrupted removal can be repeated.
        for (const other of [...asks, indexAt(id), address]) await artifacts.delete(other, signal)
      }
    },
  }
}

function addressesIn(bucket: string) {
  const at = (...names: readonly string[]): ArtifactAddress => ({ bucket, key: [ROOT, ...names].join('/') })
  return {
    indexAt: (id: string) => at('by-id', id),
    progressAt: ({ id, render }: Pick<Delivery, 'id' | 'render'>) => at('of', render, id),
    requestAt: (id: string, number: number) => at('ask', id, String(number)),
  }
}

/** With more concurrent calls, some would wait for a connection until they time out. */
function limitConcurrency(store: ArtifactStore): Pick<ArtifactStore, 'get' | 'put' | 'create' | 'delete' | 'list'> {
  const calls = openFairSemaphore({ permits: WEBHOOK_OBJECTS_AT_ONCE, permitsPerTenant: WEBHOOK_OBJECTS_AT_ONCE })
  const limited = async <T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    using _ = await calls.acquire('all tenants', signal)
    return await call()
  }
  return {
    get: (address, signal) => limited(() => store.get(address, signal), signal),
    put: (address, bytes, signal) => limited(() => store.put(address, bytes, signal), signal),
    create: (address, bytes, signal) => limited(() => store.create(address, bytes, signal), signal),
    delete: (address, signal) => limited(() => store.delete(address, signal), signal),
    list: (bucket, prefix, signal) => store.list(bucket, prefix, signal),
  }
}

const TEXT = { type: 'string' } as const

const INDEX_SCHEMA = {
  type: 'object',
  required: ['version', 'render'],
  properties: { version: VERSION, render: NAME },
}

const REQUEST_SCHEMA = {
  type: 'object',
  required: ['version', 'nonce', 'step', 'dueAt'],
  properties: { version: VERSION, nonce: NAME, step: COUNT, dueAt: COUNT, waitMs: COUNT },
}

const DELIVERY_SCHEMA = {
  type: 'object',
  required: [
    'id',
    'type',
    'render',
    'tenant',
    'account',
    'environment',
    'url',
    'body',
    'retriesMax',
    'createdAt',
    'requestId',
  ],
  properties: { id: NAME, render: NAME, url: TEXT, body: TEXT, retriesMax: COUNT, createdAt: COUNT, requestId: TEXT },
}

const PROGRESS_SCHEMA = {
  type: 'object',
  required: ['version', 'delivery', 'status', 'step', 'attempts', 'made', 'answered'],
  properties: {
    version: VERSION,
    delivery: DELIVERY_SCHEMA,
    status: { enum: DELIVERY_STATUSES },
    dueAt: COUNT,
    waitMs: COUNT,
    reason: TEXT,
    step: COUNT,
    attempts: COUNT,
    made: { type: 'array', items: { type: 'object', required: ['startedAt', 'durationMs', 'result'] } },
    answered: { type: 'array', items: NAME },
  },
}
