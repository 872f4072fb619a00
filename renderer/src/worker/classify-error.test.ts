import { ServiceError } from '@platen/contract/domain/error.ts'
import { FAILURE_MESSAGE_CHARS_MAX } from '@platen/contract/domain/limit.ts'
import { describe, expect, test } from 'vitest'
import { classifyError, type Interruptions } from './classify-error.ts'

const calm = new AbortController().signal
const fired = AbortSignal.abort()
const interruptions = (which: Partial<Interruptions>): Interruptions => ({
  deadline: calm,
  callerGone: calm,
  claimLost: calm,
  canceled: calm,
  ...which,
})

describe('the end of an attempt', () => {
  test.for<[string, unknown, Partial<Interruptions>, string]>([
    ['a fault of the template', new ServiceError('template_error', 'x'), {}, 'template_error'],
    ['too many pages', new ServiceError('page_limit', 'x'), {}, 'page_limit'],
    ['a crashed renderer', new ServiceError('render_crashed', 'x'), {}, 'retry'],
    ['a defect', new TypeError('x'), {}, 'internal'],
    ['a code that is no failure', new ServiceError('NOT_FOUND', 'x'), {}, 'internal'],
    ['the deadline', new Error('aborted'), { deadline: fired }, 'render_timeout'],
    [
      'the deadline, while the renderer was torn down',
      new ServiceError('render_crashed', 'x'),
      { deadline: fired },
      'render_timeout',
    ],
    ['the caller gone', new Error('aborted'), { callerGone: fired }, 'canceled'],
    ['the caller gone and the deadline past', new Error('aborted'), { callerGone: fired, deadline: fired }, 'canceled'],
    [
      'the render canceled, and the deadline past',
      new Error('aborted'),
      { canceled: fired, deadline: fired },
      'canceled',
    ],
    [
      'the claim lost',
      new Error('aborted'),
      { claimLost: fired, deadline: fired, callerGone: fired, canceled: fired },
      'lost',
    ],
  ])('%s', ([, error, which, wanted]) => {
    const verdict = classifyError(error, interruptions(which), 25_000)
    expect(verdict.kind === 'failed' ? verdict.error.code : verdict.kind).toBe(wanted)
  })

  test('states the deadline that ended it, in seconds', () => {
    expect(classifyError(new Error('x'), interruptions({ deadline: fired }), 25_000)).toMatchObject({
      error: { message: expect.stringContaining('25 seconds') },
    })
  })

  test('says nothing of the cause of a defect', () => {
    const verdict = classifyError(new Error('ENOENT: /var/lib/secret'), interruptions({}), 25_000)
    expect(JSON.stringify(verdict)).not.toContain('secret')
  })

  test('keeps a bounded part of a message of any length', () => {
    const verdict = classifyError(new ServiceError('template_error', 'x'.repeat(1_000_000)), interruptions({}), 25_000)
    expect(verdict.kind === 'failed' && verdict.error.message.length).toBe(FAILURE_MESSAGE_CHARS_MAX)
  })
})
