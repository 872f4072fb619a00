import { describe, expect, test } from 'vitest'
import { renderRequestSchema } from './render-request.ts'
import { compileValidator } from './validator.ts'

const validate = compileValidator(renderRequestSchema)
const request = (fields: object) => ({ template: 'invoice', data: {}, ...fields })

/** Control characters, line separators, half of a pair, and what changes the direction of text. */
const NOT_IN_LABELS = [
  '\0',
  '\n',
  '\u007f',
  '\u0085',
  '\u2028',
  '\ud83d',
  '\u061c',
  '\u200e',
  '\u202e',
  '\u2066',
  '\u2069',
]

const metadataOf = (count: number, key: string, text: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${key}${String(i).padStart(2, '0')}`, text]))

describe('a render request', () => {
  test.for<[string, object]>([
    ['with nothing but template and data', {}],
    [
      'with every field',
      { engine: 'html', mode: 'async', async: true, webhook_url: 'https://example.com/hook', options: {} },
    ],
    ['with a named page size', { options: { page_size: 'LETTER', orientation: 'landscape' } }],
    ['with a page size of its own', { options: { page_size: { width: 300, height: 400.5 } } }],
    ['with a margin in points', { options: { margin: 0 } }],
    ['with a margin as a CSS length', { options: { margin: '12.5mm' } }],
    ['with margins by side', { options: { margin: { top: 10, left: '1in' } } }],
    ['with a filename in any script', { options: { filename: 'Rechnung Nr. 5 – Zażółć.pdf' } }],
    ['with a locale', { options: { locale: 'zh-Hant-TW' } }],
    ['with a time zone', { options: { time_zone: 'America/Argentina/Buenos_Aires' } }],
    ['with a date', { options: { date: '1999-12-31T23:59:59.123456789+14:00' } }],
    ['with a filename from right to left', { options: { filename: 'חשבונית 5 – فاتورة.pdf' } }],
    ['with a filename with a joiner in it', { options: { filename: 'می\u200cخواهم\u200d.pdf' } }],
    ['with a snake-case template', { template: 'my_invoice_2' }],
    ['with a reference of 128 characters, counted as people do', { reference: '🧾'.repeat(128) }],
    ['with a reference from right to left, with a joiner', { reference: 'می\u200cخواهم' }],
    ['with empty metadata', { metadata: {} }],
    ['with as much metadata as is allowed', { metadata: metadataOf(16, 'k'.repeat(38), 'é'.repeat(500)) }],
    ['with metadata that has an empty text, and names that objects have', { metadata: { constructor: '', a_B: '-' } }],
  ])('%s is accepted', ([, fields]) => {
    expect(validate(request(fields))).toEqual([])
  })

  test.for<[string, object, string]>([
    ['without a template', { template: undefined }, '/template'],
    ['without data', { data: undefined }, '/data'],
    ['with an array as data', { data: [] }, '/data'],
    ['with a template code in capitals', { template: 'Invoice' }, '/template'],
    ['with a path as template code', { template: '../invoice' }, '/template'],
    ['with a template code that is too long', { template: 'a'.repeat(129) }, '/template'],
    ['with an unknown engine', { engine: 'latex' }, '/engine'],
    ['with an unknown mode', { mode: 'batch' }, '/mode'],
    ['with a string as async', { async: 'true' }, '/async'],
    ['with an unknown field', { optons: {} }, '/optons'],
    ['with an unknown option', { options: { pagesize: 'A4' } }, '/options/pagesize'],
    ['with an unknown page size', { options: { page_size: 'A9' } }, '/options/page_size'],
    ['with half a page size', { options: { page_size: { width: 100 } } }, '/options/page_size/height'],
    [
      'with a page too small to lay out',
      { options: { page_size: { width: 5, height: 400 } } },
      '/options/page_size/width',
    ],
    ['with a negative margin', { options: { margin: -1 } }, '/options/margin'],
    ['with a margin in an unknown unit', { options: { margin: '3em' } }, '/options/margin'],
    ['with an unknown side', { options: { margin: { middle: 3 } } }, '/options/margin/middle'],
    ['with an empty filename', { options: { filename: '' } }, '/options/filename'],
    ['with a path as filename', { options: { filename: '../x.pdf' } }, '/options/filename'],
    ['with a folder as filename', { options: { filename: '..' } }, '/options/filename'],
    ['with a line break in the filename', { options: { filename: 'a\r\nb' } }, '/options/filename'],
    ...['\u061c', '\u200e', '\u200f', '\u202a', '\u202e', '\u2066', '\u2069'].map((turn): [string, object, string] => [
      `with U+${turn.charCodeAt(0).toString(16)} in the filename`,
      { options: { filename: `invoice-${turn}fdp.exe` } },
      '/options/filename',
    ]),
    ['with a locale that is none', { options: { locale: 'pl_PL' } }, '/options/locale'],
    ['with an empty locale', { options: { locale: '' } }, '/options/locale'],
    ['with a locale that is too long', { options: { locale: `en-${'u-ca-buddhist-'.repeat(9)}x` } }, '/options/locale'],
    ['with a time zone that is none', { options: { time_zone: 'Europe/Atlantis' } }, '/options/time_zone'],
    ['with a time zone that is a number', { options: { time_zone: 2 } }, '/options/time_zone'],
    ['with a day as date', { options: { date: '2026-11-25' } }, '/options/date'],
    ['with a date without an offset', { options: { date: '2026-11-25T12:00:00' } }, '/options/date'],
    ['with a date of no calendar', { options: { date: '2026-02-30T12:00:00Z' } }, '/options/date'],
    ['with a leap second as date', { options: { date: '2016-12-31T23:59:60Z' } }, '/options/date'],
    ['with a date before all PDFs', { options: { date: '0001-01-01T00:00:00+14:00' } }, '/options/date'],
    ['with a date after all PDFs', { options: { date: '9999-12-31T23:59:59-14:00' } }, '/options/date'],
    ['with a date that is too long', { options: { date: `2026-11-25T12:00:00.${'0'.repeat(30)}Z` } }, '/options/date'],
    ['with a date in seconds', { options: { date: 1764072000 } }, '/options/date'],
    ['with a filename that is too long', { options: { filename: 'a'.repeat(201) } }, '/options/filename'],
    ['with a webhook URL that is none', { webhook_url: 'example' }, '/webhook_url'],
    ['with an empty reference', { reference: '' }, '/reference'],
    ['with a number as reference', { reference: 7 }, '/reference'],
    ['with a reference that is too long', { reference: 'a'.repeat(129) }, '/reference'],
    ...NOT_IN_LABELS.flatMap((character): [string, object, string][] => {
      const name = `U+${character.charCodeAt(0).toString(16)}`
      return [
        [`with ${name} in the reference`, { reference: `order-${character}7` }, '/reference'],
        [`with ${name} in metadata`, { metadata: { note: `${character}x` } }, '/metadata/note'],
      ]
    }),
    ['with an array as metadata', { metadata: [] }, '/metadata'],
    ['with a 17th key in metadata', { metadata: metadataOf(17, 'k', 'v') }, '/metadata'],
    ['with a key that is too long', { metadata: { ['k'.repeat(41)]: 'v' } }, `/metadata/${'k'.repeat(41)}`],
    ['with an empty key', { metadata: { '': 'v' } }, '/metadata/'],
    ['with a key of another form', { metadata: { 'a b/c': 'v' } }, '/metadata/a b~1c'],
    ['with a text that is too long', { metadata: { note: 'a'.repeat(501) } }, '/metadata/note'],
    ['with a number in metadata', { metadata: { count: 1 } }, '/metadata/count'],
    ['with an object in metadata', { metadata: { deep: {} } }, '/metadata/deep'],
  ])('%s is refused there', ([, fields, path]) => {
    expect(validate(JSON.parse(JSON.stringify(request(fields)))).map((detail) => detail.path)).toContain(path)
  })

  test('is told what a locale and a time zone look like', () => {
    const options = { locale: 'pl_PL', time_zone: 'Warsaw' }
    expect(validate(request({ options })).map(({ message }) => message)).toEqual([
      'is no language tag such as pl-PL',
      'is no time zone such as Europe/Warsaw',
    ])
  })

  test('is told what is wrong with a name in metadata, once', () => {
    expect(validate(request({ metadata: { 'a b': 'v' } }))).toEqual([
      {
        path: '/metadata/a b',
        message:
          'does not have a name of the required form: At most 40 letters, digits, _, - and ., the first a letter or digit',
      },
    ])
  })

  test('is told of every fault at once, twenty at most, none quoting what was sent', () => {
    const secret = 'hunter2'
    const wrong = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`field${index}`, secret]))
    const details = validate(request({ ...wrong, engine: secret }))
    expect(details).toHaveLength(20)
    expect(JSON.stringify(details)).not.toContain(secret)
  })
})
