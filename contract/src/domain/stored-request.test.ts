import { expect, test } from 'vitest'
import { aFailure, aManifest, anEvent, aRecord } from '../../../test/fixture/build.ts'
import type { RenderRecord } from './render.ts'
import { decodeRequest, encodeRequest, manifestOfEvent, withoutRequest, withRequest } from './stored-request.ts'

const DATA = Buffer.from('{"name":"Ada\\nByron",\n"age":36}')
const STORED = { requestData: 'Stored', data: { stored: { bucket: 'platen', key: 'acme/input' } } } as const
const REQUEST = {
  options: { filename: 'lovelace.pdf', page_size: 'A4' },
  webhookUrl: 'https://example.com/lovelace',
  reference: 'lovelace/7',
  metadata: { customer: 'Ada lovelace' },
} as const

test.for<[string, Partial<RenderRecord>]>([
  ['with file name, webhook URL and labels', REQUEST],
  ['with none of them', { options: { page_size: 'A4' } }],
])('a stored request %s comes back as it was, and its record has none of it meanwhile', ([, fields]) => {
  const record = aRecord({ ...STORED, ...fields })
  const bare = withoutRequest(record)
  expect(JSON.stringify(bare)).not.toMatch(/lovelace/)
  const request = decodeRequest(encodeRequest(DATA, record))
  expect(Buffer.from(request.data)).toEqual(DATA)
  expect(withRequest(bare, request)).toEqual(record)
})

test('a record and an event of any other request stay as they are', () => {
  const record = aRecord(REQUEST)
  const manifest = aManifest({ record, outcome: aFailure() })
  expect(withoutRequest(record)).toBe(record)
  expect(manifestOfEvent(manifest)).toBe(manifest)
})

test('an event has nothing of a stored request, nor what its template said of it', () => {
  const record = aRecord({ ...STORED, ...REQUEST })
  const { pdf } = { pdf: aManifest({ record }).outcome }
  const warnings = [{ code: 'javascript_disabled', message: 'of lovelace' }] as const
  const outcomes = [
    aFailure({ error: { code: 'template_error', message: 'of lovelace' } }),
    aFailure({ error: { code: 'document_warnings', message: 'of lovelace' }, warnings, warningsOmitted: 1 }),
    { ...pdf, warnings, warningsOmitted: 1 },
  ]
  for (const outcome of outcomes) {
    const manifest = aManifest({ record, outcome })
    const event = anEvent(manifest)
    expect(JSON.stringify(event)).not.toMatch(/lovelace|"warnings|Omitted/)
    expect(event.manifest).toMatchObject({ render: { id: record.id }, outcome: { status: outcome.status } })
    expect(event.id).toBe(anEvent(aManifest({ record: { ...record, options: {} }, outcome })).id)
  }
})
