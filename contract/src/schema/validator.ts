/**
 * JSON Schema 2020-12 by ajv, for our own wire shapes. `variable/variables-schema.ts` does the same for schemas of tenants. A validator
 * changes nothing. A fault names the path but never the value, which may be a secret, or 10 MiB.
 */

import { type IntlName, LANGUAGE_TAG, TIME_ZONE } from '@platen/lib/intl.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import { Ajv2020, type ErrorObject, type Options } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { ErrorDetail } from '../domain/error.ts'

/** Enough to correct a form, few enough that a hostile body cannot cause a long answer. */
const ERROR_DETAILS_MAX = 20

/** At most `ERROR_DETAILS_MAX` faults; none when the value conforms. */
export type Validator = (value: unknown) => readonly ErrorDetail[]

const NAME_CHARS_MAX = 64
/** Errors among which to choose: finding the branches of a union compares each with each. */
const CONSIDERED_MAX = 500

/**
 * Compiles one of our schemas at the first value: that takes a new process 15 ms, and most processes meet few of the shapes they know.
 * Tests check the schema itself, by `assertSchema`.
 */
export function compileValidator(schema: object): Validator {
  const compiled = atFirstUse(() => compileWith(ajv, schema))
  return (value) => compiled().faultsOf(value)
}

/** Converts a value to this version, in place. False if it does not conform; the value may have changed by then. */
export type Converter = (value: object) => boolean

/**
 * For values that an older or newer version may have written. A missing field gets the `default` of the schema, and a field that the schema
 * does not name is removed. Compiles like `compileValidator`.
 */
export function compileConverter(schema: object): Converter {
  const make = (allErrors: boolean) => ajv(allErrors, { useDefaults: true, removeAdditional: 'all' })
  const compiled = atFirstUse(() => compileWith(make, schema))
  return (value) => compiled().fits(value)
}

function atFirstUse<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

interface Compiled {
  fits(value: unknown): boolean
  readonly faultsOf: Validator
}

/** `make` creates the ajv of each of the two passes. Does not check that the schema is one. */
export function compileWith(make: (allErrors: boolean) => Ajv2020, schema: object): Compiled {
  // The first pass stops at the first fault, so that a hostile body with millions of faults costs only one. The second lists all faults,
  // and runs only for a small body.
  const first = make(false).compile(schema)
  // Most validators never find a fault.
  let all: typeof first | undefined
  const faultsOf: Validator = (value) => {
    if (first(value)) return []
    const isSmall = sizeUpTo(value, LISTED_NODES_MAX) < LISTED_NODES_MAX
    if (!isSmall) return describeErrors(first.errors ?? [])
    all ??= make(true).compile(schema)
    all(value)
    return describeErrors(all.errors ?? [])
  }
  return { fits: (value) => first(value), faultsOf }
}

const LISTED_NODES_MAX = 10_000

/**
 * Kept between calls; nothing else in this module is. Compiling the meta-schema takes a new process 60 ms. It treats schemas as data only,
 * so nothing of one remains for the next.
 */
let metaSchema: Ajv2020 | undefined

/** Throws an `Error` that says what is wrong, and where. */
export function assertSchema(schema: object): void {
  metaSchema ??= ajv(false)
  if (metaSchema.validateSchema(schema) === true) return
  const faults = describeErrors(metaSchema.errors ?? []).map(({ path, message }) => `${path || '/'} ${message}`)
  throw new Error(`schema is invalid: ${faults.join(', ')}`)
}

function ajv(allErrors: boolean, options: Options = {}): Ajv2020 {
  const instance = formats.default(new Ajv2020({ ...AJV_OPTIONS, ...options, allErrors }))
  for (const [name, { isValid }] of Object.entries(OWN_FORMATS)) instance.addFormat(name, isValid)
  return instance
}

/** Used by our own schemas, beside those of JSON Schema. */
const OWN_FORMATS: Readonly<Record<string, IntlName>> = {
  'language-tag': LANGUAGE_TAG,
  'time-zone': TIME_ZONE,
  // A pattern could name the halves, but few regular expressions outside of JavaScript accept it.
  'well-formed': { isValid: (text) => text.isWellFormed(), fault: 'has half of a surrogate pair' },
}

/**
 * `assertSchema` validates schemas. With `verbose` an error has its schema. The optimizer of ajv repeatedly walks all generated code, which
 * takes longer than it saves.
 */
export const AJV_OPTIONS = {
  strict: false,
  logger: false,
  validateFormats: true,
  validateSchema: false,
  verbose: true,
  code: { optimize: false },
} as const

function sizeUpTo(value: unknown, max: number): number {
  const rest = [value]
  let nodes = 0
  while (rest.length > 0 && nodes < max) {
    const node = rest.pop()
    nodes++
    if (typeof node === 'object' && node !== null) rest.push(...Object.values(node).slice(0, max))
  }
  return nodes
}

function describeErrors(errors: readonly ErrorObject[]): ErrorDetail[] {
  const details = new Map<string, ErrorDetail>()
  // For a name that is not allowed, ajv also reports the rule that the name breaks, as if the value broke it.
  const considered = errors.filter(({ propertyName }) => propertyName === undefined).slice(0, CONSIDERED_MAX)
  for (const error of withoutBranches(considered)) {
    const message = isUnion(error) ? messageOfUnion(error, considered) : messageOf(error)
    const detail = { path: pathOf(error), message }
    details.set(`${detail.path} ${detail.message}`, detail)
    if (details.size === ERROR_DETAILS_MAX) break
  }
  return [...details.values()]
}

/**
 * For a failed `anyOf` ajv reports its own fault and those of every branch. A fault deeper inside tells what is wrong with the intended
 * branch. Without one, the union tells what each branch accepts.
 */
function withoutBranches(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const isDeeper = (error: ErrorObject, union: ErrorObject) => pathOf(error).length > union.instancePath.length
  const unions = errors.filter(isUnion)
  return errors.filter((error) => {
    const union = unions.find((candidate) => isInside(error, candidate))
    if (union !== undefined) return isDeeper(error, union)
    return !isUnion(error) || !errors.some((other) => isInside(other, error) && isDeeper(other, error))
  })
}

function isUnion({ keyword }: ErrorObject): boolean {
  return keyword === 'anyOf' || keyword === 'oneOf'
}

function isInside(error: ErrorObject, union: ErrorObject): boolean {
  return error !== union && error.schemaPath.startsWith(`${union.schemaPath}/`)
}

const BRANCHES_NAMED_MAX = 5

/** For a union without faults deeper inside: what its branches say about the value. */
function messageOfUnion(union: ErrorObject, errors: readonly ErrorObject[]): string {
  const inside = errors.filter((error) => isInside(error, union) && !isUnion(error)).map(messageOf)
  const messages = [...new Set(inside)].slice(0, BRANCHES_NAMED_MAX)
  return messages.length === 0 ? 'matches more than one of the allowed forms' : messages.join(', or ')
}

/** A JSON pointer. For a property that is missing, not allowed or badly named, it points to that property. */
function pathOf({ instancePath, params }: ErrorObject): string {
  const { missingProperty, additionalProperty, unevaluatedProperty, propertyName } = params
  const property: unknown = missingProperty ?? additionalProperty ?? unevaluatedProperty ?? propertyName
  if (typeof property !== 'string') return instancePath
  return `${instancePath}/${property.slice(0, NAME_CHARS_MAX).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function messageOf(error: ErrorObject): string {
  switch (error.keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return `is not a known field${nearestField(error)}`
    case 'enum':
      return `must be one of ${list(error.params['allowedValues'])}`
    case 'const':
      return `must be ${list([error.params['allowedValue']])}`
    case 'format':
      return faultOfFormat(String(error.params['format']))
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return error.params['limit'] === 1 ? 'must not be empty' : `must have at least ${sizeOf(error)}`
    case 'maxLength':
    case 'maxItems':
    case 'maxProperties':
      return `must have at most ${sizeOf(error)}`
    case 'uniqueItems':
      return 'must not have the same item twice'
    case 'propertyNames':
      return `does not have a name of the required form${formOf(error.schema)}`
    case 'pattern':
      return `does not have the required form${formOf(error.parentSchema)}`
    default:
      // Other messages of ajv quote the schema ("must be string", "must be >= 0"), never the value.
      return error.message ?? 'is not valid'
  }
}

const COUNTED: Readonly<Record<string, string>> = { Length: 'character', Items: 'item', Properties: 'field' }

/** Counts what the keyword limits, such as characters for `maxLength`. */
function sizeOf({ keyword, params }: ErrorObject): string {
  const limit = Number(params['limit'])
  return `${limit} ${COUNTED[keyword.slice('max'.length)]}${limit === 1 ? '' : 's'}`
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'a time such as 2026-11-21T12:00:00Z',
  date: 'a date such as 2026-11-21',
  time: 'a time of day such as 12:00:00Z',
  duration: 'a duration such as P1DT12H',
  email: 'an e-mail address such as ann@example.com',
  hostname: 'a host name such as www.example.com',
  ipv4: 'an IPv4 address such as 192.0.2.1',
  ipv6: 'an IPv6 address such as 2001:db8::1',
  uri: 'a URL such as https://example.com/a, in ASCII: other letters are written as %C3%BC, and in a host name as xn--…',
  url: 'a URL such as https://example.com/a',
  uuid: 'a UUID such as 019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71',
}

function faultOfFormat(format: string): string {
  return OWN_FORMATS[format]?.fault ?? `must be ${FORMATS[format] ?? `of the format ${format}`}`
}

function nearestField({ params, parentSchema }: ErrorObject): string {
  const name: unknown = params['additionalProperty'] ?? params['unevaluatedProperty']
  const known: object = parentSchema?.['properties'] ?? {}
  if (typeof name !== 'string' || name.length > NAME_CHARS_MAX) return ''
  return suggestion(name, Object.keys(known)) || fieldWithin(name, known)
}

/** Suggests a known object that has a field of this name. */
function fieldWithin(name: string, known: object): string {
  const holder = Object.entries(known).find(([, schema]: [string, unknown]) => {
    if (typeof schema !== 'object' || schema === null || !('properties' in schema)) return false
    const { properties } = schema
    return typeof properties === 'object' && properties !== null && Object.hasOwn(properties, name)
  })
  return holder === undefined ? '' : ` (did you mean ${holder[0]}.${name}?)`
}

const FORM_CHARS_MAX = 200

/** The description of the schema: a pattern is for machines. */
function formOf(schema: unknown): string {
  const description = typeof schema === 'object' && schema !== null && 'description' in schema && schema.description
  return typeof description === 'string' ? `: ${description.slice(0, FORM_CHARS_MAX).replace(/\.$/, '')}` : ''
}

function list(values: unknown): string {
  return Array.isArray(values)
    ? values
        .slice(0, ERROR_DETAILS_MAX)
        .map((value) => JSON.stringify(value))
        .join(', ')
    : 'the allowed values'
}
