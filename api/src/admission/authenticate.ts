/** First station of a request: whose is it? Decided from the headers alone, before a byte of the body is read. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { environmentReader, hashOfKey } from '@platen/contract/api-key.ts'
import { ServiceError } from '@platen/contract/error.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { IdScope } from '@platen/contract/render-id.ts'
import type { ApiKey, Tenant } from '@platen/contract/tenant.ts'
import type { FastifyRequest } from 'fastify'
import { unavailable } from '../problem.ts'

/** Whoever holds a key that is good now. */
export interface Caller {
  readonly tenant: Tenant
  readonly key: ApiKey
  /** Of the settings these two are from. */
  readonly revision: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes that ask for no key, and until one was found good. */
    caller: Caller | null
  }
}

/** The name of a scheme is written in any case (RFC 9110 §11.1); the key is not. */
const BEARER = /^Bearer +(\S+)$/i
const AUTHORIZATION_CHARS_MAX = 256

/**
 * Makes the check of one installation. It returns whose key the request carries, and throws the same `UNAUTHORIZED` whatever is
 * wrong: no key, two keys, another brand's, one unknown, expired or suspended, or one whose prefix names another environment than
 * it was published for. Keys are found by their SHA-256, so the time a look-up takes says nothing about any other key. While there are
 * no settings at all, it throws `RENDER_UNAVAILABLE`.
 */
export function authenticator(
  brand: string,
  { directory, clock }: { directory: Directory; clock: Clock },
): (request: IncomingMessage) => Caller {
  const environmentOf = environmentReader(brand)
  return (request) => {
    const text = BEARER.exec(authorizationOf(request))?.[1] ?? ''
    const environment = environmentOf(text)
    const { keys, tenants, revision } = directory.current()
    // Hashed and looked up whatever was sent, so that the time taken says nothing of what was wrong.
    const key = keys.get(hashOfKey(text))
    const tenant = key && tenants.get(key.tenant)
    const isLive = key !== undefined && !key.suspended && (key.expiresAt ?? Number.POSITIVE_INFINITY) > clock.now()
    // A process that has no settings yet can tell no key from another.
    if (revision === 0) throw unavailable()
    if (!isLive || key.environment !== environment || tenant === undefined) throw unauthorized()
    return { tenant, key, revision }
  }
}

/** The caller of a request behind the authentication hook. */
export function callerOf(request: FastifyRequest): Caller {
  assert(request.caller !== null, 'the route is behind authentication')
  return request.caller
}

/** To whom render ids are issued for this caller. */
export function scopeOf({ tenant, key }: Caller): IdScope {
  return { incarnation: tenant.incarnation, environment: key.environment }
}

/** The one Authorization header, or nothing: of several, Node's `headers` would keep the first and drop the others silently. */
function authorizationOf({ rawHeaders }: IncomingMessage): string {
  const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'authorization')
  const [value = ''] = values
  return values.length === 1 && value.length <= AUTHORIZATION_CHARS_MAX ? value : ''
}

function unauthorized(): ServiceError {
  return new ServiceError('UNAUTHORIZED', 'Send one valid API key as `Authorization: Bearer <key>`.', {
    headers: { 'www-authenticate': 'Bearer' },
  })
}
