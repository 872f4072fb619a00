/**
 * The schemas tenants write. They and the data they are held against are hostile input, and both meet in the thread that answers
 * everybody, so all of it is bounded: the size of a schema, the time of its patterns (`pattern.ts`) and formats, and the steps of
 * checking one body, since a handful of references that branch is enough to go on for ever.
 */
import { _, KeywordCxt } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Json, JsonObject } from '../brand.ts'
import {
  FORMAT_CHARS_MAX,
  SCHEMA_BYTES_MAX,
  SCHEMA_DEPTH_MAX,
  SCHEMA_OBJECTS_MAX,
  VALIDATION_STEPS_MAX,
} from '../limit.ts'
import { compilePattern } from './pattern.ts'
import { AJV_OPTIONS, compileWith, type Validator } from './validator.ts'

/**
 * Compiles a `variables_schema`. Throws an `Error` whose message says what is wrong when it is no schema, refers outside itself or
 * to itself without end, is too large, or has a pattern that cannot be matched in linear time.
 */
export function compileVariablesSchema(schema: JsonObject): Validator {
  try {
    return compileBounded(schema)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const place = placeOf(schema, reason)
    throw place === undefined ? cause : new Error(`${place}: ${reason}`, { cause })
  }
}

function compileBounded(schema: JsonObject): Validator {
  requireSmall(schema)
  const steps = new Steps()
  const bounded = unlessEndless(() => compileWith((allErrors) => boundedAjv(allErrors, steps), schema))
  const attempt = <Result>(run: () => Result): Result | undefined => {
    steps.reset()
    return unlessEndless(run)
  }
  if (bounded === undefined || attempt(() => bounded.fits({})) === undefined)
    throw new Error('it refers to itself without end')
  return (value) =>
    attempt(() => bounded.faultsOf(value)) ?? [
      { path: '', message: 'takes more time to check than a request may take' },
    ]
}

/** What `run` returns, or undefined when it ran out of steps or of stack. */
function unlessEndless<Result>(run: () => Result): Result | undefined {
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
function placeOf(schema: JsonObject, reason: string): string | undefined {
  const rest: { readonly value: unknown; readonly path: string }[] = [{ value: schema, path: '' }]
  const isQuoted = (text: unknown) =>
    typeof text === 'string' && text !== '' && reason.includes(JSON.stringify(text).slice(1, -1))
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    const { value, path } = node
    if (typeof value !== 'object' || value === null) continue
    for (const [name, child] of Object.entries(value)) {
      const place = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const isPatternName = path.endsWith('/patternProperties') && isQuoted(name)
      if (isPatternName || (QUOTED.includes(name) && isQuoted(child))) return place
      rest.push({ value: child, path: place })
    }
  }
  return undefined
}

function requireSmall(schema: JsonObject): void {
  const rest: { readonly value: unknown; readonly depth: number }[] = [{ value: schema, depth: 1 }]
  let objects = 0
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    const { value, depth } = node
    if (typeof value !== 'object' || value === null) continue
    if (depth > SCHEMA_DEPTH_MAX) throw new Error(`it is nested more than ${SCHEMA_DEPTH_MAX} levels deep`)
    if (!Array.isArray(value)) objects++
    if (objects > SCHEMA_OBJECTS_MAX) throw new Error(`it has more than ${SCHEMA_OBJECTS_MAX} objects`)
    // ajv's own extension: such a schema answers with a promise, which is true of everything.
    if (Object.hasOwn(value, '$async')) throw new Error('it has the keyword $async, which is not JSON Schema')
    for (const child of Object.values(value)) rest.push({ value: child, depth: depth + 1 })
  }
  const bytes = Buffer.byteLength(JSON.stringify(schema))
  if (bytes > SCHEMA_BYTES_MAX) throw new Error(`it has ${bytes} bytes, of which ${SCHEMA_BYTES_MAX} are taken`)
}

class OutOfSteps extends Error {
  override readonly name = 'OutOfSteps'
}

/** What is left for the check under way. */
class Steps {
  #left = 0

  reset(): void {
    this.#left = VALIDATION_STEPS_MAX
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new OutOfSteps()
  }
}

function boundedAjv(allErrors: boolean, steps: Steps): Ajv2020 {
  const regExp = (pattern: string) => {
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
    // The optimizer of ajv goes over all it has made again and again: it takes longer than it saves.
    code: { optimize: false, regExp: Object.assign(regExp, { code: '' }) },
  })
  // Without the keywords that ajv-formats adds to those of JSON Schema.
  formats.default(ajv, { mode: 'full' })
  boundFormats(ajv)
  compareByText(ajv, steps)
  countSteps(ajv, steps)
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

/** `uniqueItems` in linear time: ajv compares each item with each other. */
function compareByText(ajv: Ajv2020, steps: Steps): void {
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    validate(isWanted: boolean, items: readonly Json[]) {
      if (!isWanted) return true
      const texts = new Set<string>()
      for (const item of items) {
        const text = spell(item)
        steps.spend(2 * text.length)
        texts.add(text)
      }
      return texts.size === items.length
    },
  })
}

/** Equal values have equal texts. */
function spell(value: Json): string {
  return JSON.stringify(value, (_name, field: unknown) =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([one], [other]) => (one < other ? -1 : 1)))
      : field,
  )
}

/** Keywords whose check goes over the items of a list, the names of an object or the characters of a text. */
const WALKS: Readonly<Record<string, (value: unknown) => number>> = {
  ...byName(['items', 'contains', 'unevaluatedItems'], (value) => (Array.isArray(value) ? value.length : 0)),
  ...byName(
    [
      'additionalProperties',
      'patternProperties',
      'propertyNames',
      'unevaluatedProperties',
      'minProperties',
      'maxProperties',
    ],
    (value) => (typeof value === 'object' && value !== null ? Object.keys(value).length : 0),
  ),
  ...byName(['minLength', 'maxLength', 'format'], (value) => (typeof value === 'string' ? value.length / 4 : 0)),
}

function byName<Value>(names: readonly string[], value: Value): Record<string, Value> {
  return Object.fromEntries(names.map((name) => [name, value]))
}

/** What a fault costs to write down, and what a branch does, which most often has one. */
const FAULT_STEPS = 20
const BRANCHING = ['anyOf', 'oneOf']

/** Makes every keyword pay before it is checked: a step for each entry of its own in the schema, as often as it goes over the data. */
function countSteps(ajv: Ajv2020, steps: Steps): void {
  for (const rule of Object.values(ajv.RULES.all)) {
    if (typeof rule !== 'object' || !('code' in rule.definition)) continue
    const { keyword, definition } = rule
    const { code } = definition
    const sizeOf = WALKS[keyword]
    definition.code = (context, ruleType) => {
      const { gen, data } = context
      const counter = gen.scopeValue('obj', { ref: steps })
      const entries = entriesOf(keyword, context.schema) * (BRANCHING.includes(keyword) ? FAULT_STEPS : 1)
      const size = sizeOf === undefined ? _`0` : _`${gen.scopeValue('func', { ref: sizeOf })}(${data})`
      gen.code(_`${counter}.spend(${entries} * (1 + ${size}))`)
      const report: typeof context.error = (...fault) => {
        gen.code(_`${counter}.spend(${FAULT_STEPS})`)
        KeywordCxt.prototype.error.apply(context, fault)
      }
      code(Object.assign(context, { error: report }), ruleType)
    }
  }
}

/** Keywords that compare what they hold with the data, down to the last value. */
const COMPARING = ['const', 'enum']

function entriesOf(keyword: string, schema: unknown): number {
  if (typeof schema !== 'object' || schema === null) return 1
  const values = Object.values(schema)
  const inner = COMPARING.includes(keyword) ? values : []
  return inner.reduce<number>((sum, value) => sum + entriesOf(keyword, value), values.length + 1)
}
