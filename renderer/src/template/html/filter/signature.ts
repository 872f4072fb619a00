/** What each Liquid filter takes and gives. A test compares the names with the filters that templates have. */
import type { ValueKind } from './value-kind.ts'

/** `item`: an item of the list. `list`: all or a part of the list. `fields`: the values of a field. Undefined: anything. */
type Result = 'text' | 'texts' | 'number' | 'item' | 'list' | 'fields'

export interface Signature {
  /** The number of arguments, without named ones. */
  readonly args: readonly [least: number, most: number]
  /** The kinds of values that the filter is useful for. Undefined: any. */
  readonly takes?: { readonly words: string; readonly kinds: readonly ValueKind[] }
  readonly gives?: Result
  /** The first argument names a field of the items. */
  readonly isByField?: true
  readonly named?: readonly string[]
}

const AMOUNT = { words: 'a number', kinds: ['number', 'string', 'null'] } as const
const DATE = { words: 'a date', kinds: ['number', 'string', 'null'] } as const
const SCALAR = { words: 'a number', kinds: ['number', 'string', 'boolean', 'null'] } as const
const TEXT = { words: 'a string', kinds: ['string', 'number', 'boolean', 'null', 'array'] } as const

/** A text of digits counts as a number. A long one gives a text. */
const NUMBER = { takes: AMOUNT, gives: 'number' } as const
const TO_TEXT = { takes: TEXT, gives: 'text' } as const

export const SIGNATURES: ReadonlyMap<string, Signature> = new Map([
  ...of('abs ceil floor', { args: [0, 0], ...NUMBER }),
  ...of('at_least at_most minus plus modulo times', { args: [1, 1], ...NUMBER }),
  ...of('divided_by', { args: [1, 2], ...NUMBER }),
  ...of('round', { args: [0, 1], ...NUMBER }),
  ...of('to_integer', { args: [0, 0], takes: SCALAR, gives: 'number' }),
  ...of('capitalize downcase upcase strip_html strip_newlines newline_to_br normalize_whitespace squish', {
    args: [0, 0],
    ...TO_TEXT,
  }),
  ...of('escape xml_escape escape_once url_encode url_decode cgi_escape uri_escape base64_encode base64_decode', {
    args: [0, 0],
    ...TO_TEXT,
  }),
  ...of('sha256', { args: [0, 0], ...TO_TEXT }),
  ...of('lstrip rstrip strip', { args: [0, 1], ...TO_TEXT }),
  ...of('append prepend remove remove_first remove_last hmac_sha256', { args: [1, 1], ...TO_TEXT }),
  ...of('replace replace_first replace_last', { args: [1, 2], ...TO_TEXT }),
  ...of('truncate truncatewords slugify', { args: [0, 2], ...TO_TEXT }),
  ...of('number_of_words', { args: [0, 1], takes: TEXT, gives: 'number' }),
  ...of('split', { args: [1, 1], takes: TEXT, gives: 'texts' }),
  ...of('join array_to_sentence_string', { args: [0, 1], gives: 'text' }),
  ...of('size', { args: [0, 0], gives: 'number' }),
  ...of('first last', { args: [0, 0], gives: 'item' }),
  ...of('reverse compact uniq pop shift', { args: [0, 0], gives: 'list' }),
  ...of('slice', { args: [1, 2] }),
  ...of('concat push unshift', { args: [1, 1] }),
  ...of('sort sort_natural', { args: [0, 1], gives: 'list', isByField: true }),
  ...of('sum', { args: [0, 1], gives: 'number', isByField: true }),
  ...of('map', { args: [1, 1], gives: 'fields', isByField: true }),
  ...of('where reject', { args: [1, 2], gives: 'list', isByField: true }),
  ...of('find', { args: [1, 2], gives: 'item', isByField: true }),
  ...of('has', { args: [1, 2], isByField: true }),
  ...of('find_index', { args: [1, 2], gives: 'number', isByField: true }),
  ...of('group_by', { args: [1, 1], isByField: true }),
  ...of('where_exp reject_exp', { args: [2, 2], gives: 'list' }),
  ...of('find_exp', { args: [2, 2], gives: 'item' }),
  ...of('has_exp group_by_exp', { args: [2, 2] }),
  ...of('find_index_exp', { args: [2, 2], gives: 'number' }),
  ...of('default', { args: [0, 1], named: ['allow_false'] }),
  ...of('raw', { args: [0, 0] }),
  ...of('json jsonify inspect', { args: [0, 1], gives: 'text' }),
  ...of('currency', { args: [1, 2], takes: AMOUNT, gives: 'text' }),
  ...of('number', { args: [0, 2], takes: AMOUNT, gives: 'text' }),
  ...of('hyphenate', { args: [0, 1], takes: TEXT, gives: 'text' }),
  ...of('date', { args: [0, 3], takes: DATE, gives: 'text' }),
])

function of(names: string, signature: Signature): readonly (readonly [string, Signature])[] {
  return names.split(' ').map((name) => [name, signature] as const)
}

/** Such as `takes 1 to 2 arguments`. */
export function argumentWords([least, most]: Signature['args']): string {
  if (most === 0) return 'takes no argument'
  const range = least === most ? `${most}` : `${least} to ${most}`
  return `takes ${range} ${most === 1 ? 'argument' : 'arguments'}`
}
