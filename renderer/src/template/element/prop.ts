import type { ServiceError } from '@platen/contract/domain/error.ts'
import { PAGE_SIDE_PT_MAX, PAGE_SIDE_PT_MIN } from '@platen/contract/domain/limit.ts'
import { isJsonObject, type Json } from '@platen/lib/brand.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import { FAMILIES, type Families, TEXT_FAMILIES, withFallback } from '../asset/fonts.ts'
import { physicalName, STYLE_NAMES } from './direction.ts'
import type { PropKind } from './primitive.ts'
import { ignoredFault, styleFault, TRANSFORM } from './style-form.ts'

export type Props = Record<string, unknown>
export type Faults = (message: string, prop?: string) => ServiceError

interface PropScope {
  readonly faults: Faults
  readonly families: Families
  /** Refuses values that react-pdf would ignore, too. In a render they only warn, because a published template must print. */
  readonly isCheck?: boolean
  /** Told of a style whose value react-pdf ignores, unless `isCheck` refuses it. */
  readonly onIgnored?: (message: string) => void
}

/** Checks a value by the kind of its prop. For images see `image.ts`. Throws the errors of `faults`. */
export function propValue(kind: Exclude<PropKind, 'image'>, value: Json, scope: PropScope): unknown {
  const { faults } = scope
  switch (kind) {
    case 'flag':
      if (typeof value === 'boolean' || typeof value === 'number') return Boolean(value)
      throw faults('must be true or false')
    case 'number':
      if (typeof value === 'number') return boundedOf(value, faults)
      throw faults('must be a number')
    case 'text':
      if (isScalar(value)) return String(value)
      throw faults('must be a string')
    case 'name':
      // Written into the PDF unchanged: a character that is not a letter could begin another entry.
      if (typeof value === 'string' && /^[a-z]+$/i.test(value)) return value
      throw faults('must be a name of letters')
    case 'scalar':
      if (typeof value === 'number' || (typeof value === 'string' && MEASURE.test(value)))
        return boundedOf(value, faults)
      throw faults('must be a number, or a string that begins with one')
    case 'points':
      if (typeof value === 'string' && /^[\s\d.,e+-]*$/i.test(value)) return value
      throw faults('must be pairs of numbers such as 0,0 10,20')
    case 'transform':
      if (TRANSFORM.fits(value)) return value
      throw faults(TRANSFORM.words)
    case 'style':
      return styleOf(value, scope)
    case 'link':
      return linkOf(value, faults)
    case 'list':
      if (Array.isArray(value) && value.every(isScalar)) return value.map(String)
      throw faults('must be a list of strings')
    case 'size':
      return sizeOf(value, faults)
    case 'bookmark':
      return isScalar(value) ? String(value) : fieldsOf(value, BOOKMARK_FIELDS, scope)
    case 'sides':
      return typeof value === 'number' ? boundedOf(value, faults) : fieldsOf(value, SIDES, scope)
  }
}

/** Drawing multiplies and adds numbers. Some PDF readers accept fewer than 64 bits. */
const MAGNITUDE_MAX = 1e9
const LARGE_IN_TEXT = /(?<![.\d])\d{10}/

function boundedOf<Value extends number | string>(value: Value, faults: Faults): Value {
  const isLarge = typeof value === 'number' ? Math.abs(value) > MAGNITUDE_MAX : LARGE_IN_TEXT.test(value)
  if (isLarge) throw faults(`must not go beyond ${MAGNITUDE_MAX}`)
  return value
}

/** react-pdf reads the numeric beginning of an attribute of a drawing. */
const MEASURE = /^\s*[-+]?\.?\d|^(?:auto|auto-start-reverse|none)$/

/** They are written into the PDF unchanged, so each must have its declared type. */
const BOOKMARK_FIELDS = {
  title: 'text',
  top: 'number',
  left: 'number',
  zoom: 'number',
  fit: 'flag',
  expanded: 'flag',
} as const
const SIDES = { top: 'number', right: 'number', bottom: 'number', left: 'number' } as const

function isScalar(value: Json | undefined): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

function fieldsOf(value: Json, kinds: Readonly<Record<string, 'text' | 'number' | 'flag'>>, scope: PropScope): Props {
  const { faults } = scope
  if (!isJsonObject(value)) throw faults('is not a value that this prop takes')
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) => {
      const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
      if (kind === undefined) throw faults(`takes the fields ${Object.keys(kinds).join(', ')}`)
      if (field === null) return []
      return [[name, propValue(kind, field, { ...scope, faults: (message) => faults(`${name} ${message}`) })] as const]
    }),
  )
}

/**
 * PDF readers act on links, so only schemes for a page, a mail or a call and anchors inside the document are allowed. An address in a PDF
 * is ASCII: other characters are encoded as in a browser.
 */
function linkOf(value: Json, faults: Faults): string {
  if (typeof value !== 'string') throw faults('must be a string')
  const scheme = schemeOf(value)
  if (scheme !== undefined && !LINK_SCHEMES.includes(scheme))
    throw faults('a link must be of http, https, mailto or tel, or an anchor such as #terms')
  if (scheme === undefined || /^[!-~]*$/.test(value)) return value
  const encoded = value.trim().replaceAll(/[^!-~]+/g, (part) => encodeURIComponent(part.toWellFormed()))
  if (!scheme.startsWith('http')) return encoded
  const url = URL.parse(value.trim())
  if (url === null) throw faults('is not an address: it must be one such as https://acme.example/terms')
  return url.href
}

const LINK_SCHEMES = ['http', 'https', 'mailto', 'tel']

function schemeOf(link: string): string | undefined {
  return /^\s*([a-z][a-z0-9+.-]*):/i.exec(link)?.[1]?.toLowerCase()
}

/** Says why a link leads nowhere. Undefined if it leads somewhere, or is an anchor: its target is known only after the layout. */
export function brokenLink(value: Json): string | undefined {
  if (typeof value !== 'string' || schemeOf(value) !== undefined || /^#./.test(value)) return undefined
  if (value.trim() === '') return 'it is empty: leave the link out'
  return 'a document has no address of its own: write the whole address, as in https://acme.example/terms'
}

const SIZE_NAME = /^(?:[24]A0|[ABC](?:\d|10)|S?RA[0-4]|EXECUTIVE|FOLIO|LEGAL|LETTER|TABLOID|ID1)$/i

function sizeOf(value: Json, faults: Faults): unknown {
  const side = (length: Json | undefined): string | number => {
    if (typeof length === 'string' && /^\d+(?:\.\d+)?(?:pt|px|mm|cm|in)?$/.test(length)) return length
    if (typeof length !== 'number') throw faults('each side must be a number of points or a length such as 210mm')
    if (length >= PAGE_SIDE_PT_MIN && length <= PAGE_SIDE_PT_MAX) return length
    throw faults(`each side must be from ${PAGE_SIDE_PT_MIN} to ${PAGE_SIDE_PT_MAX} points`)
  }
  if (typeof value === 'number') return [side(value), side(value)]
  if (Array.isArray(value)) return value.slice(0, 2).map(side)
  if (isJsonObject(value)) {
    const { width, height } = value
    return height === undefined || height === null
      ? { width: side(width) }
      : { width: side(width), height: side(height) }
  }
  if (typeof value === 'string' && SIZE_NAME.test(value)) return value
  throw faults('is not a page size; A4, LETTER, [width, height] and { width, height } are')
}

/** Flattens a style or a list of styles. As in react-pdf, a later value wins, but a name keeps the place of its first use. */
function styleOf(style: Json, scope: PropScope): Props {
  const flat: Props = {}
  for (const [name, value] of entriesOf(style, scope.faults)) flat[name] = styleValue(name, value, scope)
  return flat
}

/** Longer styles are not cached. An ordinary one has a few hundred characters. */
const SHARED_STYLE_CHARS_MAX = 2000

interface CheckedStyle {
  /** Shared by equal styles of a document. Must not be changed. */
  readonly style: Props
  readonly ignored: readonly string[]
}

/** For one document. Checks as `propValue` does, but equal styles only once. */
export function openStyles(): (style: Json, scope: Omit<PropScope, 'onIgnored'>) => CheckedStyle {
  const checked = new Map<string, CheckedStyle>()
  return (style, scope) => {
    const key = JSON.stringify(style)
    const known = checked.get(key)
    if (known !== undefined) return known
    const ignored: string[] = []
    const found = { style: styleOf(style, { ...scope, onIgnored: (message) => ignored.push(message) }), ignored }
    if (key.length <= SHARED_STYLE_CHARS_MAX) checked.set(key, found)
    return found
  }
}

function entriesOf(style: Json, faults: Faults): readonly (readonly [string, Json])[] {
  // Lists of styles contain `condition && style`.
  if (style === null || style === false || style === '' || style === 0) return []
  if (Array.isArray(style)) return style.flatMap((part: Json) => entriesOf(part, faults))
  if (isJsonObject(style)) return Object.entries(style).filter(([, value]) => value !== null)
  throw faults('must be a style or a list of styles')
}

function styleValue(name: string, value: Json, scope: PropScope): unknown {
  const { faults } = scope
  if (name.startsWith('@media ') && name.length <= 100) return styleOf(value, scope)
  if (!STYLE_NAMES.has(name)) throw faults(`there is no style ${name}${suggestion(name, STYLE_NAMES)}`)
  const plain = physicalName(name, 'ltr')
  const fault = styleFault(plain, value)
  if (fault !== undefined) throw faults(`the style ${name} ${fault}`)
  const ignored = ignoredFault(plain, value)
  if (ignored !== undefined && scope.isCheck === true) throw faults(`the style ${name} ${ignored}`)
  if (ignored !== undefined) scope.onIgnored?.(`the style ${name} ${ignored}`)
  if (name === 'fontFamily') return familiesOf(value, scope)
  // react-pdf knows only italic, not oblique.
  if (name === 'fontStyle' && value === 'oblique') return 'italic'
  if (isScalar(value)) return boundedOf(value, (message) => faults(`the style ${name} ${message}`))
  if (name === 'fontFeatureSettings' || name === 'transform' || name === 'gradientTransform')
    return copyOf(value, faults)
  throw faults(`the style ${name} must be a number or a string`)
}

/** For the few styles that are lists or records. */
function copyOf(value: Json, faults: Faults, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > 2) throw faults('a style is nested too deeply')
  if (Array.isArray(value)) return value.map((part: Json) => copyOf(part, faults, depth + 1))
  const entries = Object.entries(value).filter(([name]) => name !== '__proto__')
  return Object.fromEntries(entries.map(([name, part]) => [name, copyOf(part, faults, depth + 1)] as const))
}

function familiesOf(value: Json, { faults, families }: PropScope): readonly string[] {
  const asked: readonly Json[] = Array.isArray(value) ? value : [value]
  const known = new Set([...families.keys(), ...FAMILIES])
  const names = asked.map((family) => {
    if (typeof family === 'string' && known.has(family)) return family
    const hint = typeof family === 'string' ? suggestion(family, known) : ''
    const listed = [...new Set([...families.keys(), ...TEXT_FAMILIES])].join(', ')
    throw faults(`there is no such font family${hint}; there are ${listed} and families of other scripts`)
  })
  return withFallback(names, families)
}

const GRADIENT_ENDS = ['x2', 'r', 'cx', 'cy', 'fx', 'fy'] as const
/** Invisible: PDF numbers have six decimals. */
const ALMOST_ZERO = 1e-9

/** Replaces a 0 at the ends of a gradient. react-pdf takes 0 for absent, so a gradient from top to bottom came out diagonal. */
export function gradientZeros(props: Props): Props {
  const zeros = GRADIENT_ENDS.filter((name) => {
    // `propValue` returns numbers and strings for these.
    const value = props[name] as string | number | undefined
    return value !== undefined && Number.parseFloat(String(value)) === 0
  })
  return Object.fromEntries(zeros.map((name) => [name, ALMOST_ZERO]))
}
