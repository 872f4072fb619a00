/**
 * Converts the body of a batch to a request, as far as the body alone allows. Each item is parsed and checked alone, and kept as the line
 * that is stored. A refusal lists the faults of all items. For large bodies this runs in the threads of `body-checks.ts`.
 */
import { createHash } from 'node:crypto'
import { type ErrorDetail, ServiceError } from '@platen/contract/domain/error.ts'
import { BATCH_ITEMS_MAX, BODY_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { type BatchHead, batchHeadSchema, batchItemSchema } from '@platen/contract/schema/batch-request.ts'
import { compileValidator } from '@platen/contract/schema/validator.ts'
import { encodeItem } from '@platen/contract/stored/batch.ts'
import { isJsonObject, type Json, type JsonObject } from '@platen/lib/brand.ts'
import { canonicalJson } from '@platen/lib/canonical-json.ts'
import { malformed } from '../../problem.ts'
import { parseBody } from '../body.ts'
import { BATCH_FAULTS_MAX } from '../limit.ts'
import { withoutNulls } from './parse-request.ts'
import { type SplitBatch, splitJson, splitLines } from './split-batch.ts'

/** Conforms to `batchRequestSchema`. */
export interface ParsedBatch extends BatchHead {
  readonly lines: Uint8Array
  readonly total: number
  /** As in `ParsedRequest`. Never equal to that of a render. */
  readonly fingerprint?: string
}

export interface ParseBatchTask {
  readonly bytes: Uint8Array
  readonly isNdjson: boolean
  readonly hasFingerprint: boolean
}

const headFaultsOf = compileValidator(batchHeadSchema)
const itemFaultsOf = compileValidator(batchItemSchema)

/** Throws `INVALID_PAYLOAD`; no message quotes the body. */
export function parseBatch({ bytes, isNdjson, hasFingerprint }: ParseBatchTask): ParsedBatch {
  const { head, items } = isNdjson ? splitLines(bytes) : splitJson(bytes)
  const parsed = withoutNulls(parseBody(head), batchHeadSchema.required)
  const faults = headFaultsOf(parsed)
  if (faults.length > 0) throw malformed(faults)
  const fits = items.length > 0 && items.length <= BATCH_ITEMS_MAX
  if (!fits) throw malformed([{ path: '/items', message: `must have 1 to ${BATCH_ITEMS_MAX} items` }])
  // The schema guarantees this type.
  const { items: _none, ...request } = parsed as JsonObject & BatchHead
  const hash = hasFingerprint ? createHash('sha256').update(`batch ${canonicalJson(request)}`) : undefined
  const lines = linesOf(items, bytes, (item) => hash?.update(`\n${canonicalJson(item)}`))
  return { ...request, lines, total: items.length, ...(hash && { fingerprint: hash.digest('hex') }) }
}

function linesOf(items: SplitBatch['items'], body: Uint8Array, onItem: (item: Json) => void): Uint8Array {
  const [lines, faults]: [Uint8Array[], ErrorDetail[]] = [[], []]
  for (const [at, bytes] of items.entries()) {
    const found = itemIn(bytes, body)
    if ('item' in found) {
      onItem(found.item)
      // Lines that will not be stored would only take memory.
      if (faults.length === 0) lines.push(encodeItem(found.item))
    } else faults.push(...found.faults.map(({ path, message }) => ({ path: `/items/${at}${path}`, message })))
    if (faults.length >= BATCH_FAULTS_MAX) break
  }
  if (faults.length > 0) throw malformed(faults.slice(0, BATCH_FAULTS_MAX))
  return Buffer.concat(lines)
}

function itemIn(
  bytes: Uint8Array,
  body: Uint8Array,
): { readonly item: JsonObject } | { readonly faults: readonly ErrorDetail[] } {
  if (bytes.length > BODY_BYTES_MAX)
    return { faults: [{ path: '', message: `may have at most ${BODY_BYTES_MAX} bytes` }] }
  try {
    const item = withoutNulls(parseBody(bytes, 'The item'), batchItemSchema.required)
    const faults = itemFaultsOf(item)
    return faults.length === 0 && isJsonObject(item) ? { item } : { faults }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { details, message } = error
    const inBody = (text: string) => withPlaceInBody(text, bytes, body)
    return { faults: details.length > 0 ? details : [{ path: '', message: `cannot be read: ${inBody(message)}` }] }
  }
}

/** Replaces the place of a fault in the item by its place in the body. `item` is a part of the buffer of `body`. */
function withPlaceInBody(message: string, item: Uint8Array, body: Uint8Array): string {
  const before = Buffer.from(body.buffer, body.byteOffset, item.byteOffset - body.byteOffset).toString()
  const [linesBefore, charsBefore] = [before.split('\n').length - 1, before.length - before.lastIndexOf('\n') - 1]
  return message
    .replace(/\.$/, '')
    .replace(/position (\d+) \(line (\d+) column (\d+)\)/, (...[, at, line, column]: readonly string[]) => {
      const columnInBody = Number(column) + (line === '1' ? charsBefore : 0)
      return `position ${before.length + Number(at)} (line ${linesBefore + Number(line)} column ${columnInBody})`
    })
}

export function* dataIn(lines: Uint8Array): Generator<Json | undefined> {
  for (let from = 0; from < lines.length; ) {
    const end = lines.indexOf(0x0a, from)
    const item: Json = JSON.parse(Buffer.from(lines.subarray(from, end)).toString())
    yield isJsonObject(item) ? item['data'] : undefined
    from = end + 1
  }
}
