/** The work of the operator that holds the lease: it publishes the declared resources and repairs what others change. */
import { once } from 'node:events'
import { DIRECTORY_REPAIR_MS } from '@platen/contract/domain/limit.ts'
import type { Uid } from '@platen/contract/domain/resource.ts'
import type { TemplateChecker } from '@platen/contract/domain/template-check.ts'
import { DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import { resealWebhookSecret } from '@platen/contract/domain/webhook-secret.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'
import type { OperatorMeter } from '@platen/contract/port/operator-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import type { SealKeyReport, SealKeys } from '@platen/lib/seal.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { type Compilation, openCompilation } from '@platen/settings/compilation/compilation.ts'
import type { FoundKey } from '@platen/settings/compile/api-key.ts'
import type { Finding } from '@platen/settings/compile/condition.ts'
import type { FoundSecret } from '@platen/settings/compile/tenant.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { AccountCheck } from '../handler/account.ts'
import { apiKeyHandler } from '../handler/api-key.ts'
import { SecretTracker } from '../handler/secret-tracker.ts'
import { templateHandler } from '../handler/template.ts'
import { TemplateSources } from '../handler/template-source.ts'
import { tenantHandler } from '../handler/tenant.ts'
import { WorkQueue } from '../queue/work-queue.ts'
import { runWorkers } from '../queue/worker.ts'
import { openEvents } from '../reconcile/event.ts'
import type { KindHandler } from '../reconcile/kind-handler.ts'
import { PUBLISH_RETRY_MS, RECONCILE_WORKERS } from '../reconcile/limit.ts'
import { type Enforcement, Propagation } from '../reconcile/propagation.ts'
import { Publication, type PublicationOptions } from '../reconcile/publication.ts'
import { Reconciler } from '../reconcile/reconciler.ts'
import type { ResourceCache } from '../reconcile/resource-cache.ts'
import { keyOfResource, kindOfKey } from '../reconcile/resource-view.ts'
import { auditSecrets } from '../secret/audit.ts'
import type { SecretLocation } from '../secret/cluster-secret.ts'
import { observeSecret } from '../secret/update-secret.ts'
import { type KeptTopic, runErasures } from './erasure/erasure.ts'
import { DIRECTORY_AUDIT_MS } from './limit.ts'
import { previousSettings } from './recovery.ts'
import { openSealKeyWatch, type SealKeyWatch } from './seal-key.ts'
import { openUsageReader } from './usage.ts'

const SECOND_MS = 1000

/** How long running reconciles may take to finish when the operator stops. */
export const RECONCILE_DRAIN_MS = 20 * SECOND_MS

/** Concurrent reconciles of one kind. When one kind is slow, the other kinds still have workers. */
const RECONCILE_WORKERS_OF_ONE_KIND = (RECONCILE_WORKERS * 3) / 4

export type Publisher = PublicationOptions['publisher'] & {
  /** Returns what Redis held when the publisher was opened. Calls `onDamage` for each entry that cannot be read. */
  readonly published: (onDamage: (kind: string, name: string) => void) => DirectorySnapshot
  readonly enforced: (signal: AbortSignal) => Promise<Enforcement>
  /** Repairs what somebody has changed in Redis. Returns the repaired entries. */
  readonly audit: (signal: AbortSignal) => Promise<readonly { readonly kind: string }[]>
}

export interface LeaderPorts {
  readonly client: ClusterClient
  readonly publisher: Publisher
  /** Reads which seal keys the events processes have. Throws `Unavailable`. */
  readonly readSealKeyReports: (signal: AbortSignal) => Promise<readonly SealKeyReport[]>
  readonly artifacts: ArtifactStore
  readonly limiter: Pick<Limiter, 'usage'>
  readonly checker: TemplateChecker
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly meter: OperatorMeter
}

export interface LeaderSettings {
  /** The namespace of the operator, which contains the generated webhook secrets. */
  readonly namespace: string
  /** Starts the prefix of generated keys and secrets. */
  readonly brand: string
  readonly instance: string
  /** The first key seals every webhook secret before it leaves the operator. */
  readonly sealKeys: () => SealKeys
  /** For template sources, and for the PDFs of tenants that name no bucket. */
  readonly serviceBucket: string
  /** The topics of Kafka that keep parts of erased renders. */
  readonly requestsKept: readonly KeptTopic[]
}

export type Subscriber = Pick<Reconciler, 'onChange'> & { readonly onConfigMapChange: (name: string) => void }

interface LeaderOptions extends LeaderSettings {
  readonly ports: LeaderPorts
  readonly resources: ResourceCache
  /** The subscriber then receives every change. */
  readonly subscribe: (subscriber: Subscriber) => void
}

/**
 * Reconciles until `stop` aborts, and then finishes the running reconciles. Throws errors that no retry can repair, for example when
 * another publisher has taken over. Throws the reason of `lost` when that aborts.
 */
export async function runLeader(
  options: LeaderOptions,
  { stop, lost }: { stop: AbortSignal; lost: AbortSignal },
): Promise<void> {
  const { ports, resources } = options
  const { publisher, clock, log } = ports
  const failed = new AbortController()
  const running = AbortSignal.any([lost, failed.signal])
  // Before the first compile, so that no change after it is missed, and statuses say the same as before.
  const seal = openSealKeyWatch({ ...options, ...ports, readReports: ports.readSealKeyReports })
  await seal.check(AbortSignal.any([stop, running]))
  const work = buildLeader(options, seal)
  using _ = work.sources
  options.subscribe({
    onChange: (change) => work.reconciler.onChange(change),
    onConfigMapChange: work.onConfigMapChange,
  })
  await publishAtStart(work.reconciler, { clock, log }, AbortSignal.any([stop, running]))
  // Otherwise each of the many resources of a start would wait by itself for what one read tells.
  await work.propagation.read(AbortSignal.any([stop, running]))
  log.info({ revision: publisher.revision(), resources: resources.all().length }, 'leader election won')
  const over = new AbortController()
  const background = AbortSignal.any([running, over.signal])
  const tasks = [
    work.publication.run(background),
    work.propagation.run(background),
    work.usage.run(background).catch(() => undefined),
    repairAndAudit(options, background),
    seal.run(() => prepareTenants(resources, work.reconciler), background),
    auditSecrets(work.audit, background).catch(() => undefined),
    runErasures({ ...options, ...ports, inForce: work.inForce }, background),
    runWorkers({ ...work.workers, clock, log }, background),
  ]
  for (const task of tasks) task.catch((error: unknown) => failed.abort(error))
  await Promise.race([aborted(stop), aborted(running)])
  // The next leader reconciles what does not finish in time.
  await Promise.race([work.workers.queue.close(), clock.sleep(RECONCILE_DRAIN_MS, running).catch(() => undefined)])
  over.abort()
  await Promise.allSettled(tasks)
  running.throwIfAborted()
}

const NO_OP_HANDLER: KindHandler = {
  prepare: async () => ({}),
  restore: () => ({}),
  forget: () => undefined,
}

/** Handlers write what they found of Secrets and accounts; the compilation reads it. */
interface Findings {
  readonly foundKeys: Map<Uid, FoundKey>
  readonly webhookSecrets: Map<Uid, FoundSecret>
  readonly accountRefusals: Map<Uid, Finding>
}

function emptyFindings(): Findings {
  return { foundKeys: new Map(), webhookSecrets: new Map(), accountRefusals: new Map() }
}

function findingHandlers(
  options: LeaderOptions,
  { foundKeys, webhookSecrets, accountRefusals: refusals }: Findings,
  { inForce, tracker }: { inForce: Compilation['tenantInForce']; tracker: SecretTracker },
) {
  const ports = { ...options, ...options.ports }
  const accounts = new AccountCheck({ ports, views: options.resources.all, inForce, refusals })
  return {
    Tenant: tenantHandler({ ports, webhookSecrets, inForce, accounts, tracker }),
    ApiKey: apiKeyHandler({ ports, foundKeys, tracker }),
  }
}

function buildLeader(options: LeaderOptions, seal: SealKeyWatch) {
  const { ports, resources, serviceBucket, sealKeys } = options
  const { client, publisher, clock, ids, log, meter } = ports
  const found = emptyFindings()
  const sources: TemplateSources = new TemplateSources({
    ...ports,
    versionOf: resources.versionOf,
    serviceBucket,
    isAccepted: (template) => compilation.accepts(template),
    onCheckDone: (template) => reconciler.markDirty(keyOfResource(template)),
  })
  const { prepared, checks } = sources
  // The name of a key is its hash, so it is safe to log.
  const published = publisher.published((kind, name) => log.error({ kind, name }, 'published entry unreadable'))
  const reseal = (sealed: string, account: string) => resealWebhookSecret(sealed, { account, keys: sealKeys() })
  const compilation: Compilation = openCompilation({
    facts: { ...found, configMaps: new Map(), prepared, checks, reseal, areSecretsReadable: seal.isReadable },
    previous: previousSettings({ views: resources.all(), published, serviceBucket }),
    serviceBucket,
    defaults: DEFAULT_LIMITS,
  })
  const inForce = compilation.tenantInForce
  const tracker = new SecretTracker({ log, onRepair: () => meter.repaired('secrets', 1) })
  const workers = openMeteredQueue(options)
  const { queue } = workers
  const publication = new Publication({ ...ports, compilation, onChanged: (uids) => reconciler.requeue(uids) })
  const onEnforced = (key: string) => queue.add(key)
  const propagation = new Propagation({ ...ports, readEnforced: publisher.enforced, onEnforced })
  const usage = openUsageReader({ ...ports, resources, inForce, onChange: (key) => queue.add(key, 'resync') })
  const reconciler: Reconciler = new Reconciler({
    resources,
    compilation,
    publication,
    propagation,
    usageOf: usage.usageOf,
    queue,
    client,
    clock,
    events: openEvents({ ...options, client, clock, ids, log }),
    handlers: {
      Plan: NO_OP_HANDLER,
      Template: templateHandler(sources),
      ...findingHandlers(options, found, { inForce, tracker }),
    },
  })
  return {
    reconciler,
    publication,
    propagation,
    usage,
    inForce,
    workers: { ...workers, reconcile: (key: string, signal: AbortSignal) => reconciler.reconcile(key, signal) },
    onConfigMapChange: (name: string) => sources.usersOf(name).forEach((key) => reconciler.markDirty(key)),
    sources,
    audit: secretAuditOptions(ports, { tracker, reconciler }),
  }
}

function secretAuditOptions(
  { client, clock, log }: LeaderPorts,
  to: { tracker: SecretTracker; reconciler: Reconciler },
) {
  const { tracker, reconciler } = to
  return {
    clock,
    observe: (place: SecretLocation, signal: AbortSignal) => observeSecret(client, place, signal),
    observed: tracker.observed,
    onChange: (key: string) => reconciler.markDirty(key),
    onError: (key: string, err: unknown) => log.debug({ err, key }, 'secret audit failed'),
  }
}

function openMeteredQueue({ ports: { clock, ids, meter } }: LeaderOptions) {
  const workers = RECONCILE_WORKERS
  const controller = meter.controller('platen', { workers, readState: () => queue.state() })
  const groups = { groupOf: kindOfKey, perGroupMax: RECONCILE_WORKERS_OF_ONE_KIND }
  const queue: WorkQueue = new WorkQueue({ ...groups, clock, ids, meter: controller })
  return { queue, workers, meter: controller }
}

/** Publishes before anything is reconciled. Waits for Redis if necessary: without Redis, nothing else is useful. */
async function publishAtStart(
  reconciler: Reconciler,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await reconciler.start(signal)
      return
    } catch (err) {
      if (signal.aborted) return
      if (!(err instanceof Unavailable)) throw err
      log.warn({ err }, 'settings not published, retrying')
      await clock.sleep(PUBLISH_RETRY_MS, signal).catch(() => undefined)
    }
  }
}

/** Makes sure that Redis holds what was published, until the signal aborts. Throws every error but `Unavailable`. */
async function repairAndAudit(
  { ports: { publisher, clock, log, meter } }: LeaderOptions,
  signal: AbortSignal,
): Promise<void> {
  let auditedAt = clock.monotonic()
  while (!signal.aborted) {
    try {
      await clock.sleep(DIRECTORY_REPAIR_MS, signal)
      await publisher.repair(signal)
      if (clock.monotonic() - auditedAt < DIRECTORY_AUDIT_MS) continue
      auditedAt = clock.monotonic()
      const repaired = await publisher.audit(signal)
      if (repaired.length === 0) continue
      log.warn({ count: repaired.length }, 'settings repaired, redis had been changed')
      for (const { kind } of repaired) meter.repaired(kind, 1)
    } catch (err) {
      if (signal.aborted) return
      if (!(err instanceof Unavailable)) throw err
      log.debug({ err }, 'settings audit failed')
    }
  }
}

/** Queues every tenant: its secret must be sealed with the present key, and its status says whether the events processes can open that. */
function prepareTenants(resources: ResourceCache, reconciler: Reconciler): void {
  for (const { resource } of resources.all())
    if (resource.kind === 'Tenant') reconciler.markDirty(keyOfResource(resource))
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await once(signal, 'abort')
}
