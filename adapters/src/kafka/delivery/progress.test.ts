import type { Delivery } from '@platen/contract/domain/delivery.ts'
import { describe, expect, test } from 'vitest'
import { afterAttempt, afterDeferral, initialProgress, recordOf, verdictOn } from './progress.ts'

// These tests do not use its other fields.
const DELIVERY = { id: 'a' } as Delivery
const ATTEMPT = { startedAt: 1, durationMs: 1, result: 'status' } as const

describe('a delivery', () => {
  test('is a step on after an attempt of its schedule, with what follows from it', () => {
    const after = afterAttempt(initialProgress(DELIVERY, 0), {
      attempt: ATTEMPT,
      next: { status: 'scheduled', waitMs: 9 },
      now: 1,
    })
    expect(after).toMatchObject({
      step: 1,
      attempts: 1,
      status: 'scheduled',
      dueAt: 10,
      waitMs: 9,
      made: [ATTEMPT],
      answered: [],
    })
  })

  test('is where it was after an attempt that was asked for', () => {
    const before = afterDeferral(initialProgress(DELIVERY, 0), { waitMs: 9, reason: 'no secret', now: 0 })
    const after = afterAttempt(before, { attempt: ATTEMPT, nonce: 'n', now: 0 })
    expect(after).toStrictEqual({ ...before, made: [ATTEMPT], answered: ['n'] })
  })

  test('keeps the names of as many that were asked for as can be asked for at once', () => {
    let progress = initialProgress(DELIVERY, 0)
    for (let i = 0; i < 12; i++) progress = afterAttempt(progress, { attempt: ATTEMPT, nonce: `n${i}`, now: 0 })
    expect([progress.answered.length, progress.answered[0], progress.answered.at(-1)]).toStrictEqual([10, 'n2', 'n11'])
  })

  test('forgets why it waited, and when it is due, as it ends', () => {
    const before = afterDeferral(initialProgress(DELIVERY, 0), { waitMs: 9, reason: 'no secret', now: 0 })
    const after = afterAttempt(before, { attempt: ATTEMPT, next: { status: 'exhausted' }, now: 0 })
    expect(recordOf(after)).toStrictEqual({ delivery: DELIVERY, status: 'exhausted', attempts: [ATTEMPT] })
  })
})

test.for([
  ['of where it stands', 3, 3, 'give'],
  ['of the step before, whose successor may never have been sent', 2, 3, 'remind'],
  ['of a step long past', 1, 3, 'forget'],
  ['of a step that was never written', 4, 3, 'forget'],
] as const)('a reminder %s', ([, reminded, step, verdict]) => {
  expect(verdictOn(reminded, step)).toBe(verdict)
})
