/**
 * GET and HEAD /render/:id/pdf: the PDF itself, with the key. It is read from the store piece by piece, the next piece when the caller has
 * taken the one before. So a slow reader holds at most two pieces in memory, and no connection of the store.
 *
 * A whole PDF is compared with its digest before its last piece is sent: a damaged one of a single piece is refused, and a longer one is
 * cut off. A part is sent as the store has it.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { selectBytes } from '@platen/contract/domain/byte-range.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { contentDisposition, fileNameOf } from '@platen/contract/domain/file-name.ts'
import type { EndedRender, FailedOutcome, Outcome, Pdf } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { callerOf, scopeOf } from '../../admission/authenticate.ts'
import { readManifest } from '../../admission/manifest.ts'
import type { AnswerBudget } from '../../body/answer-budget.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import type { ApiPorts } from '../../ports.ts'
import { callerGoneSignal, holdUntilSent } from '../../traffic/answer-end.ts'
import type { WaitPlaces } from '../../traffic/wait-places.ts'
import { isExpired, mayWait, notKept, renderOf, syncRecorded } from '../get-render.ts'
import { POLL_RETRY_AFTER_S } from '../limit.ts'
import { getPdfSchema, QUERY } from './get-pdf.schema.ts'

/** The part of a PDF that a reader holds in memory. Most PDFs are smaller, so they are read in one call. */
export const PDF_PIECE_BYTES_MAX = 1024 * 1024

interface Route {
  Params: { id: string }
  Querystring: { disposition?: 'inline' | 'attachment' }
}

type PdfRequest = FastifyRequest<Route>

interface PdfContext {
  readonly ports: ApiPorts
  readonly answers: AnswerBudget
  readonly places: WaitPlaces
}

export function getPdfRoute(app: FastifyInstance, context: PdfContext): void {
  const handler = (request: PdfRequest, reply: FastifyReply) => sendPdf(request, reply, context)
  // Fastify's own HEAD route would read the whole document.
  app.get<Route>('/render/:id/pdf', { schema: getPdfSchema(), exposeHeadRoute: false }, handler)
  app.head<Route>('/render/:id/pdf', { schema: { querystring: QUERY, hide: true } }, handler)
}

async function sendPdf(
  request: PdfRequest,
  reply: FastifyReply,
  { ports, answers, places }: PdfContext,
): Promise<FastifyReply> {
  const id = renderOf(request, request.params.id, ports)
  const account = callerOf(request).tenant.account
  const { render, outcome } = await succeeded(id, ports, () => syncRecorded(id, { ports, places, reply, account }))
  const { status, headers, range } = selectBytes(request, outcome.pdf)
  const shown = contentDisposition(fileNameOf(render))
  const disposition = request.query.disposition === 'attachment' ? shown.replace('inline', 'attachment') : shown
  const described = { ...headers, 'content-disposition': disposition, 'content-type': 'application/pdf' }
  if (range === undefined) return await reply.code(status).headers(described).send()
  const scope = scopeOf(callerOf(request))
  answers.require(scope)
  holdUntilSent(reply, answers.hold(scope, Math.min(outcome.pdf.bytes, 2 * PDF_PIECE_BYTES_MAX)))
  const pieces = piecesOf(outcome.pdf, { range, callerGone: callerGoneSignal(reply) }, ports)
  // Read before the answer begins, so that an unreadable PDF is refused.
  const first = await pieces.next()
  reply.code(status).headers(described)
  return await reply.send(Readable.from(continued(first, pieces), { objectMode: false }))
}

interface Succeeded {
  readonly render: EndedRender
  readonly outcome: Extract<Outcome, { status: 'succeeded' }>
}

/** Throws `RENDER_NOT_FINISHED`, `PDF_NOT_FOUND` or `RENDER_EXPIRED`. */
async function succeeded(id: RenderId, ports: ApiPorts, recorded: () => Promise<void>): Promise<Succeeded> {
  let manifest = await readManifest(id, ports)
  if (manifest === undefined && mayWait(id, ports)) {
    await recorded()
    manifest = await readManifest(id, ports)
  }
  if (manifest === undefined && mayWait(id, ports)) {
    throw new ServiceError('RENDER_NOT_FINISHED', 'The render has not ended yet.', {
      headers: { 'retry-after': `${POLL_RETRY_AFTER_S}` },
    })
  }
  if (manifest === undefined || isExpired(manifest, ports)) throw notKept()
  switch (manifest.kind) {
    case 'ended': {
      const { render, outcome } = manifest
      if (outcome.status === 'failed') throw noPdf(outcome)
      return { render, outcome }
    }
    case 'abandoned':
    case 'canceled':
      throw noPdf(manifest.outcome)
    case 'removed':
    case 'erased':
      throw notKept()
  }
}

function noPdf({ error }: FailedOutcome): ServiceError {
  return new ServiceError('PDF_NOT_FOUND', `The render failed (${error.code}), so it has no PDF.`)
}

/** Yields the bytes from `start` to `end`. Throws if the PDF is damaged. */
async function* piecesOf(
  { address, bytes, sha256 }: Pdf,
  {
    range: { start, end },
    callerGone,
  }: { readonly range: { readonly start: number; readonly end: number }; readonly callerGone: AbortSignal },
  { artifacts, clock }: ApiPorts,
): AsyncGenerator<Uint8Array, void> {
  const isWhole = end - start + 1 === bytes
  const hash = createHash('sha256')
  for (let at = start; at <= end; at += PDF_PIECE_BYTES_MAX) {
    const until = Math.min(end, at + PDF_PIECE_BYTES_MAX - 1)
    callerGone.throwIfAborted()
    const piece = await artifacts.getPart(address, { start: at, end: until }, clock.timeout(PORT_CALL_MS_MAX))
    if (piece === undefined) throw new ServiceError('INTERNAL_ERROR', 'The PDF of this render is missing.')
    hash.update(piece)
    const isDamaged = piece.byteLength !== until - at + 1 || (isWhole && until === end && hash.digest('hex') !== sha256)
    if (isDamaged) {
      throw new ServiceError('INTERNAL_ERROR', 'The PDF of this render was damaged where it is stored.', {
        cause: new Error(`${address.bucket}/${address.key} differs from the stored PDF`),
      })
    }
    yield piece
  }
}

async function* continued<T>(first: IteratorResult<T, void>, rest: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  if (first.done) return
  yield first.value
  yield* rest
}
