/** A body → the request it spells, as far as that can be told from the body alone. What runs in the threads of `body-checks.ts` where the body is large. */
import type { JsonObject } from '@platen/contract/brand.ts'
import { canonicalJson, sha256 } from '@platen/contract/canonical-json.ts'
import type { ServiceError } from '@platen/contract/error.ts'
import { type RenderRequest, renderRequestSchema } from '@platen/contract/schema/render-request.ts'
import { compileValidator } from '@platen/contract/schema/validator.ts'
import { malformed } from '../../problem.ts'
import { parseBody } from '../body.ts'

/** Conforms to `renderRequestSchema`. All of it but `data` is small, as its schema bounds it. */
export interface ParsedRequest extends Omit<RenderRequest, 'data'> {
  /** A JSON object, in UTF-8. */
  readonly data: Uint8Array
  /** The same for bodies that say the same, whatever the order of their names; absent where nobody asked for it. */
  readonly fingerprint?: string
}

export interface ParseTask {
  readonly bytes: Uint8Array
  readonly hasFingerprint: boolean
}

/** As it comes from a thread: an error would arrive without its class and its code. */
export type ParsedAnswer =
  | { readonly request: ParsedRequest }
  | { readonly refusal: Pick<ServiceError, 'code' | 'message' | 'details'> }

const faultsOf = compileValidator(renderRequestSchema)

/** Throws `INVALID_PAYLOAD`; no message quotes the body. */
export function parseRequest({ bytes, hasFingerprint }: ParseTask): ParsedRequest {
  const body = parseBody(bytes)
  const faults = faultsOf(body)
  if (faults.length > 0) throw malformed(faults)
  // It is one by its schema.
  const request = body as JsonObject & RenderRequest
  const data = Buffer.from(JSON.stringify(request.data))
  return { ...request, data, ...(hasFingerprint && { fingerprint: sha256(canonicalJson(request)) }) }
}
