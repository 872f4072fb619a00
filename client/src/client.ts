/** The client: one method for each call of the service. */
import { type Clock, systemClock } from './clock.ts'
import { PlatenError } from './error.ts'
import { type Call, type CallOptions, makeTransport, type Transport } from './transport.ts'
import type {
  Delivery,
  DeliveryList,
  Engine,
  ListedRender,
  Redelivery,
  RenderAccepted,
  RenderList,
  RenderRecord,
  RenderRequest,
  RenderStatus,
  Template,
  TemplateDetail,
  TemplateList,
  Usage,
} from './wire.ts'

export interface ClientOptions {
  /** Address of the service: `https://pdf.example.com`, with or without `/api/v1` at the end. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Absent = the `fetch` of the runtime. */
  readonly fetch?: typeof fetch
  /** How often a call is sent again when the service cannot be reached or answers 429, 502, 503 or 504. Default: 4. */
  readonly retries?: number
  /** How long a call may take with all its attempts, in milliseconds. Default: 150,000, which is longer than a sync render of any plan. */
  readonly timeoutMs?: number
  /** The word in the service's header names. Default: `service`; the operator of the service may have set another. */
  readonly brand?: string
}

/** What to render. The method called decides the mode. */
export interface RenderInput extends Omit<RenderRequest, 'data' | 'mode' | 'async'> {
  /** The payload, valid under the template's `variables_schema`. */
  readonly data: object
}

export interface RenderCallOptions extends CallOptions {
  /** A name for this render: a second call with the same key within 24 hours gets the same render. Absent = a new key for each call. */
  readonly idempotencyKey?: string
}

/** A PDF, and what the service says about it. */
export interface RenderedPdf {
  readonly pdf: Uint8Array
  readonly renderId: string
  /** Rendering time in milliseconds. */
  readonly renderMs: number
  readonly filename: string | undefined
  /** Is this the answer to an earlier call with the same `idempotencyKey`? */
  readonly isReplayed: boolean
}

/** A render that the service has accepted and will make. */
export interface AcceptedRender {
  readonly renderId: string
  /** Path of its status record. */
  readonly pollUrl: string
  readonly isReplayed: boolean
}

/** A status record whose PDF exists. */
export type SucceededRender = RenderRecord & { readonly status: 'succeeded'; readonly pdf_url: string }

export interface ListOptions extends CallOptions {
  /** From 1. */
  readonly page?: number
  /** 1 to 100. Default: 20. */
  readonly perPage?: number
}

/** Which renders to list. The filters apply together. */
export interface RenderFilters {
  readonly status?: RenderStatus
  /** Template code. */
  readonly template?: string
  readonly engine?: Engine
  /** The whole `reference` of the request. */
  readonly reference?: string
  /** Accepted at this time or later. */
  readonly createdAfter?: Date
  /** Accepted before this time. */
  readonly createdBefore?: Date
}

export interface RenderListOptions extends RenderFilters, CallOptions {
  /** 1 to 100. Default: 20. */
  readonly limit?: number
  /** `nextCursor` of the page before, which had the same filters. */
  readonly cursor?: string
}

/** One page of renders. It may have fewer than the limit, also if there are more. */
export interface RenderPage {
  readonly renders: readonly ListedRender[]
  /** Absent on the last page. */
  readonly nextCursor: string | undefined
}

/** One page of templates. */
export interface TemplatePage {
  readonly templates: readonly Template[]
  /** Number of templates on all pages. */
  readonly total: number
  /** Absent on the last page. */
  readonly nextPage: number | undefined
}

/** A client of one tenant. Every method rejects with `PlatenError`, or with the reason of the caller's signal. */
export interface Client {
  /** Renders a PDF and waits for it. */
  render(input: RenderInput, options?: RenderCallOptions): Promise<RenderedPdf>
  /** Starts a render and does not wait for it. Resolves when the service has accepted the render. */
  renderAsync(input: RenderInput, options?: RenderCallOptions): Promise<AcceptedRender>
  /** Reads the status record of a render. */
  getRender(renderId: string, options?: CallOptions): Promise<RenderRecord>
  /**
   * Cancels a render that waits or runs, and removes the PDF of one that has ended. Resolves with the record of the canceled render, or with
   * undefined if the render is removed, now or before.
   */
  deleteRender(renderId: string, options?: CallOptions): Promise<RenderRecord | undefined>
  /**
   * Polls until the render has ended. Rejects with the failure code of a failed render. `timeoutMs` limits the whole wait. Default: 10
   * minutes.
   */
  waitForRender(renderId: string, options?: CallOptions): Promise<SucceededRender>
  /** Downloads the PDF of a succeeded render. `pdf_url` is valid for ten minutes; after that, read the record again. */
  downloadPdf(record: Pick<RenderRecord, 'pdf_url'>, options?: CallOptions): Promise<Uint8Array>
  /** Reads one page of the renders that are still kept, the newest first. */
  listRenders(options?: RenderListOptions): Promise<RenderPage>
  /** Iterates over all these renders. It requests the next page when it is needed. */
  allRenders(options?: Omit<RenderListOptions, 'cursor'>): AsyncIterableIterator<ListedRender>
  /** Downloads the PDF of a render that succeeded, however long ago its record was read. */
  getPdf(renderId: string, options?: CallOptions): Promise<Uint8Array>
  /** Reads one page of the templates, ordered by code. */
  listTemplates(options?: ListOptions): Promise<TemplatePage>
  /** Reads a template, with its engines and what they cost, its default options and its sample data. */
  getTemplate(code: string, options?: CallOptions): Promise<TemplateDetail>
  /** Iterates over all templates. It requests the next page when it is needed. */
  allTemplates(options?: Omit<ListOptions, 'page'>): AsyncIterableIterator<Template>
  /** Reads what is used of the month's quota, and what is left of each rate. */
  getUsage(options?: CallOptions): Promise<Usage>
  /** Lists the webhook deliveries of a render, with their attempts. */
  listDeliveries(renderId: string, options?: CallOptions): Promise<readonly Delivery[]>
  /** Asks for one more attempt at a delivery. The request is never repeated, because each one would add an attempt. */
  redeliver(deliveryId: string, options?: CallOptions): Promise<Redelivery>
}

export const RETRIES = 4
const TIMEOUT_MS = 150_000
const WAIT_MS = 600_000

/** The first polls are close together, because most renders take less than a second. Later ones are further apart. */
const POLL_MS_FIRST = 200
const POLL_MS_MAX = 5000
const POLL_GROWTH = 1.5

/** Creates a client. Throws `TypeError` when an option is invalid. */
export function createClient(options: ClientOptions): Client {
  return createClientWithClock(options, systemClock)
}

/** Creates a client with the given clock; for tests. */
export function createClientWithClock(options: ClientOptions, clock: Clock): Client {
  const { apiKey, brand = 'service', retries = RETRIES, timeoutMs = TIMEOUT_MS } = options
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError('apiKey is not a valid API key')
  // This form also rejects NaN. Compared with NaN, no count of failures would ever be too high.
  if (!(retries >= 0)) throw new TypeError('retries must be a number from 0')
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
  const send = makeTransport({ apiKey, fetch, retries, timeoutMs, brand, clock })
  const url = urlMaker(options.baseUrl)
  const get = <T>(path: string, call: CallOptions = {}) =>
    send<T>({ ...call, method: 'GET', url: url(path), isRepeatable: true, read: readJson })
  const page = (call: ListOptions) => listPage(send, url, call)

  return {
    render: (input, call) => send({ ...renderCall(url, { ...input, mode: 'sync' }, call), read: pdfReader(brand) }),
    renderAsync: (input, call) => send({ ...renderCall(url, { ...input, mode: 'async' }, call), read: readAccepted }),
    getRender: (renderId, call) => get(`render/${encodeURIComponent(renderId)}`, call),
    deleteRender: (renderId, call = {}) =>
      send<RenderRecord | undefined>({
        ...call,
        method: 'DELETE',
        url: url(`render/${encodeURIComponent(renderId)}`),
        isRepeatable: true,
        read: async (response) => (response.status === 204 ? undefined : await readJson<RenderRecord>(response)),
      }).catch(undefinedIfRemoved),
    waitForRender: (renderId, call = {}) =>
      pollUntilSucceeded(
        (left) => get<RenderRecord>(`render/${encodeURIComponent(renderId)}`, { ...call, ...left }),
        call,
        clock,
      ),
    async downloadPdf({ pdf_url }, call = {}) {
      if (pdf_url === undefined) throw new TypeError('the record has no pdf_url: only a render that succeeded has one')
      return await send({ ...call, method: 'GET', url: pdf_url, isForeign: true, isRepeatable: true, read: readBytes })
    },
    listRenders: (call = {}) => listRenders(send, url, call),
    allRenders: (call = {}) => eachRender((cursor) => listRenders(send, url, { ...call, ...cursor })),
    getPdf: (renderId, call) =>
      send({
        ...call,
        method: 'GET',
        url: url(`render/${encodeURIComponent(renderId)}/pdf`),
        isRepeatable: true,
        read: readBytes,
      }),
    listTemplates: (call = {}) => page(call),
    allTemplates: (call = {}) => eachTemplate((number) => page({ ...call, page: number })),
    getTemplate: (code, call) => get(`templates/${encodeURIComponent(code)}`, call),
    getUsage: (call) => get('usage', call),
    async listDeliveries(renderId, call) {
      return (await get<DeliveryList>(`render/${encodeURIComponent(renderId)}/deliveries`, call)).deliveries
    },
    redeliver: (deliveryId, call = {}) =>
      send<Redelivery>({
        ...call,
        method: 'POST',
        url: url(`deliveries/${encodeURIComponent(deliveryId)}/redeliver`),
        isRepeatable: false,
        read: readJson,
      }),
  }
}

/** Returns a function that turns a path below `/api/v1` into a URL. */
function urlMaker(baseUrl: string): (path: string) => string {
  const { protocol, origin, pathname } = new URL(baseUrl)
  if (protocol !== 'https:' && protocol !== 'http:') throw new TypeError('baseUrl must be an http or https URL')
  const root = `${origin}${pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
  return (path) => `${root}/api/v1/${path}`
}

function renderCall(url: (path: string) => string, body: object, { idempotencyKey, ...call }: RenderCallOptions = {}) {
  return {
    ...call,
    method: 'POST',
    url: url('render'),
    // With this key the service renders once, however often the request arrives.
    headers: { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() },
    body,
    isRepeatable: true,
  } as const satisfies Omit<Call<unknown>, 'read'>
}

async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text()
  try {
    // The service's tests check its answers against the same schemas that these types are checked against.
    return JSON.parse(text) as T
  } catch (cause) {
    throw new PlatenError({ code: 'INVALID_ANSWER', message: 'the answer is not JSON', status: response.status, cause })
  }
}

/** Also after a first attempt whose answer was lost. */
function undefinedIfRemoved(error: unknown): undefined {
  if (error instanceof PlatenError && error.code === 'RENDER_EXPIRED') return undefined
  throw error
}

async function readBytes(response: Response): Promise<Uint8Array> {
  return new Uint8Array(await response.arrayBuffer())
}

function pdfReader(brand: string) {
  return async (response: Response): Promise<RenderedPdf> => {
    const { headers, status } = response
    const renderId = headers.get(`x-${brand}-render-id`)
    if (renderId === null || !headers.get('content-type')?.startsWith('application/pdf')) {
      throw new PlatenError({ code: 'INVALID_ANSWER', message: 'the answer is not a PDF from the service', status })
    }
    return {
      pdf: await readBytes(response),
      renderId,
      renderMs: Number(headers.get(`x-${brand}-render-ms`)),
      filename: filenameOf(headers.get('content-disposition') ?? ''),
      isReplayed: isReplayed(response),
    }
  }
}

async function readAccepted(response: Response): Promise<AcceptedRender> {
  const { render_id, poll_url } = await readJson<RenderAccepted>(response)
  return { renderId: render_id, pollUrl: poll_url, isReplayed: isReplayed(response) }
}

function isReplayed({ headers }: Response): boolean {
  return headers.get('idempotent-replayed') === 'true'
}

/** Prefers `filename*`: `filename` is the fallback for clients that do not know it (RFC 6266). */
function filenameOf(disposition: string): string | undefined {
  const [, encoded] = /filename\*=UTF-8''([^;]+)/i.exec(disposition) ?? []
  const [, quoted] = /filename="((?:[^"\\]|\\.)*)"/i.exec(disposition) ?? []
  return encoded === undefined ? quoted?.replaceAll(/\\(.)/g, '$1') : decodeURIComponent(encoded)
}

async function pollUntilSucceeded(
  ask: (left: { readonly timeoutMs: number }) => Promise<RenderRecord>,
  { signal, timeoutMs = WAIT_MS }: CallOptions,
  clock: Clock,
): Promise<SucceededRender> {
  const endsAt = clock.monotonic() + timeoutMs
  const never = new AbortController().signal
  for (let waitMs = POLL_MS_FIRST; ; waitMs = Math.min(waitMs * POLL_GROWTH, POLL_MS_MAX)) {
    const record = await ask({ timeoutMs: Math.max(1, endsAt - clock.monotonic()) })
    if (isSucceeded(record)) return record
    if (record.status === 'failed') throw failureOf(record)
    if (clock.monotonic() + waitMs >= endsAt) {
      const message = `the render is ${record.status} after ${timeoutMs} ms`
      throw new PlatenError({ code: 'TIMED_OUT', message, renderId: record.render_id })
    }
    await clock.sleep(waitMs, signal ?? never)
  }
}

function isSucceeded(record: RenderRecord): record is SucceededRender {
  return record.status === 'succeeded' && record.pdf_url !== undefined
}

function failureOf({ error, render_id }: RenderRecord): PlatenError {
  const { code, reason, message } = error ?? { code: 'internal', reason: 'internal', message: 'the render failed' }
  return new PlatenError({ code, reason, message, renderId: render_id })
}

async function listRenders(
  send: Transport,
  url: (path: string) => string,
  { limit, cursor, status, template, engine, reference, createdAfter, createdBefore, ...call }: RenderListOptions,
): Promise<RenderPage> {
  const times = { created_after: createdAfter?.toISOString(), created_before: createdBefore?.toISOString() }
  const all = { limit, cursor, status, template, engine, reference, ...times }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(all)) if (value !== undefined) query.set(name, `${value}`)
  const { renders, next_cursor: nextCursor } = await send({
    ...call,
    method: 'GET',
    url: url(`renders?${query}`),
    isRepeatable: true,
    read: readJson<RenderList>,
  })
  return { renders, nextCursor }
}

async function* eachRender(
  page: (from: { readonly cursor?: string }) => Promise<RenderPage>,
): AsyncGenerator<ListedRender, void, undefined> {
  let from: { readonly cursor?: string } | undefined = {}
  while (from !== undefined) {
    const { renders, nextCursor }: RenderPage = await page(from)
    yield* renders
    from = nextCursor === undefined ? undefined : { cursor: nextCursor }
  }
}

async function listPage(
  send: Transport,
  url: (path: string) => string,
  { page = 1, perPage, ...call }: ListOptions,
): Promise<TemplatePage> {
  const query = new URLSearchParams({ page: `${page}`, ...(perPage !== undefined && { per_page: `${perPage}` }) })
  return await send({
    ...call,
    method: 'GET',
    url: url(`templates?${query}`),
    isRepeatable: true,
    async read(response) {
      const { templates } = await readJson<TemplateList>(response)
      const hasNext = /;\s*rel="next"/.test(response.headers.get('link') ?? '')
      const total = Number(response.headers.get('x-total-count'))
      return { templates, total, nextPage: hasNext ? page + 1 : undefined }
    },
  })
}

async function* eachTemplate(
  page: (number: number) => Promise<TemplatePage>,
): AsyncGenerator<Template, void, undefined> {
  for (let number: number | undefined = 1; number !== undefined; ) {
    const { templates, nextPage }: TemplatePage = await page(number)
    yield* templates
    number = nextPage
  }
}
