/**
 * Erasures: orders to erase renders, given by resources of Kubernetes. They are no settings, so nothing is compiled or published. They have
 * their own informer and queue, so an erasure that takes days delays nothing.
 *
 * The operator writes an order to the artifact store and shows how far the events processes are with it. It erases nothing itself. Giving
 * an order again changes nothing, so a reconcile may start again at any time. The status keeps what the order said before it was removed.
 */

import type { ErasureSpec } from '@platen/contract/domain/crd/erasure.ts'
import {
  decodeErasure,
  type ErasureOrder,
  encodeErasure,
  erasureKey,
  type ListedErasureOrder,
  lastRoundAt,
  listedErasureKey,
} from '@platen/contract/domain/erasure.ts'
import type { ArtifactAddress } from '@platen/contract/domain/render.ts'
import { parseRenderId } from '@platen/contract/domain/render-id.ts'
import type { Uid } from '@platen/contract/domain/resource.ts'
import type { Tenant } from '@platen/contract/domain/tenant.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { OperatorMeter } from '@platen/contract/port/operator-meter.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { canonicalJson } from '@platen/lib/canonical-json.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import type { ClusterClient } from '../../cluster/client.ts'
import { isConflict, isNotFound } from '../../cluster/error.ts'
import { type Informer, openInformer } from '../../cluster/informer.ts'
import type { KubeObject } from '../../cluster/object.ts'
import { WorkQueue } from '../../queue/work-queue.ts'
import { runWorkers } from '../../queue/worker.ts'
import type { ResourceCache } from '../../reconcile/resource-cache.ts'
import { mergePatchOf } from '../../reconcile/status.ts'
import { type ErasureView, finishedAtOf, type KeptTopic, type Progress, statusOf } from './status.ts'

const SECOND_MS = 1000

/**
 * How often the operator checks how far an erasure is: after a tenth of its age, within these bounds. Most are over within minutes, some
 * after eight days. An Erasure without its tenant is checked as often.
 */
export const ERASURE_POLL_MS_MIN = 5 * SECOND_MS
export const ERASURE_POLL_MS_MAX = 600 * SECOND_MS

/** Longest wait before a finished Erasure is checked again. A timer cannot be longer than 24 days. */
const ERASURE_IDLE_MS_MAX = 24 * 3600 * SECOND_MS

/** Erasures that are checked together. Each waits for one request to the artifact store. */
const ERASURE_WORKERS = 4

export type { KeptTopic } from './status.ts'

interface ErasureOptions {
  readonly client: Pick<ClusterClient, 'list' | 'watch' | 'mergePatch' | 'remove'>
  readonly artifacts: Pick<ArtifactStore, 'create' | 'get'>
  readonly serviceBucket: string
  /** Here an Erasure may name every tenant. */
  readonly namespace: string
  readonly resources: Pick<ResourceCache, 'get'>
  readonly inForce: (uid: Uid) => Tenant | undefined
  readonly requestsKept: readonly KeptTopic[]
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly meter: Pick<OperatorMeter, 'controller' | 'relisted' | 'watched' | 'unread'>
}

const COLLECTION = { group: 'platen.dev', version: 'v1alpha1', plural: 'erasures' }

/** Follows all Erasures until `signal` aborts. Never rejects. */
export async function runErasures(options: ErasureOptions, signal: AbortSignal): Promise<void> {
  const { clock, ids, log } = options
  const workers = ERASURE_WORKERS
  const meter = options.meter.controller('erasure', { workers, readState: () => queue.state() })
  const queue: WorkQueue = new WorkQueue({ clock, ids, meter })
  await using erasures: Informer<ErasureView> = openInformer<ErasureView>({
    ...options,
    kind: 'Erasure',
    of: COLLECTION,
    read: viewOf,
    onChange: ({ key }) => queue.add(key),
  })
  const reconcile = async (key: string, until: AbortSignal) => {
    const view = erasures.get(key)
    return view && !view.isDeleting ? await reconcileErasure(view, options, until) : undefined
  }
  await runWorkers({ queue, workers, reconcile, meter, clock, log }, signal)
}

/** The spec matches the schema: the API server accepts nothing else. */
function viewOf({ metadata, spec, status }: KubeObject): ErasureView {
  const { name, namespace = '', uid, generation = 1, creationTimestamp = '', deletionTimestamp } = metadata
  return {
    metadata: { name, namespace, uid, generation, createdAt: Date.parse(creationTimestamp) },
    isDeleting: deletionTimestamp !== undefined,
    spec: spec as ErasureSpec,
    status: status ?? {},
  }
}

/**
 * Orders what is not ordered yet, and writes the progress. Returns in how many milliseconds to check again. Throws `Unavailable` or
 * `ClusterError`.
 */
export async function reconcileErasure(
  view: ErasureView,
  options: Omit<ErasureOptions, 'ids' | 'log' | 'meter'>,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { clock, requestsKept } = options
  if (finishedAtOf(view) !== undefined) return await removeAfterTtl(view, options, signal)
  const progress = await progressOf(view, options, signal)
  const status = statusOf(view, progress, { now: clock.now(), requestsKept })
  if (canonicalJson(status) !== canonicalJson(view.status)) {
    const { name, namespace, uid } = view.metadata
    const patch = { metadata: { name, namespace, uid }, status: mergePatchOf(view.status, status) }
    await options.client.mergePatch(locationOf(view, 'status'), patch, signal).catch(ignoreIfGone)
  }
  const age = clock.now() - view.metadata.createdAt
  return Math.min(Math.max(age / 10, ERASURE_POLL_MS_MIN), ERASURE_POLL_MS_MAX)
}

async function progressOf(
  view: ErasureView,
  options: Omit<ErasureOptions, 'ids' | 'log' | 'meter'>,
  signal: AbortSignal,
): Promise<Progress> {
  const { artifacts, clock } = options
  const { accountId, orderedAt } = view.status
  if (accountId !== undefined && orderedAt !== undefined) {
    const order = await read(addressOf(view, accountId, options), artifacts, signal)
    if (order !== undefined) return { step: 'ordered', order }
    // The last round removes the order.
    if (clock.now() >= lastRoundAt({ orderedAt: Date.parse(orderedAt) })) return { step: 'over' }
  }
  const found = tenantOf(view, options)
  if (!('storage' in found)) return { step: 'waiting', ...found }
  if (accountId !== undefined && accountId !== found.account)
    return {
      step: 'waiting',
      reason: 'TenantNotFound',
      message: `the account ${accountId} is that of no Tenant any more`,
    }
  const given = orderOf(view, found, clock.now())
  const address = addressOf(view, found.account, options)
  await artifacts.create(address, encodeErasure(given), signal)
  // Another leader may have given it before.
  return { step: 'ordered', order: (await read(address, artifacts, signal)) ?? given }
}

type NotFound = Omit<Extract<Progress, { step: 'waiting' }>, 'step'>

/** Only those who may use the tenant's namespaces, or the operator's, can name the tenant: namespaces often belong to teams. */
function tenantOf(
  { metadata: { namespace }, spec }: ErasureView,
  { resources, inForce, namespace: own }: Pick<ErasureOptions, 'resources' | 'inForce' | 'namespace'>,
): Tenant | NotFound {
  const { name } = spec.tenantRef
  const { resource } = resources.get(`Tenant ${name}`) ?? {}
  const isListed = resource?.kind === 'Tenant' && resource.spec.namespaces?.includes(namespace) === true
  if (resource === undefined || (!isListed && namespace !== own)) {
    const place = namespace === own ? '' : ` that lists ${namespace} in spec.namespaces`
    return { reason: 'TenantNotFound', message: `there is no Tenant ${name}${place}` }
  }
  const message = `Tenant ${name} was never in force, so it has no renders`
  return inForce(resource.metadata.uid) ?? { reason: 'TenantNotReady', message }
}

function orderOf(
  view: ErasureView,
  { id, account, storage }: Tenant,
  orderedAt: Instant,
): ErasureOrder | ListedErasureOrder {
  const { name, namespace } = view.metadata
  const order = { tenant: id, account, storage, orderedAt, by: `Erasure ${namespace}/${name}` }
  const { renders } = view.spec
  return renders === undefined
    ? { ...order, before: beforeOf(view) }
    : { ...order, renders: renders.flatMap((text) => parseRenderId(text) ?? []) }
}

function addressOf(
  view: ErasureView,
  account: string,
  { serviceBucket }: Pick<ErasureOptions, 'serviceBucket'>,
): ArtifactAddress {
  const { metadata, spec } = view
  const key =
    spec.renders === undefined ? erasureKey({ account, before: beforeOf(view) }) : listedErasureKey(metadata.uid)
  return { bucket: serviceBucket, key }
}

/** Kubernetes cuts the time of creation to whole seconds. So this is the end of that second, and no render before the creation is left. */
function beforeOf({ metadata }: ErasureView): Instant {
  return metadata.createdAt + 1000
}

async function read(address: ArtifactAddress, artifacts: Pick<ArtifactStore, 'get'>, signal: AbortSignal) {
  const bytes = await artifacts.get(address, signal)
  return bytes && decodeErasure(bytes)
}

/** Deletes a finished Erasure when its time is over. Returns in how many milliseconds to check again. */
async function removeAfterTtl(
  view: ErasureView,
  { client, clock }: Pick<ErasureOptions, 'client' | 'clock'>,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { ttlSecondsAfterFinished } = view.spec
  const finishedAt = finishedAtOf(view)
  if (finishedAt === undefined || ttlSecondsAfterFinished === undefined) return undefined
  const waitMs = finishedAt + ttlSecondsAfterFinished * 1000 - clock.now()
  if (waitMs > 0) return Math.min(waitMs, ERASURE_IDLE_MS_MAX)
  await client.remove(locationOf(view), view.metadata.uid, signal).catch(ignoreIfGone)
  return undefined
}

/** Somebody has deleted the Erasure meanwhile, and may have created another with its name. */
function ignoreIfGone(error: unknown): undefined {
  if (isNotFound(error) || isConflict(error)) return undefined
  throw error
}

function locationOf({ metadata: { name, namespace } }: ErasureView, subresource?: 'status') {
  return { ...COLLECTION, namespace, name, ...(subresource && { subresource }) }
}
