/**
 * The schemas of tenants. They and their data are hostile input, so everything is limited: the size of a schema, the work of ajv to compile
 * it, the time of its patterns (`pattern.ts`) and formats, and the steps of checking one body. A handful of references that branch would
 * otherwise run forever. All of it is counted, so what fits once always fits.
 */

import type { JsonObject } from '@platen/lib/brand.ts'
import { messageOf } from '@platen/lib/thrown.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { FORMAT_CHARS_MAX, SCHEMA_BYTES_MAX, SCHEMA_DEPTH_MAX } from '../../domain/limit.ts'
import { AJV_OPTIONS, assertSchema, compileWith, type Validator } from '../validator.ts'
import { OutOfSteps, Steps, Weight } from './budget.ts'
import { compareByText, compareByValue } from './compare.ts'
import { countKeywords, weighReferences } from './count.ts'
import { compilePattern, weightOfPattern } from './pattern.ts'
import { decodedPart } from './reference.ts'

/**
 * Throws an `Error` that says what is wrong if it is no schema, refers to something outside or endlessly to itself, is too large, or has a
 * pattern that cannot be matched in linear time.
 */
export function compileVariablesSchema(schema: JsonObject): Validator {
  try {
    return compileBounded(schema, assertSchema)
  } catch (cause) {
    const reason = messageOf(cause)
    const pointer = pointerTo(schema, reason)
    throw pointer === undefined ? cause : new Error(`${pointer}: ${reason}`, { cause })
  }
}

/** Undefined if nothing is wrong. */
export function variablesSchemaFault(schema: JsonObject): string | undefined {
  try {
    compileVariablesSchema(schema)
    return undefined
  } catch (fault) {
    return messageOf(fault)
  }
}

/**
 * For a schema that `compileVariablesSchema` accepted before, in this or another process. Skips the meta-schema, whose compilation takes a
 * new thread longer than that of most schemas. All bounds of a tenant's schema hold.
 */
export function compilePublishedSchema(schema: JsonObject): Validator {
  return compileBounded(schema)
}

function compileBounded(schema: JsonObject, assertValid?: (schema: JsonObject) => void): Validator {
  const types = requireSmall(schema)
  const steps = new Steps()
  const make = (allErrors: boolean) => {
    const weight = new Weight()
    weight.add(types)
    return boundedAjv(allErrors, { steps, weight, topKeywords: Object.keys(schema).length })
  }
  const bounded = undefinedIfEndless(() => {
    assertValid?.(schema)
    return compileWith(make, schema)
  })
  const attempt = <Result>(run: () => Result): Result | undefined => {
    steps.reset()
    return undefinedIfEndless(run)
  }
  if (bounded === undefined || attempt(() => bounded.fits({})) === undefined)
    throw new Error('it refers to itself endlessly')
  return (value) =>
    attempt(() => bounded.faultsOf(value)) ?? [
      { path: '', message: 'takes more time to check than a request may take' },
    ]
}

/** Undefined if `run` ran out of steps or of stack. */
function undefinedIfEndless<Result>(run: () => Result): Result | undefined {
  try {
    return run()
  } catch (cause) {
    if (cause instanceof OutOfSteps || cause instanceof RangeError) return undefined
    throw cause
  }
}

/** Errors of ajv and of patterns quote the values of these keywords, without their paths. */
const QUOTED = ['$ref', '$dynamicRef', '$anchor', '$dynamicAnchor', '$id', '$schema', 'pattern']

/** The JSON pointer of a keyword whose value `reason` quotes. For a pattern that is a property name, the pointer of that property. */
function pointerTo(schema: JsonObject, reason: string): string | undefined {
  const rest: { readonly value: unknown; readonly path: string }[] = [{ value: schema, path: '' }]
  const isQuoted = (text: unknown) =>
    typeof text === 'string' && text !== '' && reason.includes(JSON.stringify(text).slice(1, -1))
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    const { value, path } = node
    if (typeof value !== 'object' || value === null) continue
    for (const [name, child] of Object.entries(value)) {
      const pointer = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const isPatternName = path.endsWith('/patternProperties') && isQuoted(name)
      if (isPatternName || (QUOTED.includes(name) && isQuoted(child))) return pointer
      rest.push({ value: child, path: pointer })
    }
  }
  return undefined
}

/** ajv uses the values of these keywords as keys of its own objects. */
const REFERRING = ['$ref', '$dynamicRef', '$schema', '$id', '$anchor', '$dynamicAnchor']

/** ajv would take a property that every object inherits for a schema, and call it. */
function namesInherited(reference: string): boolean {
  return reference.split(/[#/]/).some((part) => decodedPart(part) in Object.prototype)
}

/** Refuses schemas that are too large. Counts the entries of `type` lists, for which ajv has no rule that could count. */
function requireSmall(schema: JsonObject): number {
  const rest: { readonly value: unknown; readonly depth: number }[] = [{ value: schema, depth: 1 }]
  let types = 0
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    const { value, depth } = node
    if (typeof value !== 'object' || value === null) continue
    if (depth > SCHEMA_DEPTH_MAX) throw new Error(`it is nested more than ${SCHEMA_DEPTH_MAX} levels deep`)
    // An extension of ajv: such a schema returns a promise, which is truthy for any data.
    if (Object.hasOwn(value, '$async')) throw new Error('it has the keyword $async, which is not JSON Schema')
    for (const [name, child] of Object.entries(value)) {
      if (name === 'type' && Array.isArray(child)) types += child.length
      if (REFERRING.includes(name) && typeof child === 'string' && namesInherited(child))
        throw new Error(`can't resolve reference ${child}`)
      rest.push({ value: child, depth: depth + 1 })
    }
  }
  const bytes = Buffer.byteLength(JSON.stringify(schema))
  if (bytes > SCHEMA_BYTES_MAX) throw new Error(`it has ${bytes} bytes; at most ${SCHEMA_BYTES_MAX} are allowed`)
  return types
}

const LIST_INLINED_MAX = 20

interface Bounds {
  readonly steps: Steps
  readonly weight: Weight
  /** Known to JSON Schema or not. */
  readonly topKeywords: number
}

function boundedAjv(allErrors: boolean, { steps, weight, topKeywords }: Bounds): Ajv2020 {
  const regExp = (pattern: string) => {
    weight.add(weightOfPattern(pattern))
    const { test, stepsFor } = compilePattern(pattern)
    return {
      test(text: string) {
        steps.spend(stepsFor(text.length))
        return test(text)
      },
      // ajv caches regular expressions by their text.
      toString: () => pattern,
    }
  }
  // `code` is only needed to write validators into files.
  const ajv = new Ajv2020({
    ...AJV_OPTIONS,
    allErrors,
    // Compiles the target of a reference once, not at each place that names it.
    inlineRefs: false,
    // The code for a longer list would be joined in quadratic time.
    loopRequired: LIST_INLINED_MAX,
    code: { ...AJV_OPTIONS.code, regExp: Object.assign(regExp, { code: '' }) },
  })
  // Without the keywords that ajv-formats adds to JSON Schema.
  formats.default(ajv, { mode: 'full' })
  boundFormats(ajv)
  compareByText(ajv, steps)
  compareByValue(ajv, steps, weight)
  weighReferences(ajv, weight, topKeywords)
  countKeywords(ajv, steps, weight)
  return ajv
}

/** Formats that are checked in linear time and need no limit. */
const LONG_FORMATS = ['uri', 'uri-reference']

function boundFormats(ajv: Ajv2020): void {
  for (const [name, format] of Object.entries(ajv.formats)) {
    const test = LONG_FORMATS.includes(name) ? undefined : testOf(format)
    if (test !== undefined) ajv.addFormat(name, (text: string) => text.length <= FORMAT_CHARS_MAX && test(text))
  }
  // Those of ajv overflow the stack on a few megabytes of base64, and take quadratic time for URLs.
  ajv.addFormat('byte', (text: string) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text))
  ajv.addFormat('url', (text: string) => /^(https?|ftp):\/\//i.test(text) && URL.canParse(text))
}

/** Formats of numbers, and formats that accept anything, need no limit. */
function testOf(format: Ajv2020['formats'][string]): ((text: string) => boolean) | undefined {
  const isObject = typeof format === 'object' && !(format instanceof RegExp)
  const validate: unknown = isObject ? format.validate : format
  if (isObject && format.type === 'number') return undefined
  if (validate instanceof RegExp) return (text) => validate.test(text)
  // No format of ajv-formats is asynchronous.
  return typeof validate === 'function' ? (text) => validate(text) === true : undefined
}
