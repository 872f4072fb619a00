/** Step 1 of admission: finds the caller, from the headers alone, before a byte of the body is read. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { environmentReader, hashOfKey } from '@platen/contract/domain/api-key.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { IdScope } from '@platen/contract/domain/render-id.ts'
import type { ApiKey, Tenant } from '@platen/contract/domain/tenant.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { FastifyRequest } from 'fastify'
import { unavailable } from '../problem.ts'

/** The holder of a valid key. */
export interface Caller {
  readonly tenant: Tenant
  readonly key: ApiKey
  /** The revision of the settings that `tenant` and `key` come from. */
  readonly revision: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes that need no key, and until the key was found valid. */
    caller: Caller | null
  }
}

/** The scheme name is case-insensitive (RFC 9110 §11.1). The key is not. */
const BEARER = /^Bearer +(\S+)$/i
const AUTHORIZATION_CHARS_MAX = 256

/**
 * The returned check throws the same `UNAUTHORIZED` for every fault: no key, two keys, or a key of another brand; an unknown, expired or
 * suspended key; a prefix of another environment than the key was published for. Keys are found by their SHA-256, so the duration of a
 * lookup reveals nothing about other keys. While there are no settings at all, it throws `RENDER_UNAVAILABLE`.
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
    // Always hashes and looks up, so that the duration does not reveal what was wrong.
    const key = keys.get(hashOfKey(text))
    const tenant = key && tenants.get(key.tenant)
    const isLive = key !== undefined && !key.suspended && (key.expiresAt ?? Number.POSITIVE_INFINITY) > clock.now()
    // Without settings, no key can be verified.
    if (revision === 0) throw unavailable()
    if (!isLive || key.environment !== environment || tenant === undefined) throw unauthorized()
    return { tenant, key, revision }
  }
}

export function callerOf(request: FastifyRequest): Caller {
  assert(request.caller !== null, 'the route is behind authentication')
  return request.caller
}

export function scopeOf({ tenant, key }: Caller): IdScope {
  return { account: tenant.account, environment: key.environment }
}

/** The one Authorization header. Empty for several: Node's `headers` would keep the first and silently drop the others. */
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
