/** The definitions hold together, and what the contract has of them is made from them. */
import { ERASURE_RENDERS_MAX } from '@platen/contract/domain/erasure.ts'
import { TEMPLATE_CODE_CHARS_MAX, TEMPLATE_SOURCE_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import {
  ENGINES,
  renderOptionsOf,
  renderOptionsSchema,
  templateOptionsSchema,
} from '@platen/contract/domain/render-options.ts'
import { ENGINE_VALUES, ENVIRONMENT_VALUES, FONT_STYLE_VALUES } from '@platen/contract/domain/resource-value.ts'
import { API_KEYS_MAX, DEFAULT_LIMITS, REQUEST_DATA } from '@platen/contract/domain/tenant.ts'
import { TEMPLATE_CODE_PATTERN } from '@platen/contract/schema/render-request.ts'
import { describe, expect, test } from 'vitest'
import { type CrdSchema, DEFINITIONS, fieldsOf, readDefinition } from './crd/definition.ts'
import { definitionText } from './crd/made.ts'
import { sourceOf } from './crd/source.ts'

/** Defaults that only `compile` applies: a rule refuses the one without html, and settings do not contain the others if nobody sets them. */
const UNFILLED = [
  `spec.htmlRateLimitPerMinute: ${DEFAULT_LIMITS.htmlRateLimitPerMinute}`,
  `spec.apiKeysMax: ${API_KEYS_MAX}`,
  `spec.requestData: ${REQUEST_DATA}`,
  'spec.strict: false',
]

const SETTINGS = ['Plan', 'Tenant', 'Template', 'ApiKey'] as const
const KINDS = [...SETTINGS, 'Erasure'] as const

describe.for(KINDS)('the definition of a %s', (kind) => {
  const { schema, status } = readDefinition(kind)
  // Of the metadata it may bound the name, and say nothing.
  const fields = fieldsOf(schema).filter(([place]) => !place.startsWith('metadata'))
  const places = (isMeant: (field: CrdSchema) => boolean) =>
    fields.filter(([, field]) => isMeant(field)).map(([place]) => place)

  test('is what the contract has of it', async () => {
    await expect(sourceOf(kind)).toMatchFileSnapshot(`../contract/src/domain/crd/${DEFINITIONS[kind]}.ts`)
  })

  test('explains every field in a statement', () => {
    const statement = /^(?!(What|When|Where|Whether|Which|Who|Whose|Why|How)\b)[A-Z][^?]*\.$/
    expect(places(({ description = '' }) => !statement.test(description))).toEqual([])
  })

  test('fills in the defaults that its descriptions name', () => {
    const described = fields.flatMap(([place, { description = '' }]) => {
      const [, value] = /Default is (\S+)\.$/.exec(description) ?? []
      return value === undefined ? [] : [`${place}: ${value}`]
    })
    const filled = fields
      .filter(([place]) => place !== 'status')
      .flatMap(([place, field]) => ('default' in field ? [`${place}: ${String(field['default'])}`] : []))
    expect(described.filter((each) => !UNFILLED.includes(each))).toEqual(filled)
  })

  test('begins with a status that kstatus takes for unfinished', () => {
    expect(status['default']).toEqual({ observedGeneration: -1 })
  })

  test('fills in nothing in a status or in overrides, which say what is set', () => {
    expect(places((field) => 'default' in field).filter((at) => /^status\.|overrides/.test(at))).toEqual([])
  })

  test('says of every rule what is wanted', () => {
    const rules = [schema, ...fields.map(([, field]) => field)].flatMap(
      (field) => field['x-kubernetes-validations'] ?? [],
    )
    expect(rules.filter(({ message = '' }) => message === '')).toEqual([])
  })

  test('has the conditions that all of them have', () => {
    const described = (of: CrdSchema) => ({ ...of.properties?.['conditions'], description: '' })
    expect(described(status)).toEqual(described(readDefinition('Plan').status))
    expect(status.properties?.['conditions']?.description).toContain('Reconciling')
  })
})

test.for(SETTINGS)('the conditions of a %s say whether it is propagated', (kind) => {
  expect(readDefinition(kind).status.properties?.['conditions']?.description).toContain('Propagated')
})

test('an Erasure lists as many renders as an order may', () => {
  expect(readDefinition('Erasure').spec.properties?.['renders']?.['maxItems']).toBe(ERASURE_RENDERS_MAX)
})

describe('what is said in several places is the same', () => {
  test.for(['Tenant', 'Template'] as const)(
    'the parts of a %s that are made, and what they are made from',
    async (kind) => {
      await expect(definitionText(kind)).toMatchFileSnapshot(`../crds/${DEFINITIONS[kind]}.yaml`)
    },
  )

  test('the limits that a tenant overrides and those in its status', () => {
    const { spec, status } = readDefinition('Tenant')
    expect(status.properties?.['effective']?.properties).toEqual(spec.properties?.['overrides']?.properties)
  })

  test('the fields of a template and those of a request', () => {
    const { code, reactPdf } = readDefinition('Template').spec.properties ?? {}
    expect(code).toMatchObject({ pattern: TEMPLATE_CODE_PATTERN, maxLength: TEMPLATE_CODE_CHARS_MAX })
    expect(reactPdf?.properties?.['source']?.properties?.['inline']?.['maxLength']).toBe(TEMPLATE_SOURCE_BYTES_MAX)
  })

  test('the values of a resource, and those of a request that they stand for', () => {
    const { engine, fonts } = readDefinition('Template').spec.properties ?? {}
    const { environment } = readDefinition('ApiKey').spec.properties ?? {}
    expect(engine?.enum).toEqual(Object.keys(ENGINE_VALUES))
    expect(Object.values(ENGINE_VALUES)).toEqual(ENGINES)
    expect(fonts?.items?.properties?.['style']?.enum).toEqual(Object.keys(FONT_STYLE_VALUES))
    expect(environment?.enum).toEqual(Object.keys(ENVIRONMENT_VALUES))
  })

  test('the options of a template, and those of a request that they stand for', () => {
    const { pageSize, orientation } = templateOptionsSchema.properties
    const { page_size, orientation: requested } = renderOptionsSchema.properties
    const [named, own] = pageSize.anyOf
    expect(own).toBe(page_size.anyOf[1])
    expect(named.enum.map((name) => renderOptionsOf({ pageSize: name }))).toEqual(
      page_size.anyOf[0].enum.map((name) => ({ page_size: name })),
    )
    expect(orientation.enum.map((name) => renderOptionsOf({ orientation: name }))).toEqual(
      requested.enum.map((name) => ({ orientation: name })),
    )
    const rest = { margin: { top: '12mm' }, pageSize: { width: 300, height: 400 } }
    expect(renderOptionsOf(rest)).toEqual({ margin: rest.margin, page_size: rest.pageSize })
  })
})
