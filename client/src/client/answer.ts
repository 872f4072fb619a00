import { PlatenError } from '../error.ts'
import { fieldOf, parseJson } from '../json.ts'
import { fromWire } from '../spelling.ts'
import { ConsumerError, networkError } from '../transport.ts'
import type { BatchAccepted, RenderAccepted, UsageRate } from '../wire.ts'

/** Units of the month. */
export interface Quota {
  readonly limit: number
  /** Neither used nor reserved for renders that have not ended. */
  readonly remaining: number
}

/** The rate with the fewest renders left. */
export type Rate = Pick<UsageRate, 'limit' | 'remaining' | 'resetsAt'>

interface StartAnswer {
  /** Whether this answers an earlier call with the same `idempotencyKey`. Such an answer has no quota and no rate. */
  readonly isReplayed: boolean
  /** Undefined if the plan sets no quota, and in the sandbox. */
  readonly quota: Quota | undefined
  readonly rate: Rate | undefined
  /** The id to give to the operator of the service when asking about this call. */
  readonly requestId: string | undefined
}

export interface RenderAnswer extends StartAnswer {
  readonly renderId: string
}

export interface PdfAnswer extends RenderAnswer {
  /** Rendering time in milliseconds. */
  readonly renderMs: number
  /** Undefined if a proxy has removed the header. So is `warningCount`. */
  readonly pages: number | undefined
  /** How many warnings the document has. `getRender` reads them. */
  readonly warningCount: number | undefined
  readonly filename: string | undefined
}

/**
 * The type that `new Response(pdf)` and `new Blob([pdf])` ask for. TypeScript before 5.7 does not know the name `Uint8Array<ArrayBuffer>`.
 */
export type PdfBytes = ReturnType<typeof Uint8Array.of>

export interface RenderedPdf extends PdfAnswer {
  readonly pdf: PdfBytes
}

export interface AcceptedRender extends RenderAnswer {
  /** Path of its status record. */
  readonly pollUrl: string
}

export interface AcceptedBatch extends StartAnswer {
  readonly batchId: string
  readonly total: number
  /** Path of the status of the batch. */
  readonly pollUrl: string
}

export type PdfConsumer = (pdf: AsyncIterable<PdfBytes>) => Promise<void>

/** What a field of an answer has to be. `list` is a list of objects; `string?` may be absent. */
type Kind = 'string' | 'string?' | 'number' | 'list'

/** The fields that tell an answer of the service from somebody else's JSON. A newer service may send more. */
export type Shape<T> = { readonly [Name in keyof T]?: Kind }

/** Rejects with `INVALID_ANSWER` if a field is of another kind. */
export function jsonOf<T>(shape: Shape<T>): (response: Response) => Promise<T> {
  return async (response) => {
    const answer = spelled(await response.text())
    if (answer === undefined) throw invalidAnswer(response, 'the answer is not a JSON object')
    const fault = Object.entries<Kind | undefined>(shape).find(([name, kind]) => !isOf(kind, fieldOf(answer, name)))
    // The service's tests check its answers against the same schemas that these types are checked against.
    if (fault === undefined) return answer as T
    throw invalidAnswer(
      response,
      `the answer is not from the service: its field ${fault[0]} is missing or of another type`,
    )
  }
}

/** Undefined if the text is no JSON object. */
function spelled(text: string): object | undefined {
  const parsed = parseJson(text)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined
  try {
    return fromWire<object>(parsed)
  } catch {
    // It is nested too deep.
    return undefined
  }
}

function isOf(kind: Kind | undefined, value: unknown): boolean {
  if (kind === 'string?') return value === undefined || typeof value === 'string'
  if (kind === 'list') return Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null)
  return typeof value === kind
}

const PDF_HEAD = new TextEncoder().encode('%PDF-')

/** Rejects with `INVALID_ANSWER` if the body is no PDF, such as the page of a proxy. */
export async function readPdf(response: Response): Promise<PdfBytes> {
  checkContentType(response)
  const pdf = new Uint8Array(await response.arrayBuffer())
  if (!beginsAsPdf(pdf)) throw notPdf(response)
  return pdf
}

function checkContentType(response: Response): void {
  const type = response.headers.get('content-type') ?? ''
  if (!/^application\/pdf\s*(?:;|$)/i.test(type)) throw notPdf(response)
}

function beginsAsPdf(bytes: Uint8Array): boolean {
  return PDF_HEAD.every((byte, at) => bytes[at] === byte)
}

function notPdf(response: Response): PlatenError {
  return invalidAnswer(response, 'the answer is not a PDF from the service')
}

function invalidAnswer({ status, headers }: Response, message: string): PlatenError {
  return new PlatenError({ code: 'INVALID_ANSWER', message, status, requestId: requestIdOf(headers) })
}

function requestIdOf(headers: Headers): string | undefined {
  return headers.get('x-request-id') ?? undefined
}

export function pdfAnswerOf(response: Response, brand: string): PdfAnswer {
  const { headers } = response
  const renderId = headers.get(`x-${brand}-render-id`)
  if (renderId === null) throw notPdf(response)
  const renderMs = Number(headers.get(`x-${brand}-render-ms`))
  const pages = wholeNumberOf(headers, `x-${brand}-pages`)
  const warningCount = wholeNumberOf(headers, `x-${brand}-warnings`)
  return { renderId, renderMs, pages, warningCount, filename: filenameOf(headers), ...commonOf(headers, brand) }
}

const readRenderAccepted = jsonOf<RenderAccepted>({ renderId: 'string', pollUrl: 'string' })

export async function readAccepted(response: Response, brand: string): Promise<AcceptedRender> {
  const { renderId, pollUrl } = await readRenderAccepted(response)
  return { renderId, pollUrl, ...commonOf(response.headers, brand) }
}

const readBatchAccepted = jsonOf<BatchAccepted>({ batchId: 'string', total: 'number', pollUrl: 'string' })

export async function readAcceptedBatch(response: Response, brand: string): Promise<AcceptedBatch> {
  const { batchId, total, pollUrl } = await readBatchAccepted(response)
  return { batchId, total, pollUrl, ...commonOf(response.headers, brand) }
}

function commonOf(headers: Headers, brand: string): StartAnswer {
  const isReplayed = headers.get('idempotent-replayed') === 'true'
  const quota = countOf(headers, `x-${brand}-quota`)
  const rate = countOf(headers, 'x-ratelimit')
  const resetS = wholeNumberOf(headers, 'x-ratelimit-reset')
  const resetsAt = resetS === undefined ? undefined : new Date(resetS * 1000).toISOString()
  return {
    isReplayed,
    quota,
    rate: rate && resetsAt !== undefined ? { ...rate, resetsAt } : undefined,
    requestId: requestIdOf(headers),
  }
}

function countOf(headers: Headers, prefix: string): Quota | undefined {
  const limit = wholeNumberOf(headers, `${prefix}-limit`)
  const remaining = wholeNumberOf(headers, `${prefix}-remaining`)
  return limit === undefined || remaining === undefined ? undefined : { limit, remaining }
}

/** Other servers use some of these names for other values. */
function wholeNumberOf(headers: Headers, name: string): number | undefined {
  const text = headers.get(name)
  return text !== null && /^\d{1,12}$/.test(text) ? Number(text) : undefined
}

/** Prefers `filename*`: `filename` is the fallback for clients that do not know it (RFC 6266). */
export function filenameOf(headers: Headers): string | undefined {
  const disposition = headers.get('content-disposition') ?? ''
  const [, encoded] = /filename\*=UTF-8''([^;]+)/i.exec(disposition) ?? []
  const [, quoted] = /filename="((?:[^"\\]|\\.)*)"/i.exec(disposition) ?? []
  return encoded === undefined ? quoted?.replaceAll(/\\(.)/g, '$1') : decodeURIComponent(encoded)
}

/**
 * Hands the body to a consumer. An error of the consumer ends the call. If the connection breaks, the call is repeated, whatever the
 * consumer does then.
 */
export async function consume(response: Response, consumer: PdfConsumer): Promise<void> {
  checkContentType(response)
  const reader = response.body?.getReader()
  // Ends the transfer if the consumer stops early. Fails if the body is broken: then nothing is left to cancel.
  const cancel = () => reader?.cancel().catch(() => {})
  const read = async () => (await reader?.read())?.value
  const head = await readHead(read)
  if (!beginsAsPdf(head)) {
    await cancel()
    throw notPdf(response)
  }
  let broken: PlatenError | undefined
  async function* pieces() {
    try {
      for (let piece: PdfBytes | undefined = head; piece !== undefined; piece = await read()) yield piece
    } catch (cause) {
      broken = networkError(cause)
      throw broken
    } finally {
      await cancel()
    }
  }
  try {
    await consumer(pieces())
  } catch (cause) {
    if (broken === undefined) throw new ConsumerError('the PDF was not taken', { cause })
  }
  if (broken !== undefined) throw broken
}

async function readHead(read: () => Promise<PdfBytes | undefined>): Promise<PdfBytes> {
  let head: PdfBytes = new Uint8Array()
  for (let piece = await read(); piece !== undefined; piece = await read()) {
    const joined = new Uint8Array(head.length + piece.length)
    joined.set(head)
    joined.set(piece, head.length)
    head = joined
    if (head.length >= PDF_HEAD.length) break
  }
  return head
}
