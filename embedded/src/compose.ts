/**
 * The embedded topology: API, renderer, webhooks and compiler in one process, on SQLite and files. Only this file knows more than one
 * deployable. Everything is closed in the reverse order of opening, which also drains the service: it accepts no more requests, ends the
 * renders under way, then the engines, then the stores.
 */

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { countedLimiter } from '@platen/adapters/fallback/counted-limiter.ts'
import { openFileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import { type Health, openProbes } from '@platen/adapters/http/probe-server.ts'
import type { WebhookSenderOptions } from '@platen/adapters/http/webhook-sender.ts'
import { memoryDirectory } from '@platen/adapters/memory/directory.ts'
import { memoryRenderEnds } from '@platen/adapters/memory/render-ledger/render-ends.ts'
import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { memoryRenderQueue } from '@platen/adapters/memory/render-queue.ts'
import { memoryReplyChannel } from '@platen/adapters/memory/reply-channel.ts'
import { openTracer } from '@platen/adapters/otel/open-tracer.ts'
import type { Database } from '@platen/adapters/sqlite/database.ts'
import { sqliteDeliveryList } from '@platen/adapters/sqlite/delivery-log/delivery-list.ts'
import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import { sqliteEventLog } from '@platen/adapters/sqlite/event-log.ts'
import { openSqliteLimiter } from '@platen/adapters/sqlite/limiter.ts'
import { sqliteRenderList } from '@platen/adapters/sqlite/render-ledger/render-list.ts'
import { sqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import { sqliteRenderQueue } from '@platen/adapters/sqlite/render-queue.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import type { ServiceLog } from '@platen/adapters/system/log.ts'
import { type ApiPorts, buildApp } from '@platen/api/app.ts'
import { openBodyChecks } from '@platen/api/body/check/body-checks.ts'
import { WEBHOOK_RETRY_MS } from '@platen/contract/domain/limit.ts'
import type { KeyRing } from '@platen/contract/domain/render-id.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { WebhookSender } from '@platen/contract/port/webhook-sender.ts'
import { openBatches, openWebhooks, type Webhooks } from '@platen/events/service.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { SealKeys } from '@platen/lib/seal.ts'
import type { Engines } from '@platen/renderer/engine/open-engines.ts'
import { openTemplateChecker } from '@platen/renderer/engine/template-checker.ts'
import { openRenderer, type Renderer } from '@platen/renderer/service.ts'
import { SERVICE_BUCKET } from '@platen/settings/manifest/compile-folder.ts'
import { openFolderChecks } from '@platen/settings/manifest/folder-checks.ts'
import { openManifests } from '@platen/settings/manifest/follow.ts'
import { hasLastGood } from '@platen/settings/manifest/last-good.ts'
import { MANIFEST_CHECKS_FIRST_MS, MANIFEST_CHECKS_LATER_MS } from '@platen/settings/manifest/limit.ts'
import { openReadAhead } from '@platen/settings/manifest/text/read-ahead.ts'
import { loadOrCreateKeyFile, removeTemporaryFiles } from '@platen/settings/secrets.ts'
import { serveArtifacts } from './artifact-route.ts'
import type { Config } from './config.ts'
import { type Meters, NO_METERS } from './meter/meters.ts'
import { ledgerByLane, queueByLane } from './store/by-lane.ts'
import { type DiskSpace, watchDiskSpace } from './store/disk-space.ts'
import { recover } from './store/recovery.ts'
import { keepRetention } from './store/retention.ts'

export interface EmbeddedService extends AsyncDisposable {
  /** The listen address, such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Aborts when the service cannot continue, for example because the disk is broken. */
  readonly failed: AbortSignal
}

/** Opened before the rest is loaded. The caller closes all of it. */
export interface ComposeOptions {
  /** Its lock reserves the data folder for this process. */
  readonly database: Database
  readonly config: Config
  readonly clock: Clock
  readonly log: ServiceLog
  readonly engines: Engines
  /** Aborts when renders under way must be abandoned. The next start continues async renders; callers of sync renders get an error. */
  readonly forceStop: AbortSignal
  readonly isDraining: () => boolean
}

const KEY_BYTES = 32

/** Resolves when the service accepts requests. Otherwise closes what it has opened and throws. */
export async function compose(options: ComposeOptions): Promise<EmbeddedService> {
  const { config, log, engines, forceStop, database } = options
  await using stack = new AsyncDisposableStack()
  const starting = new AbortController().signal
  // First, because the first request waits for this thread.
  const bodyChecks = stack.use(openBodyChecks(options.clock))
  // In a new data folder all templates must be checked, so the first thread loads in parallel with the rest of the service.
  const isSoonNeeded = !hasLastGood(config.dataDir)
  const checker = stack.use(openTemplateChecker({ clock: options.clock, isSoonNeeded }))
  const checks = stack.use(openFolderChecks(checker, options.clock))
  let url = config.publicUrl ?? ''
  const directory = memoryDirectory()
  const { host, metricsPort } = config
  const running: { renderer?: Renderer } = {}
  const meters = await metersOf(options, { directory, running })
  const probes = stack.use(await openProbes({ host, port: metricsPort, metrics: meters.metrics, log }))
  const { ports, ledger, sealKeys } = await openPorts({
    ...options,
    stack,
    directory,
    meters,
    publicUrl: () => url,
  })
  meters.tracing(ports.tracer)
  const worker = { owner: randomUUID(), serviceBucket: SERVICE_BUCKET, eventKey: () => ports.keys()[0] }
  const webhooks = openEvents({ config, meters, stack }, ports, sealKeys)
  const renderer = stack.use(openRenderer({ ports: { ...ports, meter: meters.renderer }, worker, engines, forceStop }))
  running.renderer = renderer
  forceStop.addEventListener('abort', () => ports.replies[Symbol.dispose]())
  if (engines.openHtml === undefined) log.warn({}, 'chromium not found, html renders refused')
  const { brand, dataDir, manifestsDir: dir, traffic } = config
  const settings = { brand, serviceBucket: SERVICE_BUCKET, webhooks: config.webhooks.policy, traffic }
  const manifests = {
    ...ports,
    ...settings,
    publisher: ports.directory,
    dir,
    dataDir,
    sealKeys,
    checks,
    checkWaitMs: CHECK_WAIT_MS,
    readAhead: openReadAhead(ports.clock),
  }
  stack.use(await openManifests(manifests, starting))
  await recover({ ...ports, ...worker, newest: await ledger.newest(starting) }, starting)
  const diskSpace = stack.use(await watchDiskSpace({ folder: config.dataDir, clock: ports.clock, log }))
  const healthy = health({ renderer, webhooks, diskSpace, databaseFailed: database.failed })
  const app = buildApp({
    ...ports,
    ...healthy,
    checks: bodyChecks,
    limiter: countedLimiter(ports.limiter, meters.api),
    meter: meters.api,
    settings: { ...settings, aloneSince: options.clock.now() },
  })
  serveArtifacts(app, ports.artifacts)
  stack.defer(() => app.close())
  const listening = await app.listen({ host, port: config.port })
  url ||= listening
  renderer.start()
  webhooks.begin()
  stack.use(probes.serving(healthy))
  const owned = stack.move()
  return { url: listening, failed: database.failed, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Opens batches and webhooks. `queuedByApiMs` is 0: after a restart, no other process finishes a half-queued batch. */
function openEvents(
  { config, meters, stack }: Pick<PortsOptions, 'config' | 'meters' | 'stack'>,
  ports: Awaited<ReturnType<typeof openPorts>>['ports'],
  sealKeys: SealKeys,
): Webhooks {
  const { brand } = config
  const common = { ...ports, serviceBucket: SERVICE_BUCKET, retriesMax: WEBHOOK_RETRY_MS.length }
  const batches = stack.use(openBatches({ ...common, queuedByApiMs: 0 }))
  return stack.use(
    openWebhooks({
      ports: { ...common, meter: meters.webhooks, onEvent: batches.onEvent },
      settings: { brand, retriesMax: WEBHOOK_RETRY_MS.length },
      sealKeys: () => sealKeys,
    }),
  )
}

/** Opens real metrics only if there is a port for them. They may be scraped before the renderer exists. */
async function metersOf(
  { engines, ...options }: ComposeOptions,
  { directory, running }: { readonly directory: Directory; readonly running: { readonly renderer?: Renderer } },
): Promise<Meters> {
  if (options.config.metricsPort === undefined) return NO_METERS
  const { openMeters } = await import('./meter/open-meters.ts')
  const isChromiumUp = () => running.renderer?.states().html === 'running'
  const meters = openMeters({ ...options, directory, ...(engines.openHtml && { isChromiumUp }) })
  engines.measure(meters.renderer)
  return meters
}

const CHECK_WAIT_MS = { first: MANIFEST_CHECKS_FIRST_MS, later: MANIFEST_CHECKS_LATER_MS }

interface PortsOptions extends ComposeOptions {
  readonly stack: AsyncDisposableStack
  readonly directory: ReturnType<typeof memoryDirectory>
  readonly meters: Meters
  readonly publicUrl: () => string
}

async function openPorts({ config, clock, log, stack, database, directory, meters, publicUrl }: PortsOptions) {
  const { dataDir, traces } = config
  const tracing = { traces, deployable: 'embedded', messagingSystem: 'platen', clock, log }
  const tracer = stack.use(await openTracer(tracing))
  const ids = systemIds()
  const starting = new AbortController().signal
  await removeTemporaryFiles(dataDir)
  const urlKey = await loadOrCreateKeyFile(join(dataDir, 'url-key'), KEY_BYTES, ids)
  const sealKeys: SealKeys = [await loadOrCreateKeyFile(join(dataDir, 'seal-key'), KEY_BYTES, ids)]
  const keys: KeyRing = config.idKeys ?? [await loadOrCreateKeyFile(join(dataDir, 'id-keys'), KEY_BYTES, ids)]
  const artifacts = await openFileArtifactStore({ root: join(dataDir, 'artifacts'), publicUrl, urlKey, clock })
  const ledger = sqliteRenderLedger(database, clock)
  const events = sqliteEventLog(database)
  const limiter = await openSqliteLimiter(database, clock, starting)
  const deliveries = await openSqliteDeliveryLog(database, { clock }, starting)
  const { policy, ca } = config.webhooks
  const sender = stack.use(senderAtFirstCall({ clock, policy, ca: () => ca }))
  stack.use(
    keepRetention({
      ledger,
      artifacts,
      deliveries,
      serviceBucket: SERVICE_BUCKET,
      facts: [events, limiter],
      forgetRecords: (id, signal) => ledger.forgetRecords(id, signal),
      clock,
      log,
      meter: meters.retention,
    }),
  )
  const byLane = ledgerByLane({ memory: memoryRenderLedger(clock), disk: ledger })
  const queue = queueByLane({ memory: memoryRenderQueue(), disk: sqliteRenderQueue(database) })
  const ports = {
    artifacts,
    events,
    deliveries,
    sender,
    limiter,
    queue,
    clock,
    ids,
    keys: () => keys,
    log,
    tracer,
    list: sqliteRenderList(database, clock),
    deliveryList: sqliteDeliveryList(database, clock),
    ...memoryRenderEnds(byLane),
    replies: memoryReplyChannel(),
    directory,
  }
  return { ports, ledger, sealKeys }
}

/** The client has a hundred modules, and is loaded for the first request. */
function senderAtFirstCall(options: WebhookSenderOptions): WebhookSender {
  let opening: Promise<WebhookSender> | undefined
  const open = async () => (await import('@platen/adapters/http/webhook-sender.ts')).webhookSender(options)
  return {
    async post(request, signal) {
      opening ??= open()
      return await (await opening).post(request, signal)
    },
    [Symbol.asyncDispose]: async () => await (await opening)?.[Symbol.asyncDispose](),
  }
}

interface HealthInput {
  readonly renderer: Renderer
  readonly webhooks: Webhooks
  readonly diskSpace: DiskSpace
  readonly databaseFailed: AbortSignal
}

/** Ready while at least one engine runs and the stores can keep a result. */
function health({
  renderer,
  webhooks,
  diskSpace,
  databaseFailed,
}: HealthInput): Health & Pick<ApiPorts, 'engineStatus'> {
  return {
    engineStatus(engine) {
      const state = renderer.states()[engine]
      if (state === 'missing') return state
      const isStarted = state === 'starting' || state === 'running'
      return isStarted && diskSpace.isSufficient() ? 'available' : 'unavailable'
    },
    isReady() {
      const engines = renderer.states()
      const ready = !databaseFailed.aborted && diskSpace.isSufficient() && Object.values(engines).includes('running')
      return { ready, detail: { engines, disk: diskSpace.isSufficient() ? 'ok' : 'full' } }
    },
    isAlive: () => !databaseFailed.aborted && webhooks.isAlive() && !Object.values(renderer.states()).includes('dead'),
  }
}
