import { toWire } from '../spelling.ts'
import type { CallOptions } from '../transport.ts'
import type {
  DeliveryPage,
  DeliveryStatus,
  Engine,
  ListedRender,
  RenderList,
  RenderStatus,
  Template,
  TemplateList,
} from '../wire.ts'
import { jsonOf } from './answer.ts'
import type { Service } from './call.ts'

export interface ListOptions extends CallOptions {
  /** From 1. */
  readonly page?: number
  /** 1 to 100. Default: 20. */
  readonly perPage?: number
}

interface CommonFilters {
  readonly template?: string
  /** The whole `reference` of the request. */
  readonly reference?: string
  /** Accepted at this time or later. */
  readonly createdAfter?: Date
  /** Accepted before this time. */
  readonly createdBefore?: Date
}

/** The filters apply together. */
export interface RenderFilters extends CommonFilters {
  readonly status?: RenderStatus
  readonly engine?: Engine
  /** The `batchId` of a batch: only its renders. */
  readonly batch?: string
}

/** The filters apply together. All but `status` are about the renders of the deliveries. */
export interface DeliveryFilters extends CommonFilters {
  readonly status?: DeliveryStatus
}

interface CursorOptions extends CallOptions {
  /** 1 to 100. Default: 20. */
  readonly limit?: number
  /** `nextCursor` of the page before, asked for with the same filters. */
  readonly cursor?: string
}

export interface RenderListOptions extends RenderFilters, CursorOptions {}

export interface DeliveryListOptions extends DeliveryFilters, CursorOptions {}

/** May have fewer renders than the limit even if there are more pages. */
export interface RenderPage {
  readonly renders: readonly ListedRender[]
  /** Absent on the last page. */
  readonly nextCursor: string | undefined
}

export interface TemplatePage {
  readonly templates: readonly Template[]
  /** Number of templates on all pages. */
  readonly total: number
  /** Absent on the last page. */
  readonly nextPage: number | undefined
}

const readRenders = jsonOf<RenderList>({ renders: 'list', nextCursor: 'string?' })
const readDeliveries = jsonOf<DeliveryPage>({ deliveries: 'list', nextCursor: 'string?' })
const readTemplates = jsonOf<TemplateList>({ templates: 'list' })

export async function listRenders({ send, url }: Service, options: RenderListOptions): Promise<RenderPage> {
  const { renders, nextCursor } = await send({ ...listCall(url('renders'), options), read: readRenders })
  return { renders, nextCursor }
}

export async function listAllDeliveries({ send, url }: Service, options: DeliveryListOptions): Promise<DeliveryPage> {
  return await send({ ...listCall(url('deliveries'), options), read: readDeliveries })
}

function listCall(
  url: string,
  {
    signal,
    timeoutMs,
    retries,
    headers,
    createdAfter,
    createdBefore,
    ...filters
  }: RenderListOptions | DeliveryListOptions,
) {
  const times = { createdAfter: createdAfter?.toISOString(), createdBefore: createdBefore?.toISOString() }
  const query = queryOf({ ...filters, ...times })
  return { signal, timeoutMs, retries, headers, method: 'GET', url: `${url}?${query}`, isRepeatable: true } as const
}

export async function* eachItem<Page extends { readonly nextCursor?: string | undefined }, Item>(
  page: (from: { readonly cursor?: string }) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): AsyncGenerator<Item, void, undefined> {
  let from: { readonly cursor?: string } | undefined = {}
  while (from !== undefined) {
    const read: Page = await page(from)
    yield* itemsOf(read)
    from = read.nextCursor === undefined ? undefined : { cursor: read.nextCursor }
  }
}

export async function listTemplates(
  { send, url }: Service,
  { page = 1, perPage, ...call }: ListOptions,
): Promise<TemplatePage> {
  return await send({
    ...call,
    method: 'GET',
    url: url(`templates?${queryOf({ page, perPage })}`),
    isRepeatable: true,
    async read(response) {
      const { templates } = await readTemplates(response)
      const hasNext = /;\s*rel="next"/.test(response.headers.get('link') ?? '')
      const total = Number(response.headers.get('x-total-count'))
      return { templates, total, nextPage: hasNext ? page + 1 : undefined }
    },
  })
}

export async function* eachTemplate(
  page: (number: number) => Promise<TemplatePage>,
): AsyncGenerator<Template, void, undefined> {
  for (let number: number | undefined = 1; number !== undefined; ) {
    const { templates, nextPage }: TemplatePage = await page(number)
    yield* templates
    number = nextPage
  }
}

function queryOf(fields: Readonly<Record<string, string | number | undefined>>): URLSearchParams {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(toWire(fields))) if (value !== undefined) query.set(name, `${value}`)
  return query
}
