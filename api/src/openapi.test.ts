import { HTTP_ERRORS } from '@platen/contract/domain/error.ts'
import { EVENT_ID_RANDOM_BYTES, testEventOf, webhookBodyOf } from '@platen/contract/domain/event.ts'
import { testEventBodySchema, webhookBodySchema } from '@platen/contract/schema/response.ts'
import { assertSchema, compileValidator } from '@platen/contract/schema/validator.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { anApi } from '../../test/fixture/api.ts'
import { aFailure, aManifest, anEvent, aRecord, NOON } from '../../test/fixture/build.ts'

interface Media {
  readonly schema: object
  readonly example?: unknown
  readonly examples?: Record<string, { readonly value: unknown }>
}
interface Described {
  readonly description: string
  readonly headers?: Record<string, unknown>
  readonly content: Record<string, Media>
  readonly links?: Record<string, { readonly operationId: string }>
}
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly security?: unknown
  readonly requestBody?: { readonly content: Record<string, Media> }
  readonly responses: Record<string, Described>
}

let document: {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}
let text: string
beforeAll(async () => {
  const answer = await anApi().call({ path: '/openapi.json' })
  document = answer.json()
  text = `${JSON.stringify(document, undefined, 2)}\n`
})

interface Schema {
  readonly type?: unknown
  readonly pattern?: unknown
  readonly items?: object
}

/** The schema itself and those inside it, each with its place. */
function schemasIn(schema: object, place: string): readonly (readonly [string, Schema])[] {
  const inner = Object.entries(schema).filter((entry): entry is [string, object] => typeof entry[1] === 'object')
  return [[place, schema], ...inner.flatMap(([name, each]) => schemasIn(each, `${place}/${name}`))]
}

function operations(): readonly (readonly [string, Operation])[] {
  return operationsIn(document.paths)
}

function operationsIn(paths: Record<string, Record<string, Operation>>): readonly (readonly [string, Operation])[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
  )
}

describe('the OpenAPI document', () => {
  // After a change of the API: `npx vitest run api/src/openapi.test.ts -u`, then read the difference.
  test('is the one checked in', async () => {
    await expect(text).toMatchFileSnapshot('../openapi.json')
  })

  test('is not sent again to who has it', async () => {
    const first = await anApi().call({ path: '/openapi.json' })
    const again = (tag: string) => anApi().call({ path: '/openapi.json', headers: { 'if-none-match': tag } })
    const known = await again(String(first.headers['etag']))
    expect([known.statusCode, known.body]).toEqual([304, ''])
    expect((await again('"another"')).json()).toEqual(document)
  })

  test('has patterns without halves of surrogate pairs, which few engines take', () => {
    const patterns = schemasIn(document, '').flatMap(([, { pattern }]) =>
      typeof pattern === 'string' ? [pattern] : [],
    )
    expect(patterns.length).toBeGreaterThan(10)
    expect(patterns.filter((pattern) => /\\u[dD][89a-fA-F]/.test(pattern))).toEqual([])
  })

  test('links answers to operations that there are', () => {
    const known = new Map(operations().map(([path, { operationId }]) => [operationId, path]))
    const links = operations().flatMap(([, { responses }]) =>
      Object.values(responses).flatMap((answer) => Object.values(answer.links ?? {})),
    )
    expect(links.map(({ operationId }) => known.get(operationId))).toEqual([
      'get /api/v1/render/{id}',
      'get /api/v1/render/{id}/pdf',
      'delete /api/v1/render/{id}',
      'get /api/v1/render/{id}',
      'get /api/v1/render/{id}/pdf',
      'delete /api/v1/render/{id}',
      'get /api/v1/batches/{id}',
    ])
  })

  test('describes every route', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(
      operations()
        .map(([name]) => name)
        .toSorted(),
    ).toEqual([
      'delete /api/v1/render/{id}',
      'get /api/v1/batches/{id}',
      'get /api/v1/deliveries',
      'get /api/v1/deliveries/{id}',
      'get /api/v1/render/{id}',
      'get /api/v1/render/{id}/deliveries',
      'get /api/v1/render/{id}/pdf',
      'get /api/v1/renders',
      'get /api/v1/templates',
      'get /api/v1/templates/{code}',
      'get /api/v1/usage',
      'get /livez',
      'get /openapi.json',
      'get /readyz',
      'post /api/v1/batches',
      'post /api/v1/deliveries/{id}/redeliver',
      'post /api/v1/render',
      'post /api/v1/webhooks/test',
    ])
    expect(Object.keys(document.webhooks)).toEqual(['renderEnded', 'batchEnded', 'webhookTest'])
  })

  test('names every operation, and asks for a key where one is needed', () => {
    for (const [name, operation] of [...operations(), ...operationsIn(document.webhooks)]) {
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/)
      expect(operation.summary).toMatch(/^[A-Z]/)
      expect(operation.description).toMatch(/^[A-Z].*\.$/)
      expect(operation.security, name).toEqual(name.includes('/api/v1/') ? [{ apiKey: [] }] : [])
    }
    expect(new Set(operations().map(([, { operationId }]) => operationId)).size).toBe(operations().length)
  })

  test('promises X-Request-Id with every answer', () => {
    for (const [name, { responses }] of operations()) {
      for (const [status, { headers }] of Object.entries(responses))
        expect(headers, `${name} ${status}`).toHaveProperty('X-Request-Id')
    }
  })

  test('gives only examples that its own schemas take', () => {
    const media = [...operations(), ...operationsIn(document.webhooks)].flatMap(([name, { requestBody, responses }]) =>
      [requestBody, ...Object.values(responses)].flatMap((part) =>
        Object.values(part?.content ?? {}).map((each) => [name, each] as const),
      ),
    )
    let count = 0
    for (const [name, { schema, example, examples = {} }] of media) {
      assertSchema(schema)
      const validate = compileValidator({ ...schema, components: document.components })
      const values = [...Object.values(examples).map(({ value }) => value), ...(example === undefined ? [] : [example])]
      count += values.length
      for (const value of values) expect(validate(value), name).toEqual([])
    }
    expect(count).toBeGreaterThan(20)
  })

  test('names the schemas, so that a generated client has a type for each', () => {
    expect(Object.keys(document.components.schemas)).toMatchInlineSnapshot(`
      [
        "AttemptResult",
        "BatchAccepted",
        "BatchItem",
        "BatchRecord",
        "BatchRequest",
        "BatchStatus",
        "BatchWebhookBody",
        "CustomPageSize",
        "DeliveredEventType",
        "Delivery",
        "DeliveryAttempt",
        "DeliveryDetail",
        "DeliveryList",
        "DeliveryPage",
        "DeliveryStatus",
        "Engine",
        "ErrorBody",
        "ErrorCode",
        "ErrorDetail",
        "ErrorReason",
        "EventType",
        "FailureCode",
        "Length",
        "ListedAttempt",
        "ListedDelivery",
        "ListedFailure",
        "ListedRender",
        "Liveness",
        "Margin",
        "OpenApiDocument",
        "Orientation",
        "PageSizeName",
        "Problem",
        "Readiness",
        "Redelivery",
        "RenderAccepted",
        "RenderFailure",
        "RenderMode",
        "RenderOptions",
        "RenderPage",
        "RenderRecord",
        "RenderRequest",
        "RenderStatus",
        "RenderWarning",
        "RequestPart",
        "Template",
        "TemplateDetail",
        "TemplateEngine",
        "TemplateList",
        "TestEventBody",
        "TestEventRequest",
        "Usage",
        "UsageOfDay",
        "UsageOfTemplate",
        "UsageRate",
        "WarningCode",
        "WebhookBody",
      ]
    `)
    const unnamed = operations().flatMap(([name, { requestBody, responses }]) =>
      [requestBody, ...Object.values(responses)]
        .flatMap((part) => Object.values(part?.content ?? {}))
        .filter(({ schema }) => 'properties' in schema || ('type' in schema && schema.type === 'object'))
        .map(() => name),
    )
    expect(unnamed).toEqual([])
  })

  test('names what lists are of, and has one type for each value, as generators of clients need', () => {
    const schemas = Object.entries(document.components.schemas).flatMap(([name, schema]) => schemasIn(schema, name))
    const unnamed = schemas.filter(([, { items }]) => items !== undefined && 'properties' in items)
    expect(unnamed.map(([place]) => place)).toEqual([])
    expect(schemas.filter(([, { type }]) => Array.isArray(type)).map(([place]) => place)).toEqual([])
    expect(document.components.schemas['Length']).toEqual({
      anyOf: [
        { type: 'number', minimum: 0, maximum: 14400 },
        { type: 'string', pattern: expect.stringContaining('mm') },
      ],
    })
  })

  test('says of a named schema, where it is used, what it means there', () => {
    expect(document.components.schemas['RenderRequest']).toHaveProperty('properties.engine', {
      $ref: '#/components/schemas/Engine',
      description: expect.stringMatching(/^Overrides the engine/),
    })
  })

  test('describes the body of a webhook as it is', () => {
    const validate = compileValidator({ ...webhookBodySchema, additionalProperties: false })
    const labeled = aRecord({ reference: 'order-42', metadata: { customer: '7' } })
    for (const manifest of [aManifest(), aManifest({ record: labeled }), aManifest({ outcome: aFailure() })]) {
      const body: unknown = JSON.parse(webhookBodyOf(anEvent(manifest)))
      expect(validate(body)).toEqual([])
    }
    const { body } = testEventOf(NOON, Buffer.alloc(EVENT_ID_RANDOM_BYTES))
    expect(compileValidator({ ...testEventBodySchema, additionalProperties: false })(JSON.parse(body))).toEqual([])
  })

  test('says of every refusal which codes come with it', () => {
    for (const [code, { status }] of Object.entries(HTTP_ERRORS)) {
      const isDescribed = operations().some(([, { responses }]) =>
        responses[status]?.description.includes(`\`${code}\``),
      )
      // Only requests that reach no operation get these two.
      expect(isDescribed, code).toBe(!['NOT_FOUND', 'METHOD_NOT_ALLOWED'].includes(code))
    }
  })
})
