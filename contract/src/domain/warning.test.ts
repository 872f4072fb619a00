import { describe, expect, test } from 'vitest'
import { FAILURE_MESSAGE_CHARS_MAX } from './limit.ts'
import {
  documentWarnings,
  WARNING_CHARS_MAX,
  WARNINGS_MAX,
  type Warning,
  warnedOf,
  warningCodesOf,
  warningCountOf,
  warningFieldsOf,
} from './warning.ts'

const warning = (message: string, place?: string): Warning => {
  return { code: 'text_overflow', ...(place !== undefined && { place }), message }
}
const numbered = (count: number) => Array.from({ length: count }, (_, at) => warning(`text ${at}`))

describe('the warnings of a document', () => {
  test.for<readonly [string, readonly Warning[], number, number]>([
    ['none', [], 0, 0],
    ['one', numbered(1), 1, 0],
    ['as many as are kept', numbered(WARNINGS_MAX), WARNINGS_MAX, 0],
    ['one more', numbered(WARNINGS_MAX + 1), WARNINGS_MAX, 1],
    ['very many', numbered(100_000), WARNINGS_MAX, 100_000 - WARNINGS_MAX],
    ['equal ones', [...numbered(2), ...numbered(2)], 2, 0],
    ['equal ones at several places', [warning('a', 'page 1'), warning('a', 'page 2'), warning('a')], 3, 0],
    ['equal texts of several codes', [warning('a'), { code: 'text_overlap', message: 'a' }], 2, 0],
    ['texts that are equal when they are cut off', [1, 2].map((end) => warning(`${'x'.repeat(1000)}${end}`)), 1, 0],
    ['long texts', [1, 2, 3, 4, 5, 6].map((end) => warning(`${end}${'x'.repeat(999)}`)), 4, 2],
  ])('are bounded: %s', ([, found, kept, omitted]) => {
    const warned = warnedOf(found)
    expect(warned.warnings ?? []).toEqual(
      found.slice(0, kept).map((each) => expect.objectContaining({ code: each.code })),
    )
    expect(warned.warningsOmitted ?? 0).toBe(omitted)
    expect(warningCountOf(warned)).toBe(kept + omitted)
    const chars = (warned.warnings ?? []).reduce((sum, { message }) => sum + message.length, 0)
    expect(chars).toBeLessThanOrEqual(WARNING_CHARS_MAX)
    expect(Object.keys(warned)).toEqual([
      ...(kept > 0 ? ['warnings'] : []),
      ...(omitted > 0 ? ['warningsOmitted'] : []),
    ])
  })

  test('are cut off between characters, in message and place', () => {
    const [cut] =
      warnedOf([warning(`${'x'.repeat(FAILURE_MESSAGE_CHARS_MAX - 1)}🙂`, `${'y'.repeat(199)}🙂`)]).warnings ?? []
    expect(cut?.message).toBe(`${'x'.repeat(FAILURE_MESSAGE_CHARS_MAX - 1)}\ufffd`)
    expect(cut?.place).toBe(`${'y'.repeat(199)}\ufffd`)
  })

  test('name each of their codes once', () => {
    expect(warningCodesOf({ warnings: [...numbered(3), { code: 'file_refused', message: '' }] })).toEqual([
      'text_overflow',
      'file_refused',
    ])
    expect(warningCodesOf({})).toEqual([])
  })

  test('are in snake case on the wire', () => {
    expect(warningFieldsOf({ warnings: numbered(1), warningsOmitted: 3 })).toEqual({
      warnings: numbered(1),
      warnings_omitted: 3,
    })
    expect(warningFieldsOf({})).toEqual({})
  })
})

describe('the failure of a strict render', () => {
  test.for<readonly [Warning[], number | undefined, string]>([
    [[warning('a')], undefined, 'the document has 1 warning, and strict allows none: text_overflow: a'],
    [
      [warning('a', 'page 2'), warning('b', 'template.tsx:3:4')],
      7,
      'the document has 9 warnings, and strict allows none: text_overflow: page 2: a; text_overflow: template.tsx:3:4: b; and 7 more',
    ],
  ])('lists them: %j', ([warnings, omitted, message]) => {
    const warned = { warnings, ...(omitted !== undefined && { warningsOmitted: omitted }) }
    expect(documentWarnings(warned)).toEqual({ code: 'document_warnings', message })
  })

  test('has a message as long as any other', () => {
    const { message } = documentWarnings(
      warnedOf(numbered(20).map(({ message }) => warning(message.padEnd(200, '🙂')))),
    )
    expect(message).toHaveLength(FAILURE_MESSAGE_CHARS_MAX)
    expect(message.isWellFormed()).toBe(true)
  })
})
