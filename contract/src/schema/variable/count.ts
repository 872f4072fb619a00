/** Has ajv count what it does: a weight for each keyword and reference it compiles, and steps for each keyword it checks. */
import { _, KeywordCxt, Name } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { FAULT_STEPS, type Steps, type Weight } from './budget.ts'

/** Characters of a reference, and keywords beside it at the top, that take as long as a keyword. */
const REFERENCE_CHARS = 200
const TOP_KEYWORDS = 64

/** Makes every look at a reference weigh something: ajv follows one to its end from each place anew, and goes over it at each step. */
export function weighReferences(ajv: Ajv2020, weight: Weight, topKeywords: number): void {
  const resolver = ajv.opts.uriResolver
  ajv.opts.uriResolver = {
    ...resolver,
    resolve(base, reference) {
      weight.follow(1 + (base.length + reference.length) / REFERENCE_CHARS)
      return resolver.resolve(base, reference)
    },
    parse(reference) {
      weight.follow(1 + topKeywords / TOP_KEYWORDS + reference.length / REFERENCE_CHARS)
      return resolver.parse(reference)
    },
  }
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

const BRANCHING = ['anyOf', 'oneOf']

/** What a keyword weighs, and each entry of it; measured, and 1 and 0 where nothing is said. */
const WEIGHTS: Readonly<Record<string, readonly [own: number, entry: number]>> = {
  ...byName(['properties'], [1, 2.5]),
  ...byName(['patternProperties', 'prefixItems', 'anyOf'], [1, 3]),
  ...byName(['allOf', 'dependentSchemas'], [1, 4]),
  ...byName(['oneOf'], [1, 6]),
  ...byName(['dependentRequired', 'dependencies'], [1, 2]),
  ...byName(['required'], [1, 1 / 8]),
  ...byName(['format', '$ref'], [2, 0]),
  ...byName(['not', 'items', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'], [3, 0]),
  ...byName(['propertyNames', 'if'], [4, 0]),
  ...byName(['contains', '$dynamicRef', '$recursiveRef', '$dynamicAnchor'], [5, 0]),
}

/** Keywords of lists whose code is joined in a time that grows with the square of their length, and the length that weighs twice as much. */
const JOINED = ['dependentRequired', 'dependencies']
const JOINED_LENGTH = 50

function weightOf(keyword: string, schema: unknown): number {
  const [own, entry] = WEIGHTS[keyword] ?? [1, 0]
  if (typeof schema === 'boolean') return 1
  if (entry === 0 || typeof schema !== 'object' || schema === null) return own
  const values: readonly unknown[] = Object.values(schema)
  const lists = JOINED.includes(keyword) ? values.filter((value) => Array.isArray(value)) : []
  return lists.reduce<number>(
    (sum, { length }) => sum + length * (1 + length / JOINED_LENGTH),
    own + entry * values.length,
  )
}

/**
 * Makes every keyword weigh something when it is compiled, and pay before it is checked: a step for each entry of its own in the
 * schema, as often as it goes over the data.
 */
export function countKeywords(ajv: Ajv2020, steps: Steps, weight: Weight): void {
  for (const rule of Object.values(ajv.RULES.all)) {
    if (typeof rule !== 'object' || !('code' in rule.definition)) continue
    const { keyword, definition } = rule
    const { code } = definition
    const sizeOf = WALKS[keyword]
    definition.code = (context, ruleType) => {
      const { gen, data } = context
      weight.add(weightOf(keyword, context.schema))
      if (keyword === 'patternProperties') assignEvaluated(context)
      const counter = gen.scopeValue('obj', { ref: steps })
      const entries = entriesOf(context.schema) * (BRANCHING.includes(keyword) ? FAULT_STEPS : 1)
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

function entriesOf(schema: unknown): number {
  return typeof schema === 'object' && schema !== null ? Object.keys(schema).length + 1 : 1
}

/** Of the branches before it ajv has assigned what they evaluated only where one fits, and takes it for assigned. */
function assignEvaluated({ gen, it: { props } }: KeywordCxt): void {
  if (props instanceof Name) gen.if(_`${props} === undefined`, () => gen.assign(props, _`{}`))
}
