/**
 * Routes for load balancers and orchestrators, and the description of the API. They need no key, call no store, and log nothing at info.
 */
import { createHash } from 'node:crypto'
import { selectBytes } from '@platen/contract/domain/byte-range.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { COMMON_HEADERS, NO_KEY, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { type Throttle, tooManyOfAddress } from '../../traffic/throttle.ts'

const livenessSchema = {
  title: 'Liveness',
  type: 'object',
  additionalProperties: false,
  required: ['alive'],
  properties: { alive: { type: 'boolean' } },
} as const

const readinessSchema = {
  title: 'Readiness',
  type: 'object',
  additionalProperties: false,
  required: ['ready'],
  properties: { ready: { type: 'boolean' } },
} as const

interface HealthPorts extends Pick<ApiPorts, 'isAlive' | 'isReady'> {
  readonly throttle: Throttle
  /** While the service drains, it is alive but not ready. */
  readonly isDraining: () => boolean
}

/** Hides the detail of readiness, because anybody may ask here. The port for probes shows it. */
export function healthRoutes(app: FastifyInstance, ports: HealthPorts): void {
  const { throttle, isDraining } = ports
  app.get('/livez', { schema: liveness() }, async (_request, reply) => {
    const alive = ports.isAlive()
    return await reply.code(alive ? 200 : 503).send({ alive })
  })

  app.get('/readyz', { schema: readiness() }, async (_request, reply) => {
    const ready = ports.isReady().ready && !isDraining()
    return await reply.code(ready ? 200 : 503).send({ ready })
  })

  const charge = async ({ ip }: FastifyRequest) => {
    if (!throttle.chargeAddress(ip)) throw tooManyOfAddress()
  }
  // Made once: it does not change as long as the process lives.
  let made: { readonly text: string; readonly sha256: string } | undefined
  app.get('/openapi.json', { schema: document(), onRequest: charge }, async ({ headers }, reply) => {
    if (made === undefined) {
      const text = JSON.stringify(app.swagger())
      made = { text, sha256: createHash('sha256').update(text).digest('hex') }
    }
    const { text, sha256 } = made
    // As for HEAD, because no ranges of this document are served.
    const known = { method: 'HEAD', headers: { 'if-none-match': headers['if-none-match'] } }
    const { status } = selectBytes(known, { sha256, bytes: text.length })
    // The same for everybody, so viewers of any origin may read it.
    reply.code(status).headers({ 'access-control-allow-origin': '*', 'cache-control': 'no-cache', etag: `"${sha256}"` })
    return await (status === 304 ? reply.send() : reply.type('application/json').send(text))
  })
}

function liveness(): object {
  return {
    operationId: 'getLiveness',
    tags: ['health'],
    summary: 'Check whether this process is alive',
    description: 'Does not ask any store. Restart the process if the answer is 503 several times in a row.',
    security: NO_KEY,
    response: {
      200: {
        description: 'The process works.',
        headers: COMMON_HEADERS,
        ...livenessSchema,
        examples: [{ alive: true }],
      },
      503: {
        description: 'The process should be restarted.',
        headers: COMMON_HEADERS,
        ...livenessSchema,
        examples: [{ alive: false }],
      },
      ...refusals('getLiveness'),
    },
  }
}

function readiness(): object {
  return {
    operationId: 'getReadiness',
    tags: ['health'],
    summary: 'Check whether this process is ready for requests',
    description: 'A process that drains is not ready. Send requests to another one meanwhile.',
    security: NO_KEY,
    response: {
      200: {
        description: 'The process is ready.',
        headers: COMMON_HEADERS,
        ...readinessSchema,
        examples: [{ ready: true }],
      },
      503: {
        description: 'The process is not ready.',
        headers: COMMON_HEADERS,
        ...readinessSchema,
        examples: [{ ready: false }],
      },
      ...refusals('getReadiness'),
    },
  }
}

const SHOWN = {
  ...COMMON_HEADERS,
  'Access-Control-Allow-Origin': { type: 'string', description: '`*`: pages of any origin may read it.' },
  ETag: { type: 'string', description: 'SHA-256 of the document.' },
} as const

function document(): object {
  return {
    operationId: 'getOpenApi',
    tags: ['health'],
    summary: 'Get this document',
    description: 'The description of this API. It is the same for everybody.',
    security: NO_KEY,
    headers: {
      type: 'object',
      properties: {
        'if-none-match': { type: 'string', description: 'An `ETag`. If it is of this document, the answer is 304.' },
      },
    },
    response: {
      304: { description: 'The caller has this document.', headers: SHOWN, type: 'null' },
      200: {
        description: 'OpenAPI 3.1.',
        headers: SHOWN,
        title: 'OpenApiDocument',
        type: 'object',
        additionalProperties: true,
      },
      ...refusals('getOpenApi'),
    },
  }
}
