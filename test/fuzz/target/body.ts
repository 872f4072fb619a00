/** Bodies of render requests: bytes, JSON and what a request may say. */
import assert from 'node:assert/strict'
import { modeOf, webhookUrlOf } from '@platen/api/admission/request.ts'
import { parseBody } from '@platen/api/body/body.ts'
import { bytesOf, parseRequest } from '@platen/api/body/check/parse-request.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { DEFAULT_LIMITS, type Tenant, type TenantId } from '@platen/contract/domain/tenant.ts'
import type { Json } from '@platen/lib/brand.ts'
import * as fc from 'fast-check'
import { type Edit, edited, edits } from '../generate/bytes.ts'
import { json, number, object, text } from '../generate/json.ts'
import { SECRET, targetOf } from '../target.ts'

const TENANT: Tenant = {
  id: 'acme' as TenantId,
  account: 'one',
  limits: DEFAULT_LIMITS,
  suspended: false,
  storage: { bucket: 'platen', prefix: 'acme/' },
}

const length = fc.oneof(number, text, fc.constantFrom('1cm', '99999.9999in', '1e3mm', '-1pt'))
const url = fc.oneof(
  fc.webUrl({ withFragments: true, withQueryParameters: true }),
  fc
    .tuple(
      fc.constantFrom('http', 'https', 'HTTPS', 'ftp', ''),
      fc.oneof(fc.ipV4Extended(), fc.ipV6(), fc.domain(), text),
      fc.oneof(text, fc.webPath()),
    )
    .map(([scheme, host, path]) => `${scheme}://${host}${path}`),
  text,
)
const request = fc.record(
  {
    template: fc.oneof(fc.constantFrom('invoice', 'a-b_c'), json),
    data: fc.oneof(object, json),
    engine: fc.oneof(fc.constantFrom('html', 'react_pdf'), json),
    mode: fc.oneof(fc.constantFrom('sync', 'async'), json),
    async: fc.oneof(fc.boolean(), json),
    webhook_url: fc.oneof(url, json),
    options: fc.oneof(
      fc.record(
        {
          page_size: fc.oneof(fc.constantFrom('A4'), fc.record({ width: number, height: number })),
          margin: fc.oneof(length, fc.dictionary(fc.constantFrom('top', 'left', '__proto__'), length)),
          filename: text,
          orientation: text,
        },
        { requiredKeys: [] },
      ),
      json,
    ),
  },
  { requiredKeys: [] },
)

interface Body {
  /** As JSON before it is edited. */
  readonly value: Json
  readonly edits: readonly Edit[]
}

export const body = targetOf<Body>({
  name: 'body',
  inputs: fc.record({ value: fc.oneof(request, json), edits: fc.oneof(fc.constant([]), edits) }) as fc.Arbitrary<Body>,
  async open() {
    return {
      meet(input) {
        const bytes = edited(Buffer.from(JSON.stringify(input.value)), input.edits)
        const value = refusable(() => parseBody(bytes))
        if (value === undefined) return
        assert.deepEqual(value, JSON.parse(bytes.toString()))
        const asked = refusable(() => parseRequest({ bytes, hasFingerprint: true }))
        if (asked === undefined) return
        assert.deepEqual(JSON.parse(Buffer.from(bytesOf(asked.data)).toString()), Object(value).data)
        refusable(() => modeOf(asked))
        refusable(() => webhookUrlOf(asked, { tenant: TENANT, policy: { allowCidrs: [], isHttpAllowed: false } }))
      },
      async [Symbol.asyncDispose]() {},
    }
  },
})

/** What `run` returns, or undefined where it refuses in the words of the catalog and without those of the caller. */
function refusable<Result>(run: () => Result): Result | undefined {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    assert.notEqual(error.code, 'INTERNAL_ERROR')
    assert(!error.message.includes(SECRET), 'the refusal quotes the body')
    assert(
      error.details.every(({ message }) => !message.includes(SECRET)),
      'a detail quotes the body',
    )
    return undefined
  }
}
