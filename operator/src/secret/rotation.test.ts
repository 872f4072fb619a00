import { describe, expect, test } from 'vitest'
import {
  overlapEndIn,
  readRotationRequest,
  rotationAnnotations,
  SECRET_ROTATIONS_KEPT_MAX,
  SERVED_ANNOTATION,
  servedRotations,
  servedRotationText,
  withServed,
} from './rotation.ts'

const TEXT = '2027-01-31T23:59:59Z'
const AT = Date.UTC(2027, 0, 31, 23, 59, 59)

describe('an annotation', () => {
  test('that is not there asks for nothing', () => {
    expect(readRotationRequest(undefined, 'rotate')).toEqual({})
  })

  test('that is a time asks for a rotation', () => {
    expect(readRotationRequest(TEXT, 'rotate')).toEqual({ asked: { at: AT, text: TEXT } })
  })

  test.for(['', 'now', '2027-01-31'])('%j is told to be no time, without being quoted', (text) => {
    expect(readRotationRequest(text, 'rotate')).toEqual({
      ignored: 'annotation rotate requests no rotation: it must be an RFC 3339 time such as 2027-01-31T23:59:59Z',
    })
  })
})

describe('rotations that were served', () => {
  test.for([
    [[AT, 0, AT + 1], AT],
    [[], undefined],
  ] as const)('are read as they were written, the end of the overlap too: %j, %j', ([served, overlapEnd]) => {
    const annotations = JSON.parse(JSON.stringify(rotationAnnotations(served, overlapEnd)))
    expect([servedRotations(annotations), overlapEndIn(annotations)]).toEqual([served, overlapEnd])
  })

  test.for([
    [{}, []],
    [{ [SERVED_ANNOTATION]: '' }, []],
    [{ [SERVED_ANNOTATION]: `nonsense, ${TEXT},` }, [AT]],
  ] as const)('are those that can be read: %j', ([annotations, served]) => {
    expect(servedRotations(annotations)).toEqual(served)
  })

  test('are remembered once, and the last ones', () => {
    const many = Array.from({ length: SECRET_ROTATIONS_KEPT_MAX }, (_, at) => at)
    expect(withServed(many, 5)).toBe(many)
    expect(withServed(many, undefined)).toBe(many)
    expect(withServed(many, AT)).toEqual([...many.slice(1), AT])
  })

  test.for([
    ['as it was asked for', [0, AT], [undefined, '2027-02-01T00:59:59+01:00'], '2027-02-01T00:59:59+01:00'],
    [
      'as it is written where nobody asks for it any more',
      [0, AT],
      [undefined, TEXT.replace('31', '30')],
      '2027-01-31T23:59:59.000Z',
    ],
    ['as nothing where there was none', [], [TEXT], undefined],
  ] as const)('are echoed %s', ([, served, texts, echo]) => {
    expect(servedRotationText(served, texts)).toBe(echo)
  })
})
