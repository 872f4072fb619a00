/** What the service signs is what the golden vectors say, which others have signed as well. */
import { signatureHeaders } from '@platen/events/webhook/sign.ts'
import { expect, test } from 'vitest'
import { readVectors } from './vector.ts'

test.for(readVectors())('the service signs the vector: $name', (vector) => {
  const { id, timestamp: timestampS, body, secret, previous } = vector
  const secrets = { oldest: previous ?? secret, all: previous === undefined ? [secret] : [secret, previous] }
  const headers = signatureHeaders({ id, type: 'render.succeeded', body, timestampS, secrets, brand: 'service' })
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  const { 'x-service-event': event, ...signed } = Object.fromEntries(named)
  expect(event).toBe('render.succeeded')
  expect(signed).toEqual(vector.headers)
})
