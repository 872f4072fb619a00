/** docs/resources.md explains every field there is, as it is: its range, its default and every reason a condition can have. */
import { CONDITION_REASONS, CONDITION_TYPES } from '@platen/contract/domain/resource.ts'
import { SPEC_SCHEMAS } from '@platen/contract/domain/resource-spec.ts'
import { API_KEYS_MAX, DEFAULT_LIMITS, REQUEST_DATA } from '@platen/contract/domain/tenant.ts'
import { describe, expect, test } from 'vitest'
import { readText } from './architecture/source-tree.ts'
import { type CrdSchema, fieldsOf as definedFieldsOf, readDefinition } from './crd/definition.ts'

const FILE = 'docs/resources.md'
const COMMAND = 'written by `npx vitest run test/resources.test.ts -u`'

interface Row {
  readonly range: string
  readonly fallback: string
}

interface Field {
  readonly name: string
  readonly schema: Schema
  readonly isRequired: boolean
}

type Schema = Readonly<Record<string, unknown>>

const text = readText(FILE)
const kinds = ['Tenant', 'Template', 'ApiKey'] as const

/** Explained in one place for all of theirs: the limits of a plan, options and sources. */
const ELSEWHERE =
  /^overrides\.|^options\.|^(reactPdf\.source|html\.(template|header|footer))\.|^assets\.configMapKeyRef\./

describe.for(kinds)('of a %s', (kind) => {
  const rows = rowsOf(`## ${kind}`)
  const fields = fieldsOf(SPEC_SCHEMAS[kind]).filter(({ name }) => !ELSEWHERE.test(name))

  test('every field has a row, and every row a field', () => {
    expect([...rows.keys()].sort()).toEqual(fields.map(({ name }) => name).sort())
  })

  test('every field has the range it has', () => {
    const wrong = fields.flatMap(({ name, schema }) =>
      boundsOf(schema)
        .filter((spellings) => !spellings.some((spelling) => rows.get(name)?.range.includes(spelling)))
        .map(([spelling]) => `${name}: ${spelling}`),
    )
    expect(wrong).toEqual([])
  })

  test('every field that is required says so, and no other', () => {
    const listed = [...rows].filter(([, { fallback }]) => fallback === 'required').map(([name]) => name)
    expect(listed.sort()).toEqual(
      fields
        .filter(({ isRequired }) => isRequired)
        .map(({ name }) => name)
        .sort(),
    )
  })

  test('every field says what it is where nothing is said', () => {
    expect([...rows].filter(([, { fallback, range }]) => fallback === '' || range === '')).toEqual([])
  })
})

test.for(kinds)('the row of a field of a %s names its default', (kind) => {
  const rows = rowsOf(`## ${kind}`)
  const wrong = definedFieldsOf(readDefinition(kind).spec)
    .filter(([, field]) => 'default' in field)
    .map(([place, field]) => [place.replaceAll('[]', ''), String(field['default'])] as const)
    .filter(([name, value]) => rows.get(name)?.fallback !== value)
  expect(wrong).toEqual([])
})

test('the limits of a plan have the defaults they have', () => {
  const defaults = { ...DEFAULT_LIMITS, apiKeysMax: API_KEYS_MAX, requestData: REQUEST_DATA, strict: false }
  const values = Object.entries(defaults).filter(([, value]) => value !== undefined)
  const told = [...rowsOf('## Plan')].map(([name, { fallback }]) => [name, fallback])
  expect(told).toEqual(expect.arrayContaining(values.map(([name, value]) => [name, String(value)])))
  // The others follow another limit, or are unlimited.
  const names = new Set(values.map(([name]) => name))
  const others = told.filter(([name = '']) => !names.has(name))
  expect(others.filter(([, fallback = '']) => /^(\d|true|false)/.test(fallback))).toEqual([])
})

test('a source is explained as it is', () => {
  const { source } = SPEC_SCHEMAS.Template.properties.reactPdf.properties
  expect([...rowsOf('### Sources').keys()]).toEqual(fieldsOf(source).map(({ name }) => name))
})

test('every type of condition has a row', () => {
  const types = [...section('## Conditions').matchAll(/^\| `(\w+)` \|/gm)].map(([, type]) => type)
  expect(types.slice(0, CONDITION_TYPES.length)).toEqual(CONDITION_TYPES)
})

test('what follows from definitions and reasons is written from them', async () => {
  const limits = definedFieldsOf(readDefinition('Plan').spec)
  const options = definedFieldsOf(readDefinition('Template').spec).filter(([name]) => name.startsWith('options.'))
  const parts = {
    limits: tableOf(['field', 'range', 'default', 'effect'], limits.map(rowOf)),
    options: tableOf(['field', 'range', 'default', 'effect'], options.map(rowOf)),
    reasons: tableOf(['reason', 'meaning'], Object.entries(CONDITION_REASONS)),
  }
  const written = Object.entries(parts).reduce((whole, [name, table]) => {
    const [begin, end] = [`<!-- ${name}: ${COMMAND} -->`, `<!-- end of ${name} -->`]
    const [before = '', rest = ''] = whole.split(begin)
    const [, after = ''] = rest.split(end)
    return `${before}${begin}\n\n${table}\n${end}${after}`
  }, text)
  await expect(written).toMatchFileSnapshot(`../${FILE}`)
})

/** The first cell of each row is a name. */
function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const named = rows.map(([name = '', ...cells]) => [`\`${name}\``, ...cells])
  return [head, head.map(() => '---'), ...named].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

function rowOf([name, schema]: readonly [string, CrdSchema]): readonly string[] {
  const { effect, fallback } = toldOf(schema)
  return [name, rangeOf(schema), fallback, effect]
}

/** What a description says of a field, and of its default. Names are set as code. */
function toldOf({ description = '' }: CrdSchema): { readonly effect: string; readonly fallback: string } {
  const told = description.replaceAll(/\b[a-z]+(?:[A-Z_][A-Za-z]*)+\b/g, '`$&`')
  const [effect = '', fallback] = told.split(/ ?Default is (?=[^.]*\.$)/)
  const [limited = '', unlimited] = effect.split(/ ?If absent, there is (?=[^.]*\.$)/)
  return { effect: limited, fallback: (fallback ?? unlimited)?.replace(/\.$/, '') ?? 'none' }
}

function rangeOf({ type, enum: values, minimum, maximum, maxLength }: CrdSchema): string {
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(', ')
  if (type === 'boolean') return 'true or false'
  if (maxLength !== undefined) return `at most ${spelt(maxLength)} characters`
  return minimum === undefined ? '' : `${spelt(minimum)} to ${spelt(maximum)}`
}

function spelt(value: unknown): string {
  return Number(value).toLocaleString('en')
}

/** What is under a heading, up to the next one. */
function section(heading: string): string {
  const [, after = ''] = text.split(`\n${heading}\n`)
  return after.split(/^#/m, 1)[0] ?? ''
}

function rowsOf(heading: string): ReadonlyMap<string, Row> {
  const cells = section(heading).matchAll(/^\| `([^`]+)` \| (.*?) ?\| (.*?) ?\| (.*?) ?\|$/gm)
  return new Map(
    [...cells].map(([, name = '', range = '', fallback = '']) => [
      name,
      { range, fallback: fallback.replaceAll('`', '') },
    ]),
  )
}

/** Every field below a schema, as `storage.prefix`; of a list, those of its items. */
function fieldsOf(schema: unknown, place = ''): readonly Field[] {
  if (!isSchema(schema)) return []
  if (Array.isArray(schema['anyOf'])) return schema['anyOf'].flatMap((branch) => fieldsOf(branch, place))
  if ('items' in schema) return fieldsOf(schema['items'], place)
  const properties = isSchema(schema['properties']) ? schema['properties'] : {}
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(properties).flatMap(([name, inner]) => [
    { name: `${place}${name}`, schema: isSchema(inner) ? inner : {}, isRequired: required.includes(name) },
    ...fieldsOf(inner, `${place}${name}.`),
  ])
}

/** What a range must tell of a schema, each in one of its spellings. */
function boundsOf(schema: Schema): readonly (readonly string[])[] {
  if (isSchema(schema['items'])) return [...boundsOf(schema['items']), ...boundsOf({ maximum: schema['maxItems'] })]
  const numbers = ['minimum', 'maximum', 'maxLength', 'minLength'].map((name) => schema[name])
  const values: readonly unknown[] = Array.isArray(schema['enum']) ? schema['enum'] : []
  return [
    // The name of another resource is as long as names are.
    ...numbers
      .filter((value) => typeof value === 'number' && value < Number.MAX_SAFE_INTEGER)
      .map((value) => spellings(Number(value))),
    ...values.map((value) => [`\`${String(value)}\``]),
    ...(schema['type'] === 'boolean' ? [['true or false']] : []),
  ]
}

function spellings(value: number): readonly string[] {
  return [spelt(value), ...(value >= 1024 && value % 1024 === 0 ? [`${value / 1024} KiB`] : [])]
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
