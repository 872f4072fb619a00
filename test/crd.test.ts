/** The definitions of the four kinds hold together, and what the contract has of them is made from them. */
import { TEMPLATE_CODE_CHARS_MAX, TEMPLATE_SOURCE_BYTES_MAX } from '@platen/contract/limit.ts'
import { ENGINES } from '@platen/contract/render-options.ts'
import { renderOptionsSchema, TEMPLATE_CODE_PATTERN } from '@platen/contract/schema/render-request.ts'
import { DEFAULT_LIMITS } from '@platen/contract/tenant.ts'
import { describe, expect, test } from 'vitest'
import { type CrdSchema, DEFINITIONS, fieldsOf, readDefinition } from './crd/definition.ts'
import { sourceOf } from './crd/source.ts'

const KINDS = ['Plan', 'Tenant', 'Template', 'ApiKey'] as const

describe.for(KINDS)('the definition of a %s', (kind) => {
  const { schema, status } = readDefinition(kind)
  // Of the metadata it may bound the name, and say nothing.
  const fields = fieldsOf(schema).filter(([place]) => !place.startsWith('metadata'))
  const places = (isMeant: (field: CrdSchema) => boolean) =>
    fields.filter(([, field]) => isMeant(field)).map(([place]) => place)

  test('is what the contract has of it', async () => {
    await expect(sourceOf(kind)).toMatchFileSnapshot(`../contract/src/crd/${DEFINITIONS[kind]}.ts`)
  })

  test('explains every field in a sentence', () => {
    expect(places(({ description = '' }) => !/^[A-Z].*[.?]$/.test(description))).toEqual([])
  })

  test('has no default', () => {
    expect(places((field) => 'default' in field)).toEqual([])
  })

  test('says of every rule what is wanted', () => {
    const rules = [schema, ...fields.map(([, field]) => field)].flatMap(
      (field) => field['x-kubernetes-validations'] ?? [],
    )
    expect(rules.filter(({ message = '' }) => message === '')).toEqual([])
  })

  test('has the conditions that all of them have', () => {
    const told = (of: CrdSchema) => ({ ...of.properties?.['conditions'], description: '' })
    expect(told(status)).toEqual(told(readDefinition('Plan').status))
    expect(status.properties?.['conditions']?.description).toContain('Propagated')
  })
})

describe('what is said in several places is the same', () => {
  const bounds = ({ properties = {} }: CrdSchema, path: string) => {
    const limits = Object.entries(properties[path]?.properties ?? {})
    return Object.fromEntries(limits.map(([name, { description: _description, ...bound }]) => [name, bound]))
  }
  const { displayName: _displayName, ...limits } = bounds(readDefinition('Plan').schema, 'spec')

  test.for([
    ['overrides', readDefinition('Tenant').spec],
    ['effective', readDefinition('Tenant').status],
  ] as const)('the limits of a plan and %s', ([path, schema]) => {
    expect(bounds(schema, path)).toEqual(limits)
  })

  test('the limits of a plan and those that are in force where it says nothing', () => {
    expect(Object.keys(limits)).toEqual(expect.arrayContaining(Object.keys(DEFAULT_LIMITS)))
  })

  test('the fields of a template and those of a request', () => {
    const { code, engine, reactPdf, options } = readDefinition('Template').spec.properties ?? {}
    expect(code).toMatchObject({ pattern: TEMPLATE_CODE_PATTERN, maxLength: TEMPLATE_CODE_CHARS_MAX })
    expect(engine?.enum).toEqual(ENGINES)
    expect(reactPdf?.properties?.['source']?.properties?.['inline']?.['maxLength']).toBe(TEMPLATE_SOURCE_BYTES_MAX)
    const { page_size: size, orientation, margin, filename: _filename, ...rest } = renderOptionsSchema.properties
    expect(rest).toEqual({})
    expect(options?.properties).toMatchObject({
      page_size: {
        properties: {
          width: boundsOf(size.anyOf[1].properties.width),
          height: boundsOf(size.anyOf[1].properties.height),
        },
        anyOf: [{ enum: size.anyOf[0].enum }, { required: size.anyOf[1].required }],
      },
      orientation: { enum: orientation.enum },
      margin: {
        ...boundsOf(margin.anyOf[0]),
        properties: Object.fromEntries(
          Object.entries(margin.anyOf[1].properties).map(([side, length]) => [side, boundsOf(length)]),
        ),
      },
    })
  })
})

/** The bounds of a number, or of a text that stands for one, with digits spelt as the API server reads them too. */
function boundsOf(schema: { minimum: number; maximum: number; pattern?: string }): object {
  const { minimum, maximum, pattern } = schema
  return { minimum, maximum, ...(pattern !== undefined && { pattern: pattern.replaceAll('\\d', '[0-9]') }) }
}
