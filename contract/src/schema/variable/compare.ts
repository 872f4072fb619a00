/** Keywords that compare whole values, in linear time and without calling methods that the data may contain. */

import { isJsonObject, type Json, type JsonObject } from '@platen/lib/brand.ts'
import { _ } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { FAULT_STEPS, type Steps, type Weight } from './budget.ts'

/** ajv compares each item of `uniqueItems` with each other. */
export function compareByText(ajv: Ajv2020, steps: Steps): void {
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not have the same item twice' },
    validate(isWanted: boolean, items: readonly Json[]) {
      if (!isWanted) return true
      const texts = new Set<string>()
      for (const item of items) {
        const text = canonicalText(item)
        steps.spend(2 * text.length)
        texts.add(text)
      }
      return texts.size === items.length
    },
  })
}

function canonicalText(value: Json): string {
  return JSON.stringify(value, (_name, field: unknown) =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([one], [other]) => (one < other ? -1 : 1)))
      : field,
  )
}

/** Compares fields only. ajv takes a `toString` or `constructor` in the data for its own methods, and calls them. */
export function compareByValue(ajv: Ajv2020, steps: Steps, weight: Weight): void {
  const comparing = (keyword: string, valuesOf: (schema: Json) => readonly Json[]) => ({
    compile(schema: Json) {
      weight.add(COMPARING_WEIGHT)
      const [values, entries] = [valuesOf(schema), entriesIn(schema)]
      return (data: Json) => {
        steps.spend(entries + FAULT_STEPS)
        return values.some((value) => isSame(value, data))
      }
    },
    keyword,
  })
  for (const keyword of ['const', 'enum']) ajv.removeKeyword(keyword)
  ajv.addKeyword({ ...comparing('const', (schema) => [schema]), error: { message: 'must be equal to constant' } })
  ajv.addKeyword({
    // The schema is valid, so this is a list.
    ...comparing('enum', (schema) => schema as readonly Json[]),
    error: {
      message: 'must be equal to one of the allowed values',
      params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`,
    },
  })
}

const COMPARING_WEIGHT = 3

/** Recurses no deeper than a schema may nest. Copies nothing, so that an entry costs no more than a step is worth. */
function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && other.every((value, at) => isSame(one[at], value))
  return isJsonObject(one) && isJsonObject(other) && hasSameFields(one, other)
}

function hasSameFields(one: JsonObject, other: JsonObject): boolean {
  const names = Object.keys(other)
  if (Object.keys(one).length !== names.length) return false
  return names.every((name) => Object.hasOwn(one, name) && isSame(one[name], other[name]))
}

function entriesIn(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, each) => sum + entriesIn(each), 1)
}
