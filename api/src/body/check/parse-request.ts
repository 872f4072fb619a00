/** Converts a body to a request, as far as the body alone allows. For large bodies this runs in the threads of `body-checks.ts`. */

import type { ServiceError } from '@platen/contract/domain/error.ts'
import { type RenderRequest, renderRequestSchema } from '@platen/contract/schema/render-request.ts'
import { compileValidator } from '@platen/contract/schema/validator.ts'
import { isJsonObject, type Json, type JsonObject } from '@platen/lib/brand.ts'
import { canonicalJson, sha256 } from '@platen/lib/canonical-json.ts'
import { malformed } from '../../problem.ts'
import { parseBody } from '../body.ts'
import { BODY_PARSED_INLINE_BYTES_MAX } from '../limit.ts'

/** Conforms to `renderRequestSchema`. Everything but `data` is small, because the schema limits it. */
export interface ParsedRequest extends Omit<RenderRequest, 'data'> {
  readonly data: RequestData
  /** Equal for bodies with the same content, in any order of names. Absent unless requested. */
  readonly fingerprint?: string
}

/** The parsed value for a small body. For a large one JSON in UTF-8, which passes between threads at less cost. */
export type RequestData = { readonly value: JsonObject } | { readonly bytes: Uint8Array }

export function bytesOf(data: RequestData): Uint8Array {
  return 'bytes' in data ? data.bytes : Buffer.from(JSON.stringify(data.value))
}

export interface ParseTask {
  readonly bytes: Uint8Array
  readonly hasFingerprint: boolean
}

/** The answer of a thread. An error would arrive without its class and its code. */
export type ParsedAnswer<Request> =
  | { readonly request: Request }
  | { readonly refusal: Pick<ServiceError, 'code' | 'reason' | 'message' | 'details'> }

const faultsOf = compileValidator(renderRequestSchema)

/** Throws `INVALID_PAYLOAD`; no message quotes the body. */
export function parseRequest({ bytes, hasFingerprint }: ParseTask): ParsedRequest {
  const body = withoutNulls(parseBody(bytes), renderRequestSchema.required)
  const faults = faultsOf(body)
  if (faults.length > 0) throw malformed(faults)
  // The schema guarantees this type.
  const request = body as JsonObject & { readonly data: JsonObject } & RenderRequest
  const isSmall = bytes.length <= BODY_PARSED_INLINE_BYTES_MAX
  const data = isSmall ? { value: request.data } : { bytes: Buffer.from(JSON.stringify(request.data)) }
  return { ...request, data, ...(hasFingerprint && { fingerprint: sha256(canonicalJson(request)) }) }
}

/** Drops optional fields that are null, at the top and in `options`: some programs send null for absent fields. */
export function withoutNulls(body: Json, required: readonly string[]): Json {
  if (!isJsonObject(body)) return body
  const present = Object.entries(body).filter(([name, value]) => value !== null || required.includes(name))
  return Object.fromEntries(
    present.map(([name, value]) => [name, name === 'options' ? withoutNullOptions(value) : value]),
  )
}

/** Recursive, because the sides of the margin are options, too. */
function withoutNullOptions(options: Json): Json {
  if (!isJsonObject(options)) return options
  const present = Object.entries(options).filter(([, value]) => value !== null)
  return Object.fromEntries(present.map(([name, value]) => [name, withoutNullOptions(value)]))
}
