import { expect, test } from 'vitest'
import { aClient, ID } from '../../../test/fixture/api/client.ts'
import { pdfAnswerOf } from './answer.ts'

const answerWith = (headers: Record<string, string>) =>
  pdfAnswerOf(
    new Response('', { headers: { 'content-type': 'application/pdf', 'x-acme-render-id': ID, ...headers } }),
    'acme',
  )

test('the quota and the rate are those of the headers', () => {
  const quota = { 'x-acme-quota-limit': '10', 'x-acme-quota-remaining': '0' }
  const rate = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '1795262400' }
  expect(answerWith({ ...quota, ...rate })).toMatchObject({
    quota: { limit: 10, remaining: 0 },
    rate: { limit: 60, remaining: 59, resetsAt: '2026-11-21T12:00:00.000Z' },
  })
})

test.for<[string, Record<string, string>]>([
  ['are absent', {}],
  ['are of another brand', { 'x-service-quota-limit': '10', 'x-service-quota-remaining': '0' }],
  ['are incomplete', { 'x-acme-quota-limit': '10', 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59' }],
  [
    'are those of a proxy',
    { 'x-ratelimit-limit': '60, 60;w=60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': 'soon' },
  ],
])('there is no quota and no rate where the headers %s', ([, headers]) => {
  expect(answerWith(headers)).toMatchObject({ quota: undefined, rate: undefined })
})

test('an answer that is nested too deeply to be read is not one of the service', async () => {
  const { client } = aClient([() => new Response('[{"a":'.repeat(100_000) + '1' + '}]'.repeat(100_000))], {
    retries: 0,
  })
  await expect(client.getRender(ID)).rejects.toMatchObject({ code: 'INVALID_ANSWER' })
})
