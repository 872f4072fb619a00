/**
 * Refuses style values that make react-pdf fail in the middle of a layout, with messages that do not help an author: `value?.trim is not a
 * function`, `unsupported number: NaN`. react-pdf tolerates other wrong values, and so do we. Pure.
 */
import type { Json } from '@platen/contract/brand.ts'

/** A form of values, and its name in messages. */
interface Form {
  readonly words: string
  fits(value: Json): boolean
}

const LENGTH = /^-?\d*\.?\d+(?:in|mm|cm|pt|vh|vw|px|rem)?$/
/** react-pdf finds a percentage anywhere in a text. */
const PERCENT = /\d%/

const isText = (value: Json): value is string => typeof value === 'string'
const isNumber = (value: Json): boolean => typeof value === 'number' || (isText(value) && /^-?\d*\.?\d+$/.test(value))
const isLength = (value: Json): boolean => typeof value === 'number' || (isText(value) && LENGTH.test(value))
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

/** Transformations of styles and of drawings: a text of operations, or a list in react-pdf's own form. */
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

/** What is wrong with the value of a style, as the end of a sentence. Undefined if it is fine. */
export function styleFault(name: string, value: Json): string | undefined {
  const form = FORMS.get(name)
  return form === undefined || form.fits(value) ? undefined : form.words
}
