/**
 * GET and HEAD /docs: the documentation page. It has no scripts and loads nothing from elsewhere, which its content security policy
 * enforces. It needs no key and is made from the OpenAPI document, so it says nothing that /openapi.json does not. Libraries that show such
 * a document (Swagger UI, Redoc, Scalar) are scripts.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { selectBytes } from '@platen/contract/domain/byte-range.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Throttle, tooManyOfAddress } from '../../traffic/throttle.ts'
import { type Document, docsPage } from './page.ts'

export function docsRoute(app: FastifyInstance, throttle: Throttle): void {
  const style = readFileSync(new URL('style.css', import.meta.url), 'utf8')
  const policy = policyOf(style)
  // Made once, without the address.
  let pieces: readonly string[] | undefined
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    // The document is ours, and tests check its shape.
    pieces ??= docsPage(app.swagger() as unknown as Document, { origin: ORIGIN, style }).split(ORIGIN)
    const page = Buffer.from(pieces.join(originOf(request)))
    const sha256 = createHash('sha256').update(page).digest('hex')
    const { status, headers, range } = selectBytes(request, { sha256, bytes: page.byteLength })
    reply.code(status).headers({
      ...headers,
      'cache-control': 'no-cache',
      'content-security-policy': policy,
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
    })
    return await reply.send(range === undefined ? undefined : page.subarray(range.start, range.end + 1))
  }
  const onRequest = async ({ ip }: FastifyRequest) => {
    if (!throttle.chargeAddress(ip)) throw tooManyOfAddress()
  }
  // Hidden: every generated client would have an operation for it.
  const schema = { hide: true }
  // Fastify's own HEAD route has no length if there is no body.
  app.get('/docs', { schema, onRequest, exposeHeadRoute: false }, handler)
  app.head('/docs', { schema, onRequest }, handler)
}

/** Placeholder of the address. No other text has this character. */
const ORIGIN = '\0'

function policyOf(style: string): string {
  const hash = createHash('sha256').update(style).digest('base64')
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    // For the empty icon: without one, browsers ask for /favicon.ico.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** A name or an address, and a port. Nothing in it has a meaning to a shell. */
const HOST = /^([a-z\d.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i
const IS_LOCAL = /^(localhost|[\d.]+|\[.*\])$|:\d+$/

/**
 * The address at which the reader reached the page. A name without a port means https: the proxy that ends TLS need not be trusted to tell,
 * and a command must not send a key in the clear.
 */
function originOf({ host, protocol }: FastifyRequest): string {
  if (!HOST.test(host)) return 'https://pdf.example.com'
  return `${IS_LOCAL.test(host) ? protocol : 'https'}://${host}`
}
