/**
 * Payment codes: the QR codes that a bank's app reads to fill in a transfer. `epc`: European Payments Council, version 002 of EPC069-12.
 * `swiss`: Swiss QR-bill, version 2.3 of the guidelines of SIX, with structured addresses.
 */
import type { JsonObject } from '@platen/lib/brand.ts'
import { drawCode, pathOf } from './code.ts'
import { type Figure, FigureFault, type Properties, propertiesOf, rounded } from './figure.ts'

const SCHEMES = ['epc', 'swiss'] as const

export const PAYMENT_PROPERTIES: ReadonlySet<string> = new Set(
  'scheme name iban bic amount currency reference text purpose creditor debtor message width height quietZone color'.split(
    ' ',
  ),
)

/** Throws `FigureFault` for what a bank would refuse: a wrong IBAN, amount, reference or address. */
export function paymentCode(properties: Properties): Figure {
  const scheme = properties.choice('scheme', SCHEMES)
  if (scheme === undefined) throw new FigureFault(`scheme is missing; it must be one of ${SCHEMES.join(', ')}`)
  const value = scheme === 'epc' ? epcPayload(properties) : swissPayload(properties)
  const code = drawCode({ kind: 'qr', value, level: 'M' }, scheme === 'epc' ? properties : swissSize(properties))
  return { ...code, label: 'payment code', ...(scheme === 'swiss' ? { shapes: withCross(code) } : {}) }
}

const AMOUNT_RANGE = [0.01, 999_999_999.99] as const
/** The limit of EPC069-12. */
const EPC_BYTES_MAX = 331

function epcPayload(properties: Properties): string {
  const iban = ibanOf(properties)
  const reference = properties.text('reference', 35)
  const text = properties.text('text', 140)
  if (reference !== undefined && text !== undefined) throw new FigureFault('reference and text exclude each other')
  if (reference !== undefined && !isCreditorReference(reference))
    throw new FigureFault('reference must be an RF reference (ISO 11649)')
  const bic = properties.text('bic', 11) ?? ''
  if (!/^(?:[A-Z]{6}[A-Z\d]{2}(?:[A-Z\d]{3})?)?$/.test(bic))
    throw new FigureFault('bic must have 8 or 11 letters and digits')
  const purpose = properties.text('purpose', 4) ?? ''
  const amount = properties.number('amount', AMOUNT_RANGE)
  const lines = [
    'BCD',
    '002',
    '1',
    'SCT',
    bic,
    required(properties, 'name', 70),
    iban,
    amount === undefined ? '' : `EUR${amount.toFixed(2)}`,
    purpose,
    reference === undefined ? '' : compact(reference),
    text ?? '',
  ]
  refuseBreaks(lines)
  const payload = lines.join('\n').trimEnd()
  if (Buffer.byteLength(payload) > EPC_BYTES_MAX)
    throw new FigureFault(`the payment has more than ${EPC_BYTES_MAX} bytes`)
  return payload
}

const SWISS_CURRENCIES = ['CHF', 'EUR'] as const

function swissPayload(properties: Properties): string {
  const iban = ibanOf(properties)
  if (!/^(?:CH|LI)/.test(iban)) throw new FigureFault('iban must be one of Switzerland or Liechtenstein')
  const creditor = properties.object('creditor')
  if (creditor === undefined)
    throw new FigureFault('creditor is missing: it has name, street, houseNumber, postalCode, town, country')
  const debtor = properties.object('debtor')
  const amount = properties.number('amount', AMOUNT_RANGE)
  const lines = [
    'SPC',
    '0200',
    '1',
    iban,
    ...partyLines('creditor', creditor),
    // The ultimate creditor: reserved by the standard for later.
    ...NO_PARTY,
    amount === undefined ? '' : amount.toFixed(2),
    properties.choice('currency', SWISS_CURRENCIES) ?? 'CHF',
    ...(debtor === undefined ? NO_PARTY : partyLines('debtor', debtor)),
    ...swissReference(iban, properties.text('reference', 35)),
    properties.text('message', 140) ?? '',
    'EPD',
  ]
  refuseBreaks(lines)
  return lines.join('\n')
}

const NO_PARTY = Array<string>(7).fill('')

function partyLines(role: string, party: JsonObject): readonly string[] {
  const fields = propertiesOf(party)
  const attempt = <Value>(read: () => Value): Value => {
    try {
      return read()
    } catch (cause) {
      throw cause instanceof FigureFault ? new FigureFault(`${role}.${cause.message}`, { cause }) : cause
    }
  }
  return attempt(() => {
    const country = required(fields, 'country', 2)
    if (!/^[A-Z]{2}$/.test(country)) throw new FigureFault('country must have two letters, as in CH')
    const place = [required(fields, 'postalCode', 16), required(fields, 'town', 35), country]
    return [
      'S',
      required(fields, 'name', 70),
      fields.text('street', 70) ?? '',
      fields.text('houseNumber', 16) ?? '',
      ...place,
    ]
  })
}

/** Returns the kind of reference and the reference. A QR-IBAN requires a QR reference, and no other account takes one. */
function swissReference(iban: string, given: string | undefined): readonly [string, string] {
  const bank = Number(iban.slice(4, 9))
  const isQrIban = bank >= 30_000 && bank <= 31_999
  const reference = given === undefined ? undefined : compact(given)
  if (isQrIban) {
    if (reference === undefined || !isQrReference(reference))
      throw new FigureFault('reference must be a QR reference of 27 digits, because iban is a QR-IBAN')
    return ['QRR', reference]
  }
  if (reference === undefined) return ['NON', '']
  if (!isCreditorReference(reference))
    throw new FigureFault('reference must be an RF reference (ISO 11649), because iban is no QR-IBAN')
  return ['SCOR', reference]
}

function required(properties: Properties, name: string, charsMax: number): string {
  const value = properties.text(name, charsMax)?.trim()
  if (value === undefined || value === '') throw new FigureFault(`${name} is missing or empty`)
  return value
}

/** A line break in a value would begin the next field. */
function refuseBreaks(lines: readonly string[]): void {
  if (lines.some((line) => /[\p{Cc}\p{Zl}\p{Zp}]/u.test(line)))
    throw new FigureFault('a value of the payment has a line break or another control character')
}

function compact(text: string): string {
  return text.replaceAll(' ', '').toUpperCase()
}

function ibanOf(properties: Properties): string {
  const iban = compact(required(properties, 'iban', 42))
  if (!/^[A-Z]{2}\d{2}[A-Z\d]{11,30}$/.test(iban) || remainder97(iban) !== 1)
    throw new FigureFault('iban is not an IBAN: its check digits do not fit')
  return iban
}

function isCreditorReference(reference: string): boolean {
  const written = compact(reference)
  return /^RF\d{2}[A-Z\d]{1,21}$/.test(written) && remainder97(written) === 1
}

/** ISO 7064: the first four characters move to the end, and letters count from 10. */
function remainder97(code: string): number {
  const digits = Array.from(`${code.slice(4)}${code.slice(0, 4)}`, (character) =>
    String(Number.parseInt(character, 36)),
  ).join('')
  return Array.from(digits).reduce((rest, digit) => (rest * 10 + Number(digit)) % 97, 0)
}

/** Recursive modulo 10, the check digit of Swiss references. */
function isQrReference(reference: string): boolean {
  if (!/^\d{27}$/.test(reference)) return false
  const carry = Array.from(reference.slice(0, 26)).reduce((rest, digit) => CARRIES[(rest + Number(digit)) % 10] ?? 0, 0)
  return (10 - carry) % 10 === Number(reference[26])
}

const CARRIES = [0, 9, 4, 6, 8, 2, 7, 1, 3, 5] as const

const SWISS_MM = 46

/** The code is 46 mm wide without a quiet zone, which the payment part of the bill provides. */
function swissSize(properties: Properties): Properties {
  const length = (name: string) => properties.length(name) ?? (name === 'width' ? (SWISS_MM * 72) / 25.4 : undefined)
  const number: Properties['number'] = (name, range) =>
    properties.number(name, range) ?? (name === 'quietZone' ? 0 : undefined)
  return { ...properties, length, number }
}

/** The Swiss cross has 7 of the 46 mm: white around black around white. Error correction restores what it covers. */
function withCross(code: Figure): Figure['shapes'] {
  const { width } = code
  const middle = width / 2
  const square = (side: number) => bar(side, side)
  const bar = (wide: number, high: number) =>
    `M${rounded(middle - wide / 2)} ${rounded(middle - high / 2)}h${rounded(wide)}v${rounded(high)}h${rounded(-wide)}Z`
  const side = (width * 7) / SWISS_MM
  const [long, short] = [side * 0.6, side * 0.19]
  return [
    pathOf(code),
    { path: square(side), fill: 'white' },
    { path: square(side * 0.88), fill: 'black' },
    { path: bar(long, short), fill: 'white' },
    { path: bar(short, long), fill: 'white' },
  ]
}
