import { HTTP_ERRORS } from '@platen/contract/error.ts'
import { webhookBodyOf } from '@platen/contract/event.ts'
import { webhookBodySchema } from '@platen/contract/schema/response.ts'
import { assertSchema, compileValidator } from '@platen/contract/schema/validator.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { anApi } from '../../test/fixture/api.ts'
import { aFailure, aManifest, anEvent } from '../../test/fixture/build.ts'

interface Media {
  readonly schema: object
  readonly example?: unknown
  readonly examples?: Record<string, { readonly value: unknown }>
}
interface Described {
  readonly description: string
  readonly headers?: Record<string, unknown>
  readonly content: Record<string, Media>
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

  test('describes every route', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(
      operations()
        .map(([name]) => name)
        .toSorted(),
    ).toEqual([
      'delete /api/v1/render/{id}',
      'get /api/v1/batches/{id}',
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
    ])
    expect(Object.keys(document.webhooks)).toEqual(['renderEnded', 'batchEnded'])
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
        "BatchAccepted",
        "BatchItem",
        "BatchRecord",
        "BatchRequest",
        "BatchWebhookBody",
        "Delivery",
        "DeliveryAttempt",
        "DeliveryList",
        "Error",
        "ErrorDetail",
        "ListedRender",
        "Liveness",
        "Margin",
        "Readiness",
        "Redelivery",
        "RenderAccepted",
        "RenderFailure",
        "RenderOptions",
        "RenderPage",
        "RenderRecord",
        "RenderRequest",
        "RenderWarning",
        "Template",
        "TemplateDetail",
        "TemplateList",
        "Usage",
        "WebhookBody",
      ]
    `)
    const unnamed = operations().flatMap(([name, { requestBody, responses }]) =>
      [requestBody, ...Object.values(responses)]
        .flatMap((part) => Object.values(part?.content ?? {}))
        .filter(({ schema }) => 'properties' in schema)
        .map(() => name),
    )
    expect(unnamed).toEqual([])
  })

  test('describes the body of a webhook as it is', () => {
    const validate = compileValidator({ ...webhookBodySchema, additionalProperties: false })
    for (const manifest of [aManifest(), aManifest({ outcome: aFailure() })]) {
      const body: unknown = JSON.parse(webhookBodyOf(anEvent(manifest)))
      expect(validate(body)).toEqual([])
    }
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
