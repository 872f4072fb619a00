/**
 * The Postman collection of the service, made from its OpenAPI document: every operation for callers, with its documented example,
 * and after each answer a look at whether it is the documented one. It runs from top to bottom: ids that a request needs are those
 * of earlier answers. The same document gives the same text.
 */

export interface OpenApi {
  readonly info: { readonly title: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
interface Operation {
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: { readonly 'application/json': Examples } }
  readonly responses: Readonly<Record<string, { readonly content?: object } | undefined>>
}
interface Parameter {
  readonly in: string
  readonly name: string
  readonly description?: string
  readonly schema: { readonly default?: string | number }
}
type Example = Readonly<Record<string, unknown>>
/** One, or several under names. */
interface Examples {
  readonly example?: Example
  readonly examples?: Readonly<Record<string, { readonly value: Example }>>
}

/** What callers are told of the service's address ends so. Operations elsewhere are for load balancers and tools. */
const ROOT = '/api/v1'

/** Whose id it is that stands behind a word in a path. */
const IDS: Readonly<Record<string, string>> = {
  render: 'render_id',
  batches: 'batch_id',
  deliveries: 'delivery_id',
  templates: 'template_code',
}

const VARIABLES = [
  { key: 'base_url', value: `http://127.0.0.1:8080${ROOT}` },
  { key: 'api_key', value: '' },
  { key: 'webhook_url', value: 'https://example.com/hooks/pdf' },
  { key: 'render_id', value: '' },
  { key: 'delivery_id', value: '' },
  { key: 'batch_id', value: '' },
  { key: 'template_code', value: 'invoice' },
]

/** Keeps an id for the requests to come, or asks again while what is asked for is not there yet. By the operation. */
const AFTERWARDS: Readonly<Record<string, readonly string[]>> = {
  'POST /render': ["if (body?.render_id) pm.collectionVariables.set('render_id', body.render_id)"],
  'POST /batches': ["if (body?.batch_id) pm.collectionVariables.set('batch_id', body.batch_id)"],
  'GET /batches/{id}': ["if (body?.status === 'processing') again()"],
  'GET /render/{id}': ["if (['queued', 'running'].includes(body?.status)) again()"],
  'GET /render/{id}/deliveries': [
    'if (body?.deliveries?.length === 0) again()',
    "else pm.collectionVariables.set('delivery_id', body?.deliveries?.[0]?.id)",
  ],
}

export function collectionOf({ info, tags, paths }: OpenApi): object {
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith(`${ROOT}/`))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        name: `${method.toUpperCase()} ${path.slice(ROOT.length)}`,
        operation,
      })),
    )
  const folders = tags.map(({ name, description }) => ({
    name,
    description,
    item: operations
      .filter(({ operation }) => operation.tags.includes(name))
      // What takes a render away comes after everything that reads it.
      .toSorted((one, other) => Number(one.name.startsWith('DELETE')) - Number(other.name.startsWith('DELETE')))
      .flatMap(({ name, operation }) => requestsOf(name, operation)),
  }))
  return {
    info: {
      name: info.title,
      description: info.description,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{api_key}}', type: 'string' }] },
    variable: VARIABLES,
    item: folders.filter(({ item }) => item.length > 0),
  }
}

/** One request for each example of its body, or one that has none. */
function requestsOf(name: string, operation: Operation): readonly object[] {
  const { example, examples = {} } = operation.requestBody?.content['application/json'] ?? {}
  const bodies = [...(example ? [example] : []), ...Object.values(examples).map(({ value }) => value)]
  if (bodies.length === 0) return [requestOf(name, operation)]
  return bodies.map((body) => requestOf(name, operation, body))
}

function requestOf(name: string, operation: Operation, body?: Example): object {
  const [method = '', path = ''] = name.split(' ')
  const parameters = operation.parameters ?? []
  const isLater = body?.['mode'] === 'async'
  return {
    name: isLater ? `${operation.summary}, later` : operation.summary,
    request: {
      method,
      ...(operation.description !== undefined && { description: operation.description }),
      header: [
        ...(body ? [{ key: 'Content-Type', value: 'application/json' }] : []),
        ...parameters.filter((each) => each.in === 'header').map((each) => ({ ...entryOf(each), disabled: true })),
      ],
      ...(body && { body: { mode: 'raw', raw: bodyOf(body), options: { raw: { language: 'json' } } } }),
      url: urlOf(path, parameters),
    },
    event: [{ listen: 'test', script: { type: 'text/javascript', exec: scriptOf(name, operation, isLater) } }],
  }
}

/** The receiver is the one thing in an example that is somebody's own. */
function bodyOf(example: Example): string {
  const names = ['webhook_url', 'url'].filter((name) => example[name] !== undefined)
  const receivers = Object.fromEntries(names.map((name) => [name, '{{webhook_url}}']))
  return JSON.stringify({ ...example, ...receivers }, null, 2)
}

function urlOf(path: string, parameters: readonly Parameter[]): object {
  const segments = path.split('/').slice(1)
  const named = segments.map((segment, at) => (segment.startsWith('{') ? `{{${idBehind(segments[at - 1])}}}` : segment))
  // A filter without a value would be refused. It is there to be filled in and enabled.
  const query = parameters
    .filter((each) => each.in === 'query')
    .map(entryOf)
    .map((entry) => (entry.value === '' ? { ...entry, disabled: true } : entry))
  const search = query.flatMap(({ key, value }) => (value === '' ? [] : [`${key}=${value}`])).join('&')
  return {
    raw: `{{base_url}}/${named.join('/')}${search && `?${search}`}`,
    host: ['{{base_url}}'],
    path: named,
    ...(query.length > 0 && { query }),
  }
}

function idBehind(word = ''): string {
  const id = IDS[word]
  if (id === undefined) throw new Error(`whose id stands behind ${word} in a path?`)
  return id
}

function entryOf({ name, description, schema }: Parameter): { key: string; value: string; description?: string } {
  return { key: name, value: `${schema.default ?? ''}`, ...(description !== undefined && { description }) }
}

function scriptOf(name: string, { responses }: Operation, isLater: boolean): readonly string[] {
  // Whoever asks for a PDF and does not wait is answered otherwise than whoever waits; so is whoever deletes a render that has ended, as
  // those of this collection have. All else has one good answer.
  const good = Object.keys(responses).filter((status) => Number(status) < 300)
  const status = (isLater || name.startsWith('DELETE ') ? good.at(-1) : good[0]) ?? ''
  const type = Object.keys(responses[status]?.content ?? {})[0]
  const afterwards = AFTERWARDS[name] ?? []
  const isPolling = afterwards.some((line) => line.includes('again()'))
  return [
    `pm.test('is answered with status ${status}', () => pm.response.to.have.status(${status}))`,
    ...(type === undefined
      ? []
      : [
          `pm.test('is answered in ${type}', () => pm.expect(pm.response.headers.get('Content-Type')).to.match(/^${escape(type)}/))`,
        ]),
    ...(afterwards.length > 0 && type === 'application/json'
      ? [
          'const body = pm.response.code < 300 ? pm.response.json() : undefined',
          ...(isPolling
            ? ['const again = () => setTimeout(() => pm.execution.setNextRequest(pm.info.requestName), 200)']
            : []),
          ...afterwards,
        ]
      : []),
  ]
}

function escape(type: string): string {
  return type.replaceAll('/', '\\/')
}
