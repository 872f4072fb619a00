/**
 * GET /render/:id: the status of a render. The id itself proves whether it was issued to this caller, so an invented or foreign id calls no
 * store. The manifest says how a render ended. Without a manifest, the ledger says how far it has come: the ledger may have missed or lost
 * an end that a caller was shown.
 *
 * A render is shown for as long as its plan said when it was accepted, and no longer. Its removal may come up to a day later. If nothing is
 * found, the render still waits. After the day in which every render ends, it is no longer kept.
 *
 * With `wait` the answer is the same, only later: when the render has ended, or at last when the time is over, the caller has left or this
 * process stops.
 */
import { ServiceError } from '@platen/contract/domain/error.ts'
import { fileNameOf } from '@platen/contract/domain/file-name.ts'
import { QUEUE_AGE_MS_MAX } from '@platen/contract/domain/limit.ts'
import { logWith, traceIdOf } from '@platen/contract/domain/log-fields.ts'
import {
  expiryOf,
  type Failure,
  isTerminal,
  labelsOf,
  type Manifest,
  type RenderView,
  viewOf,
} from '@platen/contract/domain/render.ts'
import { issuedAt, type RenderId, verifyRenderId } from '@platen/contract/domain/render-id.ts'
import { warningFieldsOf } from '@platen/contract/domain/warning.ts'
import type { StatusRecord } from '@platen/contract/schema/response.ts'
import { throwUnlessAborted } from '@platen/lib/race.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { callerOf, scopeOf } from '../admission/authenticate.ts'
import { readManifest } from '../admission/manifest.ts'
import { PORT_CALL_MS_MAX } from '../limit.ts'
import type { ApiPorts } from '../ports.ts'
import { isUnavailable, logTolerated } from '../problem.ts'
import { callerGoneSignal } from '../traffic/answer-end.ts'
import type { WaitPlaces } from '../traffic/wait-places.ts'
import { getRenderSchema } from './get-render.schema.ts'
import { PDF_URL_MS, POLL_RETRY_AFTER_S, WAIT_LOOK_MS } from './limit.ts'

const SECOND_MS = 1000

/** How long a status or a PDF waits for the outcome of a sync render to be recorded. Usually that takes some tens of milliseconds. */
export const SYNC_RECORD_MS_MAX = SECOND_MS

interface Route {
  readonly Params: { readonly id: string }
  readonly Querystring: { readonly wait?: number }
}

export function getRenderRoute(app: FastifyInstance, given: ApiPorts, places: WaitPlaces): void {
  app.get<Route>('/render/:id', { schema: getRenderSchema() }, async (request, reply) => {
    const log = logWith(given.log, { requestId: request.id, traceId: traceIdOf(request.trace) })
    const ports = { ...given, log }
    const id = renderOf(request, request.params.id, ports)
    const { wait = 0 } = request.query
    const view = await viewOfYoung(id, ports)
    const waitMs = wait > 0 ? wait * 1000 : recordMsOf(view)
    using place = waitMs === 0 ? undefined : places.take(callerOf(request).tenant.account)
    if (place === undefined) {
      const record = await statusBy(view, id, ports)
      // The status is right all the same. A refusal would be one more error to handle.
      if (wait > 0 && !isTerminal(record.status)) reply.header('retry-after', `${POLL_RETRY_AFTER_S}`)
      return await reply.send(record)
    }
    const over = AbortSignal.any([place.closing, callerGoneSignal(reply), ports.clock.timeout(waitMs)])
    return await reply.send(await statusAtEnd(id, ports, over))
  })
}

/**
 * How long to wait for the outcome of a sync render without `wait`: its caller has the PDF before the outcome is recorded, and may ask at
 * once.
 */
function recordMsOf(view: RenderView | undefined): number {
  return isOpen(view) && view?.isSync === true ? SYNC_RECORD_MS_MAX : 0
}

/** Waits until the outcome of a sync render is recorded, if that may be about to happen. */
export async function syncRecorded(id: RenderId, { ports, places, reply, account }: SyncRecord): Promise<void> {
  const waitMs = recordMsOf(await viewOfYoung(id, ports))
  using place = waitMs === 0 ? undefined : places.take(account)
  if (place === undefined) return
  const over = AbortSignal.any([place.closing, callerGoneSignal(reply), ports.clock.timeout(waitMs)])
  await statusAtEnd(id, ports, over)
}

interface SyncRecord {
  readonly ports: ApiPorts
  readonly places: WaitPlaces
  readonly reply: FastifyReply
  readonly account: string
}

/**
 * The status when the render has ended, or the current one when `over` aborts. Does not read the manifest while the ledger says that the
 * render waits or runs, because many callers may wait for long.
 */
async function statusAtEnd(id: RenderId, ports: ApiPorts, over: AbortSignal): Promise<StatusRecord> {
  using pending = ports.ends.expect(id)
  for (;;) {
    const step = AbortSignal.any([over, ports.clock.timeout(WAIT_LOOK_MS)])
    await pending.mayHaveEnded(step).catch(throwUnlessAborted(step))
    const view = await viewOfYoung(id, ports)
    if (!over.aborted && isOpen(view) && view?.mayHaveEnded !== true) continue
    const record = await statusBy(view, id, ports)
    if (isTerminal(record.status) || over.aborted) return record
  }
}

function isOpen(view: RenderView | undefined): boolean {
  return view !== undefined && !isTerminal(view.state.status)
}

/** Throws `RENDER_NOT_FOUND` if the id was not issued to the caller. */
export function renderOf(request: FastifyRequest, text: string, { keys }: Pick<ApiPorts, 'keys'>): RenderId {
  const id = verifyRenderId(text, scopeOf(callerOf(request)), keys())
  if (id === undefined) throw new ServiceError('RENDER_NOT_FOUND', 'No render of this id was issued to this key.')
  request.render = id
  return id
}

/** Every render ends within a day and is kept for at least that day. After it, only the manifest counts. */
async function viewOfYoung(id: RenderId, ports: ApiPorts): Promise<RenderView | undefined> {
  return mayWait(id, ports) ? await viewInLedger(id, ports) : undefined
}

/** Reads the manifest after the ledger (`view`), so that no end can come between the two. */
async function statusBy(view: RenderView | undefined, id: RenderId, ports: ApiPorts): Promise<StatusRecord> {
  const failed = view?.state.status === 'failed' && view.state.error.code !== 'canceled' ? view : undefined
  const manifest = await readManifest(id, ports).catch((error: unknown) => {
    // The manifest is damaged or unavailable. The view says how the render failed, or that its outcome is lost.
    if (failed === undefined) throw error
    return undefined
  })
  if (manifest !== undefined) {
    const isKept = manifest.kind !== 'removed' && manifest.kind !== 'erased' && !isExpired(manifest, ports)
    if (!isKept) throw notKept()
    return await recordOfManifest(manifest, ports)
  }
  if (!mayWait(id, ports)) throw notKept()
  const shown = failed ?? (isOpen(view) ? view : undefined)
  return shown ? recordOf(shown) : { render_id: id, status: 'queued', created_at: timeOf(issuedAt(id)) }
}

/** After a day every render has ended. */
export function mayWait(id: RenderId, { clock }: Pick<ApiPorts, 'clock'>): boolean {
  return clock.now() - issuedAt(id) < QUEUE_AGE_MS_MAX
}

/** Does not tell whether the render was erased, removed, expired or never finished: its data is gone either way. */
export function notKept(): ServiceError {
  return new ServiceError(
    'RENDER_EXPIRED',
    'This render is no longer kept: it was deleted, its time is over, or it was not finished within a day.',
  )
}

/** The ledger is only a view. Without it, the manifest still has the answer. */
export async function viewInLedger(id: RenderId, { ledger, clock, log }: ApiPorts): Promise<RenderView | undefined> {
  try {
    return await ledger.find(id, clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    if (!isUnavailable(err)) throw err
    logTolerated(log, { render: id, err }, 'ledger lookup failed')
    return undefined
  }
}

export function isExpired({ render, outcome }: Manifest, { clock }: ApiPorts): boolean {
  return expiryOf(render, outcome.finishedAt) <= clock.now()
}

async function recordOfManifest(manifest: Manifest, { artifacts, clock }: ApiPorts): Promise<StatusRecord> {
  const record = recordOf(viewOf(manifest))
  if (manifest.kind !== 'ended' || manifest.outcome.status === 'failed') return record
  const { render, outcome } = manifest
  const expiresAt = Math.min(clock.now() + PDF_URL_MS, expiryOf(render, outcome.finishedAt))
  const grant = { expiresAt, filename: fileNameOf(render) }
  const url = await artifacts.presign(outcome.pdf.address, grant, clock.timeout(PORT_CALL_MS_MAX))
  return { ...record, pdf_url: url }
}

export function recordOf({ id, template, acceptedAt, state, batch, ...labels }: RenderView): StatusRecord {
  const named = { render_id: id, ...(template !== undefined && { template }), ...labelsOf(labels) }
  const record = {
    ...named,
    ...(batch !== undefined && { batch_id: batch }),
    status: state.status,
    created_at: timeOf(acceptedAt),
  }
  switch (state.status) {
    case 'queued':
    case 'running':
      return record
    case 'succeeded': {
      const { pdf, finishedAt, pages } = state
      const size = { pdf_size_bytes: pdf.bytes, ...(pages !== undefined && { pages }) }
      return { ...record, ...size, finished_at: timeOf(finishedAt), ...warningFieldsOf(state) }
    }
    case 'failed':
      return {
        ...record,
        finished_at: timeOf(state.finishedAt),
        error: errorOf(state.error),
        ...warningFieldsOf(state),
      }
  }
}

function errorOf({ code, message }: Failure): NonNullable<StatusRecord['error']> {
  return { code, reason: code, message }
}

/** RFC 3339, in UTC. */
export function timeOf(instant: number): string {
  return new Date(instant).toISOString()
}
