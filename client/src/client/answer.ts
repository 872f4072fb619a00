/** Reads the answers of the service: records, PDFs, and what the headers say. */
import { PlatenError } from '../error.ts'
import { fromWire, type Wire } from '../spelling.ts'
import { ConsumerError, networkError } from '../transport.ts'
import type { BatchAccepted, RenderAccepted, UsageRate } from '../wire.ts'

/** Units of the month. */
export interface Quota {
  readonly limit: number
  /** Without those that are used, and those reserved for renders that have not ended. */
  readonly remaining: number
}

/** The rate with the fewest renders left. */
export type Rate = Pick<UsageRate, 'limit' | 'remaining' | 'resetsAt'>

/** What the service says when it starts renders. */
interface StartAnswer {
  /** Is this the answer to an earlier call with the same `idempotencyKey`? Such an answer has no quota and no rate. */
  readonly isReplayed: boolean
  /** Undefined if the plan sets no quota, and in the sandbox. */
  readonly quota: Quota | undefined
  readonly rate: Rate | undefined
}

/** What the service says with every render. */
export interface RenderAnswer extends StartAnswer {
  readonly renderId: string
}

/** What the service says with a PDF. */
export interface PdfAnswer extends RenderAnswer {
  /** Rendering time in milliseconds. */
  readonly renderMs: number
  /** Undefined from services of older versions, as `warningCount` is. */
  readonly pages: number | undefined
  /** How many warnings the document has. `getRender` reads them. */
  readonly warningCount: number | undefined
  readonly filename: string | undefined
}

export interface RenderedPdf extends PdfAnswer {
  readonly pdf: Uint8Array
}

/** A render that the service has accepted and will make. */
export interface AcceptedRender extends RenderAnswer {
  /** Path of its status record. */
  readonly pollUrl: string
}

/** A batch that the service has accepted: each of its renders will be made. */
export interface AcceptedBatch extends StartAnswer {
  readonly batchId: string
  /** Renders of the batch. */
  readonly total: number
  /** Path of the status of the batch. */
  readonly pollUrl: string
}

/** Takes a PDF piece by piece. */
export type PdfConsumer = (pdf: AsyncIterable<Uint8Array>) => Promise<void>

export async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text()
  try {
    // The service's tests check its answers against the same schemas that these types are checked against.
    return fromWire<T>(JSON.parse(text) as Wire<T>)
  } catch (cause) {
    throw new PlatenError({ code: 'INVALID_ANSWER', message: 'the answer is not JSON', status: response.status, cause })
  }
}

export async function readBytes(response: Response): Promise<Uint8Array> {
  return new Uint8Array(await response.arrayBuffer())
}

/** Reads the headers of a PDF. */
export function pdfAnswerOf({ headers, status }: Response, brand: string): PdfAnswer {
  const renderId = headers.get(`x-${brand}-render-id`)
  if (renderId === null || !headers.get('content-type')?.startsWith('application/pdf')) {
    throw new PlatenError({ code: 'INVALID_ANSWER', message: 'the answer is not a PDF from the service', status })
  }
  const renderMs = Number(headers.get(`x-${brand}-render-ms`))
  const pages = wholeNumberOf(headers, `x-${brand}-pages`)
  const warningCount = wholeNumberOf(headers, `x-${brand}-warnings`)
  return { renderId, renderMs, pages, warningCount, filename: filenameOf(headers), ...commonOf(headers, brand) }
}

export async function readAccepted(response: Response, brand: string): Promise<AcceptedRender> {
  const { renderId, pollUrl } = await readJson<RenderAccepted>(response)
  return { renderId, pollUrl, ...commonOf(response.headers, brand) }
}

export async function readAcceptedBatch(response: Response, brand: string): Promise<AcceptedBatch> {
  const { batchId, total, pollUrl } = await readJson<BatchAccepted>(response)
  return { batchId, total, pollUrl, ...commonOf(response.headers, brand) }
}

function commonOf(headers: Headers, brand: string): StartAnswer {
  const isReplayed = headers.get('idempotent-replayed') === 'true'
  const quota = countOf(headers, `x-${brand}-quota`)
  const rate = countOf(headers, 'x-ratelimit')
  const resetS = wholeNumberOf(headers, 'x-ratelimit-reset')
  const resetsAt = resetS === undefined ? undefined : new Date(resetS * 1000).toISOString()
  return { isReplayed, quota, rate: rate && resetsAt !== undefined ? { ...rate, resetsAt } : undefined }
}

function countOf(headers: Headers, prefix: string): Quota | undefined {
  const limit = wholeNumberOf(headers, `${prefix}-limit`)
  const remaining = wholeNumberOf(headers, `${prefix}-remaining`)
  return limit === undefined || remaining === undefined ? undefined : { limit, remaining }
}

/** Other servers use some of these names, too, with other values. */
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
 * Hands the body to a consumer. What the consumer itself throws ends the call. If the connection breaks, the call is repeated, also if the
 * consumer throws another error because of it, or none.
 */
export async function consume({ body }: Response, consumer: PdfConsumer): Promise<void> {
  let broken: PlatenError | undefined
  async function* pieces() {
    const reader = body?.getReader()
    try {
      for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) yield next.value
    } catch (cause) {
      broken = networkError(cause)
      throw broken
    } finally {
      // Ends the transfer if the consumer stops early. Of a body that is broken nothing is left to cancel.
      await reader?.cancel().catch(() => {})
    }
  }
  try {
    await consumer(pieces())
  } catch (cause) {
    if (broken === undefined) throw new ConsumerError('the PDF was not taken', { cause })
  }
  if (broken !== undefined) throw broken
}
