/**
 * Which styles react-pdf 4.9 draws on which elements. It silently ignores the others: `gap` on a text, `letterSpacing` in a drawing,
 * `border: 1`. A test compares these tables with plain react-pdf. Pure.
 */
import type { Json } from '@platen/lib/brand.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import { physicalName } from './direction.ts'
import type { Primitive } from './primitive.ts'
import { ignoredFault, isLength } from './style-form.ts'

export interface EffectPlace {
  readonly isDrawing: boolean
  readonly isInline: boolean
}

const BOX = wordsOf(`alignSelf aspectRatio backgroundColor border borderBottom borderBottomColor borderBottomLeftRadius
  borderBottomRightRadius borderBottomStyle borderBottomWidth borderColor borderLeft borderLeftColor borderLeftStyle borderLeftWidth
  borderRadius borderRight borderRightColor borderRightStyle borderRightWidth borderStyle borderTop borderTopColor borderTopLeftRadius
  borderTopRightRadius borderTopStyle borderTopWidth borderWidth bottom clear display flex flexBasis flexGrow flexShrink float height left
  margin marginBottom marginHorizontal marginLeft marginRight marginTop marginVertical maxHeight maxWidth minHeight minWidth opacity
  overflow position right shapeOutside top transform transformOrigin transformOriginX transformOriginY width zIndex`)
const PADDING = wordsOf('padding paddingBottom paddingHorizontal paddingLeft paddingRight paddingTop paddingVertical')
const ARRANGEMENT = wordsOf('alignContent alignItems columnGap flexDirection flexWrap gap justifyContent rowGap')
const FONT = wordsOf('fontFamily fontSize fontStyle fontWeight')
/** Texts inherit these from boxes. */
const INHERITED = [
  ...FONT,
  ...wordsOf(`color direction fontFeatureSettings hyphens letterSpacing lineHeight opacity overflowWrap textAlign textDecoration
  textTransform`),
]
/** Texts do not inherit these. */
const LETTERS = wordsOf('textDecorationColor textDecorationStyle verticalAlign')
const PARAGRAPH = wordsOf('maxLines textIndent textOverflow')
const PICTURE = wordsOf('objectFit objectPosition objectPositionX objectPositionY')
const MOVES = wordsOf('transform transformOrigin transformOriginX transformOriginY')
const STROKE = wordsOf('stroke strokeDasharray strokeLinecap strokeLinejoin strokeOpacity strokeWidth')
const SHAPE = [...STROKE, ...MOVES, ...wordsOf('clipPath fill fillOpacity fillRule opacity')]
const ANCHOR = wordsOf('dominantBaseline textAnchor')

const FLOW = [...BOX, ...PADDING, ...ARRANGEMENT, ...INHERITED]
const FIELD = new Set(BOX)
const FLOW_SET = new Set(FLOW)
const OF_TEXT: ReadonlySet<string> = new Set([...BOX, ...PADDING, ...INHERITED, ...LETTERS, ...PARAGRAPH])

const IN_FLOW: Readonly<Record<string, ReadonlySet<string>>> = {
  // Except the styles that react-pdf must compute first.
  DOCUMENT: without(INHERITED, 'fontWeight lineHeight'),
  // A page gets its width from `size`, its height from `size` or from these styles, and has no siblings.
  PAGE: without(
    FLOW,
    'alignSelf aspectRatio clear display flex flexBasis flexGrow flexShrink float minWidth position shapeOutside width zIndex',
  ),
  VIEW: FLOW_SET,
  FIELD_SET: FLOW_SET,
  LINK: FLOW_SET,
  IMAGE_BACKGROUND: new Set([...FLOW, ...PICTURE]),
  TEXT: OF_TEXT,
  IMAGE: new Set([...BOX, ...PADDING, ...PICTURE]),
  NOTE: new Set([...BOX, ...PADDING]),
  // Its drawing inherits no style but the font, which we pass on.
  SVG: new Set([...BOX, ...PADDING, 'fontFamily']),
  TEXT_INPUT: FIELD,
  SELECT: FIELD,
  LIST: FIELD,
  CHECKBOX: FIELD,
}

const IN_TEXT: Readonly<Record<string, ReadonlySet<string>>> = {
  TEXT: new Set([...INHERITED, ...LETTERS, 'backgroundColor']),
  TSPAN: new Set([...INHERITED, ...LETTERS, 'backgroundColor']),
  LINK: new Set(INHERITED),
  IMAGE: new Set(['width', 'height']),
}

const IN_DRAWING: Readonly<Record<string, ReadonlySet<string>>> = {
  G: new Set([...SHAPE, ...FONT, ...ANCHOR]),
  TEXT: new Set([...MOVES, ...FONT, ...ANCHOR, 'clipPath', 'fill', 'fillOpacity', 'opacity']),
  TSPAN: new Set([...FONT, ...ANCHOR, 'fill', 'opacity', 'textTransform']),
}
const OF_SHAPE: ReadonlySet<string> = new Set(SHAPE)
const NONE: ReadonlySet<string> = new Set()

function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/)
}

function without(names: readonly string[], left: string): ReadonlySet<string> {
  const gone = new Set(wordsOf(left))
  return new Set(names.filter((name) => !gone.has(name)))
}

export function stylesDrawn({ tag }: Primitive, { isDrawing, isInline }: EffectPlace): ReadonlySet<string> {
  if (isDrawing) return IN_DRAWING[tag] ?? (SHAPES.has(tag) ? OF_SHAPE : NONE)
  return (isInline ? IN_TEXT[tag] : IN_FLOW[tag]) ?? NONE
}

export function elementWords(name: string, { isDrawing, isInline }: EffectPlace): string {
  if (isDrawing) return `<${name}> in <Svg>`
  return isInline ? `<${name}> in <Text>` : `<${name}>`
}

const SHAPES = new Set(['PATH', 'RECT', 'LINE', 'CIRCLE', 'ELLIPSE', 'POLYLINE', 'POLYGON'])

/** Props of a drawing that react-pdf accepts but does not draw, by element. */
const UNDRAWN_PROPS: Readonly<Record<string, readonly string[]>> = {
  TEXT: [...STROKE, 'fillRule', 'visibility'],
  TSPAN: [...STROKE, ...wordsOf('clipPath fillOpacity fillRule transform visibility')],
  SVG: ['visibility'],
  G: ['visibility'],
}

/** Says why a prop of a drawing is not drawn, as the end of a sentence about it. Undefined if it is drawn. */
export function propWithoutEffect(
  { tag }: Primitive,
  name: string,
  { value, isDrawing }: { readonly value: Json | undefined; readonly isDrawing: boolean },
): string | undefined {
  if (!isDrawing && tag !== 'SVG') return undefined
  if (asksForNothing(value) && name !== 'fill') return undefined
  const isLetters = tag === 'TEXT' || tag === 'TSPAN'
  if (isLetters && name === 'fill' && value === 'none') return 'has no effect: react-pdf draws letters filled'
  const undrawn = UNDRAWN_PROPS[tag] ?? (SHAPES.has(tag) ? ['visibility'] : [])
  if (!undrawn.includes(name)) return undefined
  return name === 'visibility' ? 'has no effect: leave the element out' : 'has no effect on letters'
}

/** Whether a value asks for the default, as a style that several elements share may. */
function asksForNothing(value: unknown): boolean {
  return typeof value === 'string' ? NOTHING.includes(value) : value === 0 || value === null || value === undefined
}

const NOTHING = ['none', 'normal', 'auto', 'visible', 'initial', 'unset', 'inherit', '0']

type Style = Readonly<Record<string, unknown>>

interface Drawn {
  readonly drawn: ReadonlySet<string>
  readonly of: string
}

/**
 * For one document. Finds the entries of a style that react-pdf does not draw, or draws differently. Returns a sentence for each. Reads
 * each style object only once.
 */
export function openUndrawn(): (style: Style, element: Drawn) => readonly string[] {
  const found = new WeakMap<Style, Map<ReadonlySet<string>, readonly string[]>>()
  return (style, element) => {
    const byKind = found.get(style) ?? new Map<ReadonlySet<string>, readonly string[]>()
    found.set(style, byKind)
    const known = byKind.get(element.drawn) ?? undrawnIn(style, element)
    byKind.set(element.drawn, known)
    return known
  }
}

function undrawnIn(style: Style, element: Drawn): readonly string[] {
  return Object.entries(style).flatMap(([name, value]) => {
    // `propValue` flattens the styles under a media query.
    if (name.startsWith('@')) return undrawnIn(value as Style, element)
    const fault = styleWithoutEffect(name, value, { ...element, others: style })
    return fault === undefined ? [] : [`the style ${name} ${fault}`]
  })
}

interface StyleUse extends Drawn {
  readonly others: Style
}

/** Says why one entry of a style is not drawn, as the end of a sentence about it. Undefined if it is drawn, or asks for the default. */
export function styleWithoutEffect(name: string, value: unknown, { drawn, of, others }: StyleUse): string | undefined {
  const plain = physicalName(name, 'ltr')
  if (!drawn.has(plain)) return asksForNothing(value) ? undefined : `has no effect on ${of}${adviceOn(plain, drawn)}`
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  return VALUES.get(plain)?.(value, plain, others)
}

function adviceOn(name: string, drawn: ReadonlySet<string>): string {
  if (name === 'flexFlow') return ': write flexDirection and flexWrap'
  if (name === 'justifySelf') return ': write alignSelf, or a margin of auto'
  if (name === 'visibility') return ': leave the element out'
  // The element holds texts, which do not inherit the style.
  return OF_TEXT.has(name) && drawn.has('alignItems') ? ': write it on its <Text>' : ''
}

type Fault = (value: string | number, name: string, others: Style) => string | undefined

/** Finds values that react-pdf accepts but does not draw, or draws differently. */
const VALUES = new Map<string, Fault>([
  ...['border', 'borderTop', 'borderRight', 'borderBottom', 'borderLeft'].map((name) => [name, borderFault] as const),
  ['textDecoration', oneOf('none underline line-through', ['underline line-through', 'line-through underline'])],
  ['verticalAlign', oneOf('baseline sub super')],
  ['float', oneOf('none left right')],
  ['clear', oneOf('none left right both')],
  ['transform', transformFault],
  ['aspectRatio', (value) => (isDecimal(value) ? undefined : 'must be a number such as 1.5')],
  ['lineHeight', (value) => (isLength(value) || PERCENTAGE.test(`${value}`) ? undefined : LINE_HEIGHT)],
  ['fontFeatureSettings', () => "must be a list such as ['smcp'] or an object such as { smcp: 1 }"],
])

const PERCENTAGE = /^\d*\.?\d+%$/
const LINE_HEIGHT = 'must be a number, a percentage or a length such as 12pt'

function isDecimal(value: string | number): boolean {
  return typeof value === 'number' || /^\d*\.?\d+$/.test(value)
}

function oneOf(words: string, others: readonly string[] = []): Fault {
  const choices = [...words.split(' '), ...others]
  return (value) =>
    choices.includes(`${value}`) ? undefined : `must be one of ${choices.join(', ')}${suggestion(`${value}`, choices)}`
}

/** The shorthand as react-pdf reads it: three parts in this order. With fewer it draws nothing. */
const BORDER = /^-?\d+(?:\.\d+)?(?:in|mm|cm|pt|vw|vh|px|rem)?\s+(\S+)\s+(.+)$/
const LINES = ['solid', 'dashed', 'dotted']

function borderFault(value: string | number, name: string, others: Style): string | undefined {
  const text = `${value}`
  if (/^(?:none|0(?:pt|px)?)$/.test(text)) {
    // Without a `border` to overrule, it asks for the default.
    const isOverruled = name !== 'border' && ['border', 'borderWidth'].some((other) => !asksForNothing(others[other]))
    return isOverruled ? `has no effect: write ${name}Width: 0` : undefined
  }
  const [, line = '', color = ''] = BORDER.exec(text) ?? []
  if (line === '') return 'draws no line: it must be a width, a style and a color such as 1 solid black'
  if (!LINES.includes(line))
    return `draws a solid line: its style must be one of ${LINES.join(', ')}${suggestion(line, LINES)}`
  const fault = ignoredFault('borderColor', color)
  return fault === undefined ? undefined : `draws a black line: its color ${fault}`
}

const OPERATION = /([a-z]+)\(([^()]*)\)/gi
const OPERATIONS = wordsOf('matrix rotate scale scaleX scaleY skew skewX skewY translate translateX translateY')

/** react-pdf ignores operations that it does not know, and the units of numbers. */
function transformFault(value: string | number): string | undefined {
  for (const [, name = '', numbers = ''] of `${value}`.matchAll(OPERATION)) {
    if (!OPERATIONS.includes(name)) return `has ${name}, which has no effect${suggestion(name, OPERATIONS)}`
    const unit = /\d\s*(%|[a-z]+)/i.exec(numbers)?.[1]
    if (unit === undefined) continue
    const isAngle = name === 'rotate' || name.startsWith('skew')
    const [known, words] = isAngle ? [['deg', 'rad'], 'degrees: write deg or rad'] : [['pt'], 'points: write a number']
    if (!known.includes(unit)) return `has ${unit} in ${name}, which is read as ${words}`
  }
  return undefined
}
