/**
 * The schemas tenants write. They and the data they are held against are hostile input, so all of it is bounded: the size of a
 * schema, what ajv does to compile it, the time of its patterns (`pattern.ts`) and formats, and the steps of checking one body,
 * since a handful of references that branch is enough to go on for ever. All of it is counted, so what fits once fits always.
 */
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { JsonObject } from '../../brand.ts'
import { FORMAT_CHARS_MAX, SCHEMA_BYTES_MAX, SCHEMA_DEPTH_MAX } from '../../limit.ts'
import { AJV_OPTIONS, compileWith, type Validator } from '../validator.ts'
import { OutOfSteps, Steps, Weight } from './budget.ts'
import { compareByText, compareByValue } from './compare.ts'
import { countKeywords, weighReferences } from './count.ts'
import { compilePattern, weightOfPattern } from './pattern.ts'

/**
 * Compiles a `variables_schema`. Throws an `Error` whose message says what is wrong when it is no schema, refers outside itself or
 * to itself without end, is too large, or has a pattern that cannot be matched in linear time.
 */
export function compileVariablesSchema(schema: JsonObject): Validator {
  try {
    return compileBounded(schema)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const pointer = pointerTo(schema, reason)
    throw pointer === undefined ? cause : new Error(`${pointer}: ${reason}`, { cause })
  }
}

function compileBounded(schema: JsonObject): Validator {
  const types = requireSmall(schema)
  const steps = new Steps()
  const make = (allErrors: boolean) => {
    const weight = new Weight()
    weight.add(types)
    return boundedAjv(allErrors, { steps, weight, topKeywords: Object.keys(schema).length })
  }
  const bounded = undefinedIfEndless(() => compileWith(make, schema))
  const attempt = <Result>(run: () => Result): Result | undefined => {
    steps.reset()
    return undefinedIfEndless(run)
  }
  if (bounded === undefined || attempt(() => bounded.fits({})) === undefined)
    throw new Error('it refers to itself without end')
  return (value) =>
    attempt(() => bounded.faultsOf(value)) ?? [
      { path: '', message: 'takes more time to check than a request may take' },
    ]
}

/** What `run` returns, or undefined when it ran out of steps or of stack. */
function undefinedIfEndless<Result>(run: () => Result): Result | undefined {
  try {
    return run()
  } catch (cause) {
    if (cause instanceof OutOfSteps || cause instanceof RangeError) return undefined
    throw cause
  }
}

/** Keywords whose value the errors of ajv and of patterns quote, without saying where it stands. */
const QUOTED = ['$ref', '$dynamicRef', '$anchor', '$dynamicAnchor', '$id', '$schema', 'pattern']

/** The JSON pointer of such a keyword, if a reason quotes one; of a pattern that is a name, that name's. */
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

/** Keywords that ajv looks up in objects of its own, and those it puts there. */
const REFERRING = ['$ref', '$dynamicRef', '$schema', '$id', '$anchor', '$dynamicAnchor']

/** Has a reference a part that every object inherits? ajv takes what that is for a schema, and calls it. */
function namesInherited(reference: string): boolean {
  return reference.split(/[#/]/).some((part) => decoded(part) in Object.prototype)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Refuses what is too large to be looked at, and counts the types that are listed: ajv has no rule of them that could be counted. */
function requireSmall(schema: JsonObject): number {
  const rest: { readonly value: unknown; readonly depth: number }[] = [{ value: schema, depth: 1 }]
  let types = 0
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    const { value, depth } = node
    if (typeof value !== 'object' || value === null) continue
    if (depth > SCHEMA_DEPTH_MAX) throw new Error(`it is nested more than ${SCHEMA_DEPTH_MAX} levels deep`)
    // ajv's own extension: such a schema answers with a promise, which is true of everything.
    if (Object.hasOwn(value, '$async')) throw new Error('it has the keyword $async, which is not JSON Schema')
    for (const [name, child] of Object.entries(value)) {
      if (name === 'type' && Array.isArray(child)) types += child.length
      if (REFERRING.includes(name) && typeof child === 'string' && namesInherited(child))
        throw new Error(`can't resolve reference ${child}`)
      rest.push({ value: child, depth: depth + 1 })
    }
  }
  const bytes = Buffer.byteLength(JSON.stringify(schema))
  if (bytes > SCHEMA_BYTES_MAX) throw new Error(`it has ${bytes} bytes, of which ${SCHEMA_BYTES_MAX} are taken`)
  return types
}

const LIST_INLINED_MAX = 20

interface Bounds {
  readonly steps: Steps
  readonly weight: Weight
  /** Of the schema, whether or not JSON Schema knows them. */
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
      // ajv keeps one of each, by its text.
      toString: () => pattern,
    }
  }
  // `code` is for those who write validators into files.
  const ajv = new Ajv2020({
    ...AJV_OPTIONS,
    allErrors,
    // What a reference names is compiled once, and not again at each place that names it.
    inlineRefs: false,
    // The code for a longer list is joined in a time that grows with its square.
    loopRequired: LIST_INLINED_MAX,
    // The optimizer of ajv goes over all it has made again and again: it takes longer than it saves.
    code: { optimize: false, regExp: Object.assign(regExp, { code: '' }) },
  })
  // Without the keywords that ajv-formats adds to those of JSON Schema.
  formats.default(ajv, { mode: 'full' })
  boundFormats(ajv)
  compareByText(ajv, steps)
  compareByValue(ajv, steps, weight)
  weighReferences(ajv, weight, topKeywords)
  countKeywords(ajv, steps, weight)
  return ajv
}

/** Formats of texts of any length, checked in linear time. */
const LONG_FORMATS = ['uri', 'uri-reference']

function boundFormats(ajv: Ajv2020): void {
  for (const [name, format] of Object.entries(ajv.formats)) {
    const test = LONG_FORMATS.includes(name) ? undefined : testOf(format)
    if (test !== undefined) ajv.addFormat(name, (text: string) => text.length <= FORMAT_CHARS_MAX && test(text))
  }
  // ajv's own overflows the stack on a few megabytes of base64, and takes quadratic time for URLs.
  ajv.addFormat('byte', (text: string) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text))
  ajv.addFormat('url', (text: string) => /^(https?|ftp):\/\//i.test(text) && URL.canParse(text))
}

/** The check of a format of texts; formats of numbers, and those that take anything, need no bound. */
function testOf(format: Ajv2020['formats'][string]): ((text: string) => boolean) | undefined {
  const isObject = typeof format === 'object' && !(format instanceof RegExp)
  const validate: unknown = isObject ? format.validate : format
  if (isObject && format.type === 'number') return undefined
  if (validate instanceof RegExp) return (text) => validate.test(text)
  // None of ajv-formats' are asynchronous.
  return typeof validate === 'function' ? (text) => validate(text) === true : undefined
}
