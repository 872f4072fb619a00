/**
 * DELETE /render/:id: cancels a render that waits or runs, and removes the stored data of one that has ended.
 *
 * The manifest decides, as for every end of a render: whoever creates it first says how the render ended. The ledger is told before that.
 * From then on no renderer begins the render, and the one that has it ends it and writes the manifest itself, because only the record has
 * all fields of it. A sync caller may have its PDF already while the outcome is being stored, so that renderer gets a moment. If nobody has
 * the render, or no outcome comes, a cancellation is created in place of the manifest; the renderer that gets the record completes it.
 *
 * Each step can be repeated. So after a 503, or if the caller or this process died, another DELETE finishes what this one began.
 */
import { logWith, traceIdOf } from '@platen/contract/domain/log-fields.ts'
import {
  type Cancellation,
  cancellationOf,
  type EndedManifest,
  encodeManifest,
  isCanceled,
  type Manifest,
  manifestAddress,
  type RemovedManifest,
  removedManifestOf,
  renderPrefix,
  viewOf,
} from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import type { FastifyInstance } from 'fastify'
import { type Caller, callerOf, scopeOf } from '../admission/authenticate.ts'
import { pollManifest, readManifest } from '../admission/manifest.ts'
import { recordExpiry } from '../admission/submit.ts'
import { PORT_CALL_MS_MAX } from '../limit.ts'
import type { ApiPorts } from '../ports.ts'
import { isUnavailable, logTolerated, unavailable } from '../problem.ts'
import { deleteRenderSchema } from './delete-render.schema.ts'
import { isExpired, mayWait, notKept, recordOf, renderOf, viewInLedger } from './get-render.ts'

const SECOND_MS = 1000

/**
 * How long a canceled render may take to end by itself: a renderer notices within half a second, ends the document and stores the outcome.
 */
export const CANCELED_WAIT_MS = 2 * SECOND_MS

export function deleteRenderRoute(app: FastifyInstance, given: ApiPorts): void {
  app.delete<{ Params: { id: string } }>('/render/:id', { schema: deleteRenderSchema() }, async (request, reply) => {
    const log = logWith(given.log, { requestId: request.id, traceId: traceIdOf(request.trace) })
    const ports = { ...given, log }
    const id = renderOf(request, request.params.id, ports)
    const manifest = (await readManifest(id, ports)) ?? (await cancel(id, callerOf(request), ports))
    if (manifest.kind === 'erased' || isExpired(manifest, ports)) throw notKept()
    if (manifest.kind === 'canceled') await complete(manifest, ports)
    if (manifest.kind === 'canceled' || manifest.kind === 'abandoned' || isCanceled(manifest.outcome))
      return await reply.send(recordOf(viewOf(manifest)))
    await remove(manifest, callerOf(request), ports)
    return await reply.code(204).send()
  })
}

/** Returns the outcome that counts, which may be that of a renderer. */
async function cancel(id: RenderId, caller: Caller, ports: ApiPorts): Promise<Manifest> {
  if (!mayWait(id, ports)) throw notKept()
  const view = await viewInLedger(id, ports)
  const awaited = (await mayBeHeld(id, ports)) ? await outcomeSoon(id, ports) : undefined
  if (awaited !== undefined) return awaited
  const { artifacts, clock, settings } = ports
  const manifest = cancellationOf(canceledRender(id, caller, view?.template), clock.now())
  const creating = artifacts.create(
    manifestAddress(id, settings.serviceBucket),
    encodeManifest(manifest),
    clock.timeout(PORT_CALL_MS_MAX),
  )
  const [isOurs] = await Promise.all([creating, recordExpiry(manifest.render, ports)])
  if (isOurs) return manifest
  const other = await readManifest(id, ports)
  if (other === undefined) throw unavailable()
  return other
}

/** Returns whether a renderer may have the render. */
async function mayBeHeld(id: RenderId, { ledger, clock, log }: ApiPorts): Promise<boolean> {
  try {
    return await ledger.cancel(id, clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    if (!isUnavailable(err)) throw err
    logTolerated(log, { render: id, err }, 'renderer not told of a cancellation')
    return true
  }
}

async function outcomeSoon(id: RenderId, ports: ApiPorts): Promise<Manifest | undefined> {
  const over = ports.clock.timeout(CANCELED_WAIT_MS)
  try {
    return await pollManifest(id, ports, over)
  } catch (error) {
    if (over.aborted) return undefined
    throw error
  }
}

/** Storage and retention may have changed since the request. The manifest is corrected from the record later. */
function canceledRender(
  id: RenderId,
  { tenant, key }: Caller,
  code: TemplateCode | undefined,
): Parameters<typeof cancellationOf>[0] {
  return {
    id,
    tenant: tenant.id,
    account: tenant.account,
    environment: key.environment,
    storage: tenant.storage,
    retentionDays: tenant.limits.retentionDays,
    ...(code !== undefined && { template: { code } }),
  }
}

/** Frees the reservation and shows the end. The renderer that gets the record repeats this. */
async function complete(manifest: Cancellation, { ledger, limiter, clock, log }: ApiPorts): Promise<void> {
  const signal = clock.timeout(PORT_CALL_MS_MAX)
  const results = await Promise.allSettled([limiter.complete(manifest, signal), ledger.complete(manifest, signal)])
  for (const each of results) {
    if (each.status === 'rejected')
      logTolerated(log, { render: manifest.render.id, err: each.reason }, 'canceled render not completed')
  }
}

/** Removes PDF and input. The manifest comes first: from then on no answer has a link that leads nowhere. */
async function remove(manifest: EndedManifest | RemovedManifest, caller: Caller, ports: ApiPorts): Promise<void> {
  const { artifacts, clock, settings } = ports
  const { id, storage } = manifest.render
  const signal = clock.timeout(PORT_CALL_MS_MAX)
  // The renderer may not have published this outcome yet, and a view must not show the render meanwhile.
  await mayBeHeld(id, ports)
  if (manifest.kind === 'ended') {
    const removed = encodeManifest(removedManifestOf(manifest))
    await artifacts.put(manifestAddress(id, settings.serviceBucket), removed, signal)
  }
  await unlist(id, caller, ports)
  for await (const address of artifacts.list(storage.bucket, renderPrefix(storage.prefix, id), signal))
    await artifacts.delete(address, signal)
  if (manifest.kind === 'removed') throw notKept()
}

/** The list is only a view. A repeated DELETE does this again. */
async function unlist(id: RenderId, caller: Caller, { list, clock, log }: ApiPorts): Promise<void> {
  try {
    await list.remove(scopeOf(caller), id, clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    if (!isUnavailable(err)) throw err
    logTolerated(log, { render: id, err }, 'removed render still listed')
  }
}
