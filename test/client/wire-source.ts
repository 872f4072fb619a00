/** The client's wire types, made from the OpenAPI document. */
import { declarationOf, type Schema, shapeOf } from '../crd/typescript.ts'

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<'ErrorBody' | 'WebhookBody' | 'BatchWebhookBody' | 'TestEventBody', Schema>>
  }
}
interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema } | undefined>>
}

/** What the client knows of each operation: its type of every JSON that is sent or comes back, and what it can name. */
export const KNOWN: Readonly<
  Record<string, { readonly types: Readonly<Record<string, string>>; readonly names: string[] }>
> = {
  'POST /api/v1/render': {
    types: { request: 'RenderRequest', '202': 'RenderAccepted' },
    names: ['header idempotency-key'],
  },
  'GET /api/v1/render/{id}': { types: { '200': 'RenderRecord' }, names: ['query wait', 'path id'] },
  'DELETE /api/v1/render/{id}': { types: { '200': 'RenderRecord' }, names: ['path id'] },
  'GET /api/v1/renders': {
    types: { '200': 'RenderList' },
    names: [
      'limit',
      'cursor',
      'template',
      'reference',
      'status',
      'engine',
      'batch',
      'created_after',
      'created_before',
    ].map((name) => `query ${name}`),
  },
  'POST /api/v1/batches': {
    types: { request: 'BatchRequest', '202': 'BatchAccepted' },
    names: ['header idempotency-key'],
  },
  'GET /api/v1/batches/{id}': { types: { '200': 'BatchRecord' }, names: ['path id'] },
  'GET /api/v1/templates': { types: { '200': 'TemplateList' }, names: ['query page', 'query per_page'] },
  'GET /api/v1/render/{id}/deliveries': { types: { '200': 'DeliveryList' }, names: ['path id'] },
  'GET /api/v1/templates/{code}': { types: { '200': 'TemplateDetail' }, names: ['path code'] },
  'GET /api/v1/render/{id}/pdf': {
    types: {},
    names: ['query disposition', 'path id', 'header range', 'header if-range', 'header if-none-match'],
  },
  'GET /api/v1/usage': { types: { '200': 'Usage' }, names: [] },
  'GET /api/v1/deliveries': {
    types: { '200': 'DeliveryPage' },
    names: ['limit', 'cursor', 'template', 'reference', 'status', 'created_after', 'created_before'].map(
      (name) => `query ${name}`,
    ),
  },
  'GET /api/v1/deliveries/{id}': { types: { '200': 'DeliveryDetail' }, names: ['path id'] },
  'POST /api/v1/webhooks/test': {
    types: { request: 'TestEventRequest', '200': 'DeliveryDetail', '202': 'DeliveryDetail' },
    names: [],
  },
  'POST /api/v1/deliveries/{id}/redeliver': { types: { '202': 'Redelivery' }, names: ['path id'] },
}

/** Without references: each schema is where it is used. */
export function withoutNames(document: OpenApi): OpenApi {
  const { schemas } = document.components as { readonly schemas: Readonly<Record<string, unknown>> }
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (typeof value !== 'object' || value === null) return value
    const { $ref, ...rest } = value as { readonly $ref?: string }
    if ($ref !== undefined) return resolve({ ...Object(schemas[$ref.replace('#/components/schemas/', '')]), ...rest })
    return Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, resolve(each)]))
  }
  // The same document, spelled out.
  return resolve(document) as OpenApi
}

/** The operations for callers; the others are for load balancers and tools. */
export function operationsOf({ paths }: OpenApi): readonly { readonly name: string; readonly operation: Operation }[] {
  return Object.entries(paths)
    .filter(([path]) => path.startsWith('/api/v1/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
    )
}

/** The schemas of JSON that an operation takes and gives; of refusals there is one for all. */
export function schemasOf({ requestBody, responses }: Operation): Readonly<Record<string, Schema>> {
  const answers = Object.entries(responses).filter(([status]) => Number(status) < 300)
  const contents = [...(requestBody ? [['request', requestBody] as const] : []), ...answers]
  return Object.fromEntries(
    contents.flatMap(([place, { content }]) => {
      const schema = content?.['application/json']?.schema
      return schema === undefined ? [] : [[place, schema]]
    }),
  )
}

/** The schema of every type that is sent or comes back as a whole. */
export function bodiesOf(document: OpenApi): Readonly<Record<string, Schema>> {
  const bodies = operationsOf(document).flatMap(({ name, operation }) =>
    Object.entries(schemasOf(operation)).map(([place, schema]) => [KNOWN[name]?.types[place] ?? name, schema] as const),
  )
  return { ErrorBody: document.components.schemas.ErrorBody, ...Object.fromEntries(bodies) }
}

/** The types in their order, each with a comment. Those that are no body stand `at` a path that begins with a type above. */
const TYPES: Readonly<Record<string, { readonly at?: string; readonly about?: string }>> = {
  RenderRequest: { about: 'Body of POST /render.' },
  Engine: { at: 'RenderRequest.engine' },
  RenderOptions: { at: 'RenderRequest.options' },
  PageSizeName: { at: 'RenderOptions.page_size.0' },
  Length: { at: 'RenderOptions.margin.0', about: 'Points, or a CSS length in pt, px, mm, cm or in.' },
  Margin: { at: 'RenderOptions.margin.1' },
  RenderAccepted: { about: 'Answer to POST /render in mode `async`.' },
  RenderRecord: { about: 'Answer to GET /render/{id}.' },
  RenderStatus: { at: 'RenderRecord.status' },
  RenderFailure: { at: 'RenderRecord.error' },
  RenderWarning: { at: 'RenderRecord.warnings.items' },
  FailureCode: { at: 'RenderFailure.code', about: 'Reasons why a render fails. More may be added.' },
  WarningCode: { at: 'RenderWarning.code', about: 'Warnings of a succeeded render. More may be added.' },
  RenderList: { about: 'Answer to GET /renders: one page.' },
  ListedRender: { at: 'RenderList.renders.items', about: 'A render in a list. Its status record has more.' },
  ListedFailure: { at: 'ListedRender.error' },
  BatchRequest: { about: 'Body of POST /batches.' },
  BatchItem: { at: 'BatchRequest.items.items', about: 'One render of a batch.' },
  BatchAccepted: { about: 'Answer to POST /batches.' },
  BatchRecord: { about: 'Answer to GET /batches/{id}.' },
  TemplateList: { about: 'Answer to GET /templates: one page.' },
  Template: { at: 'TemplateList.templates.items' },
  TemplateDetail: { about: 'Answer to GET /templates/{code}.' },
  TemplateEngine: { at: 'TemplateDetail.engines.items' },
  Usage: { about: 'Answer to GET /usage.' },
  UsageRate: { at: 'Usage.rates.items' },
  DeliveryList: { about: 'Answer to GET /render/{id}/deliveries, the oldest first.' },
  Delivery: { at: 'DeliveryList.deliveries.items', about: 'The delivery of one event to one webhook receiver.' },
  DeliveryStatus: { at: 'Delivery.status' },
  EventType: { at: 'Delivery.event' },
  DeliveryAttempt: { at: 'Delivery.attempts.items', about: 'One request to the receiver.' },
  AttemptResult: { at: 'DeliveryAttempt.result' },
  DeliveryDetail: { about: 'Answer to GET /deliveries/{id} and POST /webhooks/test.' },
  DeliveredEventType: { at: 'DeliveryDetail.event' },
  DeliveryPage: { about: 'Answer to GET /deliveries: one page.' },
  ListedDelivery: { at: 'DeliveryPage.deliveries.items', about: 'A delivery in a list. The delivery itself has more.' },
  ListedAttempt: { at: 'ListedDelivery.last_attempt' },
  TestEventRequest: { about: 'Body of POST /webhooks/test.' },
  Redelivery: { about: 'Answer to POST /deliveries/{id}/redeliver.' },
  ErrorBody: { about: 'The body of every refusal.' },
  ErrorDetail: { at: 'ErrorBody.error.details.items' },
  ErrorCode: { at: 'ErrorBody.error.code', about: 'Codes of refused requests. More may be added.' },
  ErrorReason: { at: 'ErrorBody.error.reason', about: 'Why a request was refused, in one word. More may be added.' },
}

/** The module of the wire types. Throws if a type is nowhere in the document. */
export function wireSource(named: OpenApi): string {
  const document = withoutNames(named)
  const found = new Map<string, Schema>()
  const bodies = bodiesOf(document)
  for (const [name, { at }] of Object.entries(TYPES)) {
    const schema = at === undefined ? bodies[name] : schemaAt(at, found)
    if (schema === undefined) throw new Error(`the document has no ${at ?? name}`)
    found.set(name, schema)
  }
  const fields = new Set([...found.values()].flatMap(fieldsOf))
  const spelled = [...found].map(([name, schema]) => [name, respelled(schema, fields)] as const)
  const names = new Map(spelled.map(([name, schema]) => [shapeOf(schema), name]))
  const nameOf = (schema: Schema) => names.get(shapeOf(schema)) ?? (isFree(schema) ? freeOf(schema) : undefined)
  const types = spelled.map(([name, schema]) => {
    const about = TYPES[name]?.about ?? ''
    const declaration = declarationOf(name, { ...schema, description: about }, nameOf)
    return about.endsWith(OPEN) ? withRoom(declaration) : declaration
  })
  return `${HEAD}\n\n${types.join('').trimEnd()}\n`
}

const HEAD = `/**
 * The requests and answers of the service, field by field, in the spelling of the client. Made from the schemas of the service by
 * \`npx vitest run test/docs.test.ts -u\`; do not edit.
 */`

/** What is said of a set of texts that grows: a program that handles all of them must also handle others. */
const OPEN = 'More may be added.'

function withRoom(declaration: string): string {
  return declaration.replace(/(\n  | )\| ('[^']*')\n\n$/, '$1| $2$1| (string & {})\n\n')
}

/** The schema in the spelling of the client. The fields that its descriptions name are spelled so, too. */
function respelled(schema: Schema, fields: ReadonlySet<string>): Schema {
  const { properties, required, items, anyOf, description } = schema
  const inner = (each: Schema) => respelled(each, fields)
  const spell = (word: string) => (fields.has(word) ? camelCase(word) : word)
  return {
    ...schema,
    ...(description && { description: description.replaceAll(/\w+/g, spell) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [camelCase(name), inner(each)])),
    }),
    ...(required && { required: required.map(camelCase) }),
    ...(items && { items: inner(items) }),
    ...(anyOf && { anyOf: anyOf.map(inner) }),
  }
}

function fieldsOf({ properties = {}, items, anyOf = [] }: Schema): readonly string[] {
  const inner = [...Object.values(properties), ...(items ? [items] : []), ...anyOf]
  return [...Object.keys(properties), ...inner.flatMap(fieldsOf)]
}

function camelCase(name: string): string {
  return name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}

function freeOf({ additionalProperties }: Schema): string {
  const isOfText = typeof additionalProperties === 'object' && additionalProperties.type === 'string'
  return `Readonly<Record<string, ${isOfText ? 'string' : 'unknown'}>>`
}

/** Are its fields named by callers or templates? */
export function isFree({ type, properties }: Schema): boolean {
  return type === 'object' && properties === undefined
}

function schemaAt(path: string, found: ReadonlyMap<string, Schema>): Schema | undefined {
  const [type = '', ...steps] = path.split('.')
  return steps.reduce(
    (outer, step) =>
      // Of a list, `items` is what is in it; a field may have the same name.
      (step === 'items' ? outer?.items : outer?.anyOf?.[Number(step)]) ?? outer?.properties?.[step],
    found.get(type),
  )
}
