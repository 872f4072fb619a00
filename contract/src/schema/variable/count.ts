/** Makes ajv count its work: a weight for each keyword and reference it compiles, and steps for each keyword it checks. */
import { _, KeywordCxt, Name } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { FAULT_STEPS, type Steps, type Weight } from './budget.ts'

/** So many characters of a reference, or keywords at the top level, take as long as one keyword. */
const REFERENCE_CHARS = 200
const TOP_KEYWORDS = 64

/** ajv follows a reference to its end again from each place, and parses it at each step. */
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

/** Keywords whose check visits the items of a list, the names of an object or the characters of a text. */
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

/** As measured. Other keywords weigh 1, and their entries 0. */
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

/** The code of their lists is joined in quadratic time. At this length an item weighs twice as much. */
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
 * Gives every keyword a weight when it is compiled, and a cost before it is checked: a step for each of its entries in the schema, once per
 * pass over the data.
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

/** ajv sets the evaluated properties of earlier branches only if one of them fits, but then relies on them. */
function assignEvaluated({ gen, it: { props } }: KeywordCxt): void {
  if (props instanceof Name) gen.if(_`${props} === undefined`, () => gen.assign(props, _`{}`))
}
