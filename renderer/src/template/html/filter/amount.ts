/**
 * Liquid's arithmetic in decimals: 0.1 plus 0.2 is 0.3, and a text keeps all its digits. LiquidJS counts in binary, reads a text that is
 * not a number as 0, and prints `Infinity`.
 */
import { Decimal } from 'decimal.js'
import { filters } from 'liquidjs'
import { FilterError, type FilterThis, isNothing } from './fault.ts'

/** Digits of a decimal. Money has at most thirty. */
const DIGITS_MAX = 100
/** More than any double has. */
const EXPONENT_DIGITS_MAX = 3
/** Includes zeros before and after the significant digits. */
const TEXT_CHARS_MAX = 500
const DECIMAL = new RegExp(`^[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:e[+-]?\\d{1,${EXPONENT_DIGITS_MAX}})?$`, 'i')

/** Digits that every double keeps. More may be the noise of an earlier calculation. */
const DOUBLE_DIGITS = 15
/** Decimals of an endless quotient of operands with more digits than a double. */
const QUOTIENT_DECIMALS = 20

/** The remainder has the sign of the divisor, as in Liquid. */
const Exact = Decimal.clone({
  precision: DIGITS_MAX + 20,
  rounding: Decimal.ROUND_HALF_UP,
  modulo: Decimal.ROUND_FLOOR,
})

/** A number, or a decimal text as it is. Throws for anything else. */
export function amountOf(value: unknown): number | string {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'string') {
    const text = value.length > TEXT_CHARS_MAX ? '' : value.trim()
    const digits = text
      .replace(/e.*/i, '')
      .replaceAll(/\D/g, '')
      .replaceAll(/^0+|0+$/g, '')
    if (digits.length <= DIGITS_MAX && DECIMAL.test(text) && Number.isFinite(Number(text))) return text
  }
  throw new FilterError('the value is not a number: write it as 1234.5')
}

export function wholeOf(value: unknown, what: string, [least, most]: readonly [number, number]): number {
  const number = Number(amountOf(value))
  if (Number.isInteger(number) && number >= least && number <= most) return number
  throw new FilterError(`${what} must be a whole number from ${least} to ${most}`)
}

interface Operand {
  readonly exact: Decimal
  /** Its digits were written by somebody, and are not the noise of binary numbers. */
  readonly isExact: boolean
  /** A text with more digits than a double keeps. */
  readonly isLong: boolean
}

/** As everywhere in Liquid, an empty value counts as 0. */
function operandOf(value: unknown): Operand {
  const amount = isNothing(value) ? 0 : amountOf(value)
  const exact = new Exact(amount)
  const isLong = exact.precision() > DOUBLE_DIGITS && !Number.isInteger(amount)
  return { exact, isExact: typeof amount === 'string' || !isLong, isLong: isLong && typeof amount === 'string' }
}

/** A number if it prints like the result, else the digits as text. */
function resultOf(exact: Decimal, operands: readonly Operand[]): number | string {
  if (exact.isZero()) return 0
  const number = exact.toNumber()
  if (!Number.isFinite(number)) throw new FilterError('the result is too large for a number')
  const text = exact.toFixed()
  if (String(number) === text) return number
  if (operands.every(({ isExact }) => isExact) && exact.precision() <= DIGITS_MAX) return text
  return String(number).includes('e') ? new Exact(number).toFixed() : number
}

function quotientOf(one: Operand, other: Operand): number | string {
  const operands = [one, other]
  const exact = one.exact.div(other.exact)
  const isLong = operands.some((operand) => operand.isLong)
  if (exact.precision() <= (isLong ? DIGITS_MAX : DOUBLE_DIGITS)) return resultOf(exact, operands)
  if (isLong) return resultOf(exact.toDecimalPlaces(QUOTIENT_DECIMALS), operands)
  return resultOf(new Exact(exact.toNumber()), operands)
}

function divisorOf(value: unknown): Operand {
  const divisor = operandOf(value)
  if (divisor.exact.isZero())
    throw new FilterError('the value is divided by 0, or by nothing: ask for the divisor with {% if %} first')
  return divisor
}

/** Rounds half away from zero. Negative `digits` are before the point. */
function rounded(exact: Decimal, digits: number): Decimal {
  return digits < 0 ? exact.toNearest(new Exact(10).pow(-digits)) : exact.toDecimalPlaces(digits)
}

const unary = (act: (exact: Decimal) => Decimal) =>
  function filter(value: unknown) {
    const operand = operandOf(value)
    return resultOf(act(operand.exact), [operand])
  }

const binary = (act: (one: Decimal, other: Decimal) => Decimal) =>
  function filter(value: unknown, argument: unknown) {
    const [one, other] = [operandOf(value), operandOf(argument)]
    return resultOf(act(one.exact, other.exact), [one, other])
  }

export const ARITHMETIC = {
  plus: binary((one, other) => one.plus(other)),
  minus: binary((one, other) => one.minus(other)),
  times: binary((one, other) => one.times(other)),
  at_least: binary((one, other) => Exact.max(one, other)),
  at_most: binary((one, other) => Exact.min(one, other)),
  abs: unary((exact) => exact.abs()),
  ceil: unary((exact) => exact.ceil()),
  floor: unary((exact) => exact.floor()),
  divided_by(value: unknown, argument: unknown, isWhole: unknown = false) {
    if (typeof isWhole !== 'boolean') throw new FilterError('the second argument must be true or false')
    const [one, other] = [operandOf(value), divisorOf(argument)]
    return isWhole ? resultOf(one.exact.div(other.exact).floor(), [one, other]) : quotientOf(one, other)
  },
  modulo(value: unknown, argument: unknown) {
    const [one, other] = [operandOf(value), divisorOf(argument)]
    return resultOf(one.exact.mod(other.exact), [one, other])
  },
  round(value: unknown, digits: unknown = 0) {
    const operand = operandOf(value)
    const kept = isNothing(digits) ? 0 : wholeOf(digits, 'the digits', [-DIGITS_MAX, DIGITS_MAX])
    return resultOf(rounded(operand.exact, kept), [operand])
  },
  to_integer(value: unknown) {
    if (isNothing(value)) return ''
    const operand = operandOf(typeof value === 'boolean' ? Number(value) : value)
    return resultOf(operand.exact.trunc(), [operand])
  },
  *sum(this: FilterThis, value: unknown, field: unknown) {
    const map: unknown = filters['map']
    const read: unknown = isNothing(field) || typeof map !== 'function' ? value : yield map.call(this, value, field)
    const items: readonly unknown[] = Array.isArray(read) ? read : isNothing(read) ? [] : [read]
    const operands = items.map(operandOf)
    return resultOf(
      operands.reduce((sum, { exact }) => sum.plus(exact), new Exact(0)),
      operands,
    )
  },
}
