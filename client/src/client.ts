import {
  type AcceptedBatch,
  type AcceptedRender,
  consume,
  filenameOf,
  jsonOf,
  type PdfAnswer,
  type PdfBytes,
  type PdfConsumer,
  pdfAnswerOf,
  type RenderAnswer,
  type RenderedPdf,
  readAccepted,
  readPdf,
} from './client/answer.ts'
import { type BatchInput, createBatch, getBatch, waitForBatch } from './client/batch.ts'
import { getCall, type RenderCallOptions, type Service, startCall } from './client/call.ts'
import {
  type DeliveryListOptions,
  eachItem,
  eachTemplate,
  type ListOptions,
  listAllDeliveries,
  listRenders,
  listTemplates,
  type RenderListOptions,
  type RenderPage,
  type TemplatePage,
} from './client/list.ts'
import {
  type EndedBatch,
  POLL_ATTEMPT_MS,
  pollUntilEnd,
  RENDER_END,
  type SucceededRender,
  type TimeLeft,
  WAIT_MS,
} from './client/wait.ts'
import { type Clock, systemClock } from './clock.ts'
import { PlatenError } from './error.ts'
import { checkedRetries, checkedUrl, checkKey } from './fault.ts'
import { type Call, type CallOptions, makeTransport } from './transport.ts'
import type {
  BatchRecord,
  Delivery,
  DeliveryDetail,
  DeliveryList,
  DeliveryPage,
  ListedDelivery,
  ListedRender,
  Redelivery,
  RenderRecord,
  RenderRequest,
  Template,
  TemplateDetail,
  TestEventRequest,
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
  /** The payload, valid under the template's `variablesSchema`. */
  readonly data: object
}

export interface AwaitedPdf extends RenderAnswer {
  readonly pdf: PdfBytes
  readonly filename: string | undefined
  readonly record: SucceededRender
}

/** A client of one tenant. Every method rejects with `PlatenError`, or with the reason of the caller's signal. */
export interface Client {
  /** Renders a PDF and waits for it. */
  render(input: RenderInput, options?: RenderCallOptions): Promise<RenderedPdf>
  /**
   * Renders a PDF and hands it over piece by piece: it is never in memory as a whole. If the connection breaks, the consumer is called
   * again, with the PDF from its beginning. Rejects with what the consumer rejects with.
   */
  renderTo(input: RenderInput, consumer: PdfConsumer, options?: RenderCallOptions): Promise<PdfAnswer>
  /**
   * Starts a render, waits until it has ended, and downloads its PDF: for documents that take longer than a proxy waits for an answer. Once
   * the service has accepted the render, only `timeoutMs` (default: 10 minutes) limits how long the connection may be down. Rejects with
   * the failure code of a failed render; from its acceptance on, every error has the `renderId`.
   */
  renderAndWait(input: RenderInput, options?: RenderCallOptions): Promise<AwaitedPdf>
  /** Starts a render. Resolves when the service has accepted it, without waiting for its end. */
  renderAsync(input: RenderInput, options?: RenderCallOptions): Promise<AcceptedRender>
  getRender(renderId: string, options?: CallOptions): Promise<RenderRecord>
  /**
   * Cancels a render that waits or runs, and removes the PDF of one that has ended. Resolves with the record of the canceled render, or with
   * undefined if the render is removed, now or before.
   */
  deleteRender(renderId: string, options?: CallOptions): Promise<RenderRecord | undefined>
  /**
   * Waits until the render has ended. Rejects with the failure code of a failed render. `timeoutMs` limits the whole wait. Default: 10
   * minutes.
   */
  waitForRender(renderId: string, options?: CallOptions): Promise<SucceededRender>
  /** Starts a batch of up to 1,000 renders. All are accepted, or none: then `details` of the error names the items at fault. */
  createBatch(input: BatchInput, options?: RenderCallOptions): Promise<AcceptedBatch>
  /** Reads how many renders of a batch are in which state. `allRenders({ batch })` lists them. */
  getBatch(batchId: string, options?: CallOptions): Promise<BatchRecord>
  /**
   * Waits until each render of a batch has succeeded or failed: `failed` of the result counts the latter. `timeoutMs` limits the whole
   * wait. Default: 10 minutes.
   */
  waitForBatch(batchId: string, options?: CallOptions): Promise<EndedBatch>
  /** Downloads the PDF of a succeeded render. `pdfUrl` is valid for ten minutes; after that, read the record again. */
  downloadPdf(record: Pick<RenderRecord, 'pdfUrl'>, options?: CallOptions): Promise<PdfBytes>
  /** Reads one page of the renders that are still kept, the newest first. */
  listRenders(options?: RenderListOptions): Promise<RenderPage>
  /** Iterates over all these renders, a page at a time as needed. */
  allRenders(options?: Omit<RenderListOptions, 'cursor'>): AsyncIterableIterator<ListedRender>
  /** Downloads the PDF of a render that succeeded, however long ago its record was read. */
  getPdf(renderId: string, options?: CallOptions): Promise<PdfBytes>
  /** Reads one page of the templates, ordered by code. */
  listTemplates(options?: ListOptions): Promise<TemplatePage>
  /** Reads a template, with its engines and what they cost, its default options and its sample data. */
  getTemplate(code: string, options?: CallOptions): Promise<TemplateDetail>
  /** Iterates over all templates, a page at a time as needed. */
  allTemplates(options?: Omit<ListOptions, 'page'>): AsyncIterableIterator<Template>
  /** Reads what is used of the month's quota, and what is left of each rate. */
  getUsage(options?: CallOptions): Promise<Usage>
  /** Lists the webhook deliveries of a render, with their attempts. */
  listDeliveries(renderId: string, options?: CallOptions): Promise<readonly Delivery[]>
  /** Reads one page of the webhook deliveries of all renders that are still kept, those of the newest render first. */
  listAllDeliveries(options?: DeliveryListOptions): Promise<DeliveryPage>
  /** Iterates over all these deliveries, a page at a time as needed. */
  allDeliveries(options?: Omit<DeliveryListOptions, 'cursor'>): AsyncIterableIterator<ListedDelivery>
  getDelivery(deliveryId: string, options?: CallOptions): Promise<DeliveryDetail>
  /**
   * Sends one event `webhook.test` to a URL. Resolves with its delivery when the one attempt is made, or after 15 seconds: then its status is
   * `scheduled`, and `getDelivery` shows it later. The request is never repeated, because each one would send an event.
   */
  testWebhook(webhookUrl: string, options?: CallOptions): Promise<DeliveryDetail>
  /** Asks for one more attempt at a delivery. The request is never repeated, because each one would add an attempt. */
  redeliver(deliveryId: string, options?: CallOptions): Promise<Redelivery>
}

export const RETRIES = 4
const TIMEOUT_MS = 150_000

/** Throws `TypeError` when an option is invalid. */
export function createClient(options: ClientOptions): Client {
  return createClientWithClock(options, systemClock)
}

/** For tests. */
export function createClientWithClock(options: ClientOptions, clock: Clock): Client {
  const { apiKey, brand = 'service', retries = RETRIES, timeoutMs = TIMEOUT_MS } = options
  checkKey(apiKey)
  checkedRetries(retries)
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
  const send = makeTransport({ apiKey, fetch, retries, timeoutMs, brand, clock })
  const service = { send, url: urlMaker(options.baseUrl), brand, clock }
  return { ...renderMethods(service), ...batchMethods(service), ...readMethods(service), ...deliveryMethods(service) }
}

const readRecord = jsonOf<RenderRecord>({ renderId: 'string', status: 'string' })
const readTemplate = jsonOf<TemplateDetail>({ code: 'string', version: 'number' })
const readUsage = jsonOf<Usage>({ month: 'string', used: 'number', rates: 'list' })
const readDeliveries = jsonOf<DeliveryList>({ deliveries: 'list' })
const readDelivery = jsonOf<DeliveryDetail>({ id: 'string', status: 'string' })
const readRedelivery = jsonOf<Redelivery>({ id: 'string', status: 'string' })

function renderMethods(service: Service) {
  const { send, url, brand } = service
  return {
    render: (input, call) =>
      send({
        ...renderCall(url, { ...input, mode: 'sync' }, call),
        read: async (response) => ({ ...pdfAnswerOf(response, brand), pdf: await readPdf(response) }),
      }),
    renderTo: (input, consumer, call) =>
      send({
        ...renderCall(url, { ...input, mode: 'sync' }, call),
        async read(response) {
          const answer = pdfAnswerOf(response, brand)
          await consume(response, consumer)
          return answer
        },
      }),
    renderAsync: (input, call) => startRender(service, input, call),
    renderAndWait: (input, call) => renderAndWait(service, input, call),
    waitForRender: (renderId, call) => waitForRender(service, renderId, call),
    deleteRender: (renderId, call = {}) =>
      send<RenderRecord | undefined>({
        ...call,
        method: 'DELETE',
        url: url(`render/${encodeURIComponent(renderId)}`),
        isRepeatable: true,
        read: async (response) => (response.status === 204 ? undefined : await readRecord(response)),
      }).catch(undefinedIfRemoved),
  } satisfies Partial<Client>
}

function batchMethods(service: Service) {
  return {
    createBatch: (input, call) => createBatch(service, input, call),
    getBatch: (batchId, call) => getBatch(service, batchId, call),
    waitForBatch: (batchId, call) => waitForBatch(service, batchId, call),
  } satisfies Partial<Client>
}

function readMethods(service: Service) {
  const { send, url } = service
  const page = (call: ListOptions) => listTemplates(service, call)
  return {
    getRender: (renderId, call) => send(recordCall(url, renderId, call)),
    getPdf: async (renderId, call) => (await send(pdfCall(url, renderId, call))).pdf,
    async downloadPdf({ pdfUrl }, call = {}) {
      if (pdfUrl === undefined) throw new TypeError('the record has no pdfUrl: only a render that succeeded has one')
      return await send({ ...call, method: 'GET', url: pdfUrl, isForeign: true, isRepeatable: true, read: readPdf })
    },
    listRenders: (call = {}) => listRenders(service, call),
    allRenders: (call = {}) =>
      eachItem(
        (cursor) => listRenders(service, { ...call, ...cursor }),
        ({ renders }) => renders,
      ),
    listTemplates: (call = {}) => page(call),
    allTemplates: (call = {}) => eachTemplate((number) => page({ ...call, page: number })),
    getTemplate: (code, call) =>
      send({ ...getCall(url(`templates/${encodeURIComponent(code)}`), call), read: readTemplate }),
    getUsage: (call) => send({ ...getCall(url('usage'), call), read: readUsage }),
  } satisfies Partial<Client>
}

function deliveryMethods(service: Service) {
  const { send, url } = service
  return {
    async listDeliveries(renderId, call) {
      const path = `render/${encodeURIComponent(renderId)}/deliveries`
      return (await send({ ...getCall(url(path), call), read: readDeliveries })).deliveries
    },
    listAllDeliveries: (call = {}) => listAllDeliveries(service, call),
    allDeliveries: (call = {}) =>
      eachItem(
        (cursor) => listAllDeliveries(service, { ...call, ...cursor }),
        ({ deliveries }) => deliveries,
      ),
    getDelivery: (deliveryId, call) =>
      send({ ...getCall(url(`deliveries/${encodeURIComponent(deliveryId)}`), call), read: readDelivery }),
    testWebhook: (webhookUrl, call = {}) =>
      send<DeliveryDetail>({
        ...call,
        method: 'POST',
        url: url('webhooks/test'),
        body: { url: webhookUrl } satisfies TestEventRequest,
        isRepeatable: false,
        read: readDelivery,
      }),
    redeliver: (deliveryId, call = {}) =>
      send<Redelivery>({
        ...call,
        method: 'POST',
        url: url(`deliveries/${encodeURIComponent(deliveryId)}/redeliver`),
        isRepeatable: false,
        read: readRedelivery,
      }),
  } satisfies Partial<Client>
}

function urlMaker(baseUrl: string): (path: string) => string {
  const { origin, pathname } = checkedUrl(baseUrl)
  const root = `${origin}${pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
  return (path) => `${root}/api/v1/${path}`
}

function renderCall(
  url: Service['url'],
  body: Omit<RenderInput, 'data'> & Pick<RenderRequest, 'mode'>,
  call?: RenderCallOptions,
) {
  return startCall(url('render'), body, call)
}

function recordCall(url: Service['url'], renderId: string, call?: CallOptions): Call<RenderRecord> {
  return { ...getCall(url(`render/${encodeURIComponent(renderId)}`), call), read: readRecord }
}

function pdfCall(url: Service['url'], renderId: string, call?: CallOptions) {
  return {
    ...getCall(url(`render/${encodeURIComponent(renderId)}/pdf`), call),
    read: async (response: Response) => ({ pdf: await readPdf(response), filename: filenameOf(response.headers) }),
  }
}

function startRender({ send, url, brand }: Service, input: RenderInput, call?: RenderCallOptions) {
  const read = (response: Response) => readAccepted(response, brand)
  return send({ ...renderCall(url, { ...input, mode: 'async' }, call), read })
}

async function renderAndWait(
  service: Service,
  input: RenderInput,
  { signal, timeoutMs = WAIT_MS, retries, headers, idempotencyKey }: RenderCallOptions = {},
): Promise<AwaitedPdf> {
  const { send, url, clock } = service
  const endsAt = clock.monotonic() + timeoutMs
  const left = () => ({ signal, headers, timeoutMs: Math.max(1, endsAt - clock.monotonic()) })
  const { pollUrl: _, ...accepted } = await startRender(service, input, {
    ...left(),
    retries,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  })
  const { renderId } = accepted
  // The service does not forget what it has accepted, so only the time limits how often we ask.
  const call = () => ({ ...left(), retries: Number.POSITIVE_INFINITY })
  try {
    const record = await waitForRender(service, renderId, call())
    return { ...accepted, record, ...(await send(pdfCall(url, renderId, call()))) }
  } catch (error) {
    if (!(error instanceof PlatenError) || error.renderId !== undefined) throw error
    const { code, reason, message, status, requestId, details, retryAfterSeconds, cause } = error
    throw new PlatenError({ code, reason, message, status, requestId, renderId, details, retryAfterSeconds, cause })
  }
}

function waitForRender({ send, url, clock }: Service, renderId: string, call: CallOptions = {}) {
  const ask = ({ waitSeconds, timeoutMs }: TimeLeft) => {
    const asked = recordCall(url, renderId, { ...call, timeoutMs })
    return send({ ...asked, url: `${asked.url}?wait=${waitSeconds}`, attemptMs: POLL_ATTEMPT_MS })
  }
  return pollUntilEnd({ ask, ...RENDER_END }, call, clock)
}

/** Also after a first attempt whose answer was lost. */
function undefinedIfRemoved(error: unknown): undefined {
  if (error instanceof PlatenError && error.code === 'RENDER_EXPIRED') return undefined
  throw error
}
