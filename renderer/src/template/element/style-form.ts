/**
 * Refuses style values that make react-pdf fail in the middle of a layout, with messages that help no author: `value?.trim is not a
 * function`, `unsupported number: NaN`. react-pdf and a render tolerate other wrong values (`flexDirection: 'rows'`), but a check refuses
 * them. Pure.
 */
import type { Json } from '@platen/lib/brand.ts'
import { suggestion } from '@platen/lib/suggestion.ts'

interface Form {
  readonly words: string
  fits(value: Json): boolean
}

const LENGTH = /^-?\d*\.?\d+(?:in|mm|cm|pt|vh|vw|px|rem)?$/
/** react-pdf finds a percentage anywhere in a text. */
const PERCENT = /\d%/

const isText = (value: Json): value is string => typeof value === 'string'
const isNumber = (value: Json): boolean => typeof value === 'number' || (isText(value) && /^-?\d*\.?\d+$/.test(value))
export const isLength = (value: Json): boolean => typeof value === 'number' || (isText(value) && LENGTH.test(value))
const isSize = (value: Json): boolean => isLength(value) || (isText(value) && (value === 'auto' || PERCENT.test(value)))

const TEXT: Form = { words: 'must be a string', fits: isText }
const NUMBER: Form = { words: 'must be a number', fits: isNumber }
const POINTS: Form = { words: 'must be a number of points', fits: (value) => typeof value === 'number' }
const PLAIN_LENGTH: Form = { words: 'must be a number or a length such as 5mm', fits: isLength }
const RADIUS: Form = { words: 'must be a number, a length such as 5mm or a percentage', fits: isSize }
const SIZE: Form = { words: 'must be a number, a length such as 5mm, a percentage or auto', fits: isSize }
const GAP: Form = {
  words: 'must be one or two lengths such as 5mm',
  fits: (value) => isLength(value) || (isText(value) && value.split(' ').every(isSize)),
}
const WEIGHTS =
  /^(?:thin|hairline|ultralight|extralight|light|normal|medium|semibold|demibold|bold|ultrabold|extrabold|heavy|black)$/i
const WEIGHT: Form = {
  words: 'must be a weight such as bold or 700',
  fits: (value) => isNumber(value) || (isText(value) && WEIGHTS.test(value)),
}
const SLANT: Form = {
  words: 'must be normal, italic or oblique',
  fits: (value) => isText(value) && ['normal', 'italic', 'oblique'].includes(value),
}
const HYPHENS: Form = {
  words: 'must be none, manual or auto',
  fits: (value) => isText(value) && ['none', 'manual', 'auto'].includes(value),
}
const WRAPPING: Form = {
  words: 'must be anywhere, break-word or normal',
  fits: (value) => isText(value) && ['anywhere', 'break-word', 'normal'].includes(value),
}
const ORIGIN: Form = {
  words: 'must be one or two of left, center, right, top, bottom, a length and a percentage',
  fits: (value) =>
    isLength(value) ||
    (isText(value) &&
      value.split(' ').every((word) => /^(?:left|center|right|top|bottom)$/.test(word) || isSize(word))),
}

/** A text of operations, or a list in react-pdf's own form. */
export const TRANSFORM: Form = {
  words: 'must be operations such as rotate(45deg) translate(10, 0)',
  fits: (value) =>
    Array.isArray(value) ? value.every(isOperation) : isText(value) && /^\s*(?:[a-z]+\([^()]*\)[\s,]*)+$/i.test(value),
}

function isOperation(value: Json): boolean {
  if (typeof value !== 'object' || value === null || !('operation' in value)) return false
  const { operation, value: numbers } = value
  return (
    typeof operation === 'string' && Array.isArray(numbers) && numbers.every((number) => typeof number === 'number')
  )
}

const FORMS = new Map<string, Form>([
  ...formsOf(TEXT, 'fill stroke color backgroundColor textDecorationColor borderColor borderStyle'),
  ...formsOf(TEXT, 'borderTopColor borderRightColor borderBottomColor borderLeftColor'),
  ...formsOf(NUMBER, 'opacity'),
  ...formsOf(POINTS, 'textIndent'),
  ...formsOf(PLAIN_LENGTH, 'borderWidth letterSpacing'),
  ...formsOf(PLAIN_LENGTH, 'borderRadius'),
  ...formsOf(RADIUS, 'borderTopLeftRadius borderTopRightRadius borderBottomLeftRadius borderBottomRightRadius'),
  ...formsOf(SIZE, 'width height minWidth minHeight maxWidth maxHeight flexBasis top right bottom left'),
  ...formsOf(GAP, 'gap rowGap columnGap'),
  ...formsOf(WEIGHT, 'fontWeight'),
  ...formsOf(SLANT, 'fontStyle'),
  ...formsOf(HYPHENS, 'hyphens'),
  ...formsOf(WRAPPING, 'overflowWrap'),
  ...formsOf(ORIGIN, 'transformOrigin transformOriginX transformOriginY'),
  ...formsOf(TRANSFORM, 'transform gradientTransform'),
])

function formsOf(form: Form, names: string): readonly (readonly [string, Form])[] {
  return names.split(' ').map((name) => [name, form] as const)
}

/** The end of a sentence. Undefined if the value is fine. */
export function styleFault(name: string, value: Json): string | undefined {
  const form = FORMS.get(name)
  return form === undefined || form.fits(value) ? undefined : form.words
}

/** react-pdf replaces any other value by the default. */
const CHOICES = new Map(
  Object.entries({
    flexDirection: 'row row-reverse column column-reverse',
    flexWrap: 'nowrap wrap wrap-reverse',
    alignItems: 'flex-start center flex-end stretch baseline space-between space-around space-evenly',
    alignSelf: 'auto flex-start center flex-end stretch baseline space-between space-around space-evenly',
    alignContent: 'auto flex-start center flex-end stretch baseline space-between space-around space-evenly',
    justifyContent: 'flex-start center flex-end space-between space-around space-evenly',
    position: 'relative absolute static',
    display: 'flex none',
    overflow: 'visible hidden scroll',
    textAlign: 'left right center justify start end',
    textTransform: 'none uppercase lowercase capitalize upperfirst',
    textDecorationStyle: 'solid dashed dotted double wavy',
    objectFit: 'fill contain cover none scale-down',
    direction: 'ltr rtl',
    visibility: 'visible hidden collapse',
    fillRule: 'nonzero evenodd',
    strokeLinecap: 'butt round square',
    strokeLinejoin: 'miter round bevel',
    textAnchor: 'start middle end',
    borderStyle: 'solid dashed dotted',
    borderTopStyle: 'solid dashed dotted',
    borderRightStyle: 'solid dashed dotted',
    borderBottomStyle: 'solid dashed dotted',
    borderLeftStyle: 'solid dashed dotted',
  }).map(([name, words]) => [name, words.split(' ')] as const),
)

const COLOR_STYLES = new Set(
  `color backgroundColor borderColor borderTopColor borderRightColor borderBottomColor borderLeftColor textDecorationColor fill
  stroke`.split(/\s+/),
)

const COLOR = /^(?:#[0-9a-f]{3,4}|#[0-9a-f]{6}|#[0-9a-f]{8}|(?:rgb|hsl)a?\([^()]*\)|url\(.*\))$/i

const COLOR_NAMES = new Set(
  `none transparent currentcolor inherit aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue
  blueviolet brown burlywood cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan
  darkgoldenrod darkgray darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon
  darkseagreen darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray dimgrey
  dodgerblue firebrick floralwhite forestgreen fuchsia gainsboro ghostwhite gold goldenrod gray green greenyellow grey honeydew
  hotpink indianred indigo ivory khaki lavender lavenderblush lawngreen lemonchiffon lightblue lightcoral lightcyan
  lightgoldenrodyellow lightgray lightgreen lightgrey lightpink lightsalmon lightseagreen lightskyblue lightslategray
  lightslategrey lightsteelblue lightyellow lime limegreen linen magenta maroon mediumaquamarine mediumblue mediumorchid
  mediumpurple mediumseagreen mediumslateblue mediumspringgreen mediumturquoise mediumvioletred midnightblue mintcream mistyrose
  moccasin navajowhite navy oldlace olive olivedrab orange orangered orchid palegoldenrod palegreen paleturquoise palevioletred
  papayawhip peachpuff peru pink plum powderblue purple rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown
  seagreen seashell sienna silver skyblue slateblue slategray slategrey snow springgreen steelblue tan teal thistle tomato
  turquoise violet wheat white whitesmoke yellow yellowgreen`.split(/\s+/),
)

const BOX: Form = {
  words: 'must be one or more of a number, a length such as 5mm, a percentage and auto',
  fits: (value) => isSize(value) || (isText(value) && value.trim().split(/\s+/).every(isSize)),
}
const FONT_SIZE: Form = { words: 'must be a number or a length such as 5mm', fits: isLength }

const IGNORED_FORMS = new Map<string, Form>([
  ...formsOf(FONT_SIZE, 'fontSize'),
  ...formsOf(NUMBER, 'flexGrow flexShrink zIndex maxLines'),
  ...formsOf(BOX, 'margin marginTop marginRight marginBottom marginLeft marginHorizontal marginVertical'),
  ...formsOf(BOX, 'padding paddingTop paddingRight paddingBottom paddingLeft paddingHorizontal paddingVertical'),
])

/** What is wrong with a value that react-pdf would ignore, as the end of a sentence. Undefined if it is fine. */
export function ignoredFault(name: string, value: Json): string | undefined {
  const choices = CHOICES.get(name)
  if (choices !== undefined && isText(value) && !choices.includes(value))
    return `must be one of ${choices.join(', ')}${suggestion(value, choices)}`
  if (
    COLOR_STYLES.has(name) &&
    isText(value) &&
    !COLOR.test(value.trim()) &&
    !COLOR_NAMES.has(value.trim().toLowerCase())
  )
    return `must be a color such as #ff0000, rgb(255, 0, 0) or red${suggestion(value, COLOR_NAMES)}`
  const form = IGNORED_FORMS.get(name)
  return form === undefined || form.fits(value) ? undefined : form.words
}
