/** Parameters that no route has are refused, with what there is in their place. */
import { expect, test } from 'vitest'
import { anApi } from '../../../test/fixture/api.ts'

test.for([
  ['/api/v1/templates/invoice?version=1', 'version is not known: this request takes none'],
  ['/api/v1/renders?per_page=5', 'per_page is not known: there are '],
  ['/api/v1/renders?created_after=2026-11-21T12:00:00+01:00', 'created_after must be a time such as '],
] as const)('%s is told what to write', async ([path, text]) => {
  const answer = await anApi().get(path)
  expect([answer.statusCode, answer.json().error.message]).toEqual([400, expect.stringContaining(text)])
})

test('POST /render takes no parameter, and one Idempotency-Key of a stated form', async () => {
  const api = anApi()
  const body = { template: 'invoice', data: {}, mode: 'async' }
  const answer = await api.call({
    method: 'POST',
    path: '/api/v1/render?async=true',
    headers: { authorization: `Bearer service_live_${'a'.repeat(40)}`, 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  })
  expect([answer.statusCode, answer.json().error.message]).toEqual([400, expect.stringContaining('async is not known')])
  const keyed = await api.post(body, { 'idempotency-key': 'é' })
  expect(keyed.json().error.message).toContain('1 to 255 printable ASCII characters')
})

test('a fault in a line of NDJSON has its place in the body, and one full stop', async () => {
  const answer = await anApi().call({
    method: 'POST',
    path: '/api/v1/batches',
    headers: { authorization: `Bearer service_live_${'a'.repeat(40)}`, 'content-type': 'application/x-ndjson' },
    payload: '{"template":"invoice"}\n{"data":{}}\n{x}\n',
  })
  expect(answer.json().error.message).toMatch(/^The request is malformed: \/items\/1 .* \(line 3 column 2\)\.$/)
})
