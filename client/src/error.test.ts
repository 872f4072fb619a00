import { expect, test } from 'vitest'
import { PlatenError } from './error.ts'
import { WebhookVerificationError } from './webhook.ts'

class OwnError extends PlatenError {}
const fields = { code: 'TIMED_OUT', message: 'no answer' } as const

test('an error is an instance of its class, and of no other', () => {
  const own = new OwnError(fields)
  const error = new PlatenError(fields)
  const refusal = new WebhookVerificationError('missing_header', '')
  for (const each of [own, error, refusal]) expect(each).toBeInstanceOf(Error)
  expect([own instanceof OwnError, own instanceof PlatenError, own instanceof WebhookVerificationError]).toEqual([
    true,
    true,
    false,
  ])
  expect([error instanceof OwnError, error instanceof PlatenError]).toEqual([false, true])
  expect([refusal instanceof PlatenError, refusal instanceof WebhookVerificationError]).toEqual([false, true])
})

test.for<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'PlatenError'],
  ['an error of the same name', Object.assign(new Error(''), { name: 'PlatenError' })],
])('%s is no instance', ([, value]) => {
  expect(value instanceof PlatenError).toBe(false)
})
