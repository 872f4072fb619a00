/**
 * The client's wire types against the OpenAPI document: the compiler is asked whether each of them, spelled as the service does, is the
 * very type that the schema means. Then it is asked the same of every schema with one thing changed, and must say no: a check that overlooks a
 * field would show there.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FREE_FIELDS, fromWire, toWire } from '../../client/src/spelling.ts'
import { ROOT } from '../architecture/source-tree.ts'
import type { Schema } from '../crd/typescript.ts'
import { bodiesOf, isFree, KNOWN, type OpenApi, operationsOf, schemasOf, withoutNames } from './wire-source.ts'

type Json = Readonly<Record<string, unknown>>

// The document is ours, and the service's own tests hold its answers against it.
const document = withoutNames(JSON.parse(await readFile(join(ROOT, 'api/openapi.json'), 'utf8')) as OpenApi)
const operations = operationsOf(document)

describe.for(operations)('$name', ({ name, operation }) => {
  test('is known to the client, with all that is sent and comes back', () => {
    expect(Object.keys(schemasOf(operation))).toEqual(Object.keys(KNOWN[name]?.types ?? {}))
  })

  test('has the parameters that the client can name', () => {
    expect((operation.parameters ?? []).map((parameter) => `${parameter.in} ${parameter.name}`)).toEqual(
      KNOWN[name]?.names,
    )
  })
})

test('the client knows of no operation that there is not', () => {
  const names = operations.map(({ name }) => name)
  const missing = Object.keys(KNOWN).filter((name) => !names.includes(name))
  // Those of deliveries are described all together, by the first version of the service that has them.
  const isBefore = !names.some((name) => name.includes('deliveries'))
  expect(missing.filter((name) => !(isBefore && name.includes('deliveries')))).toEqual([])
})

describe('the wire types', () => {
  const pairs = Object.entries(bodiesOf(document)).map(([type, schema]) => ({ type, schema }))

  test('are what the document says', async () => {
    const claims = pairs.flatMap(({ type, schema }) => [
      { label: type, type: `Wire<wire.${type}>`, schema, isEqual: true },
      // Each field by itself, too, so that the one that is at fault is named.
      ...Object.keys(propertiesOf(schema)).map((field) => ({
        label: `${type}.${field}`,
        type: `Field<Wire<wire.${type}>, '${field}'>`,
        schema: { ...schema, properties: pick(propertiesOf(schema), field), required: pick(schema['required'], field) },
        isEqual: true,
      })),
    ])
    expect(await refuted(claims)).toEqual([])
  })

  test('are no longer what a document says in which one thing is another', async () => {
    const claims = pairs.flatMap(({ type, schema }) =>
      changesOf(schema).map(({ label, changed }) => {
        return { label: `${type}${label}`, type: `Wire<wire.${type}>`, schema: changed, isEqual: false }
      }),
    )
    expect(claims.length).toBeGreaterThan(100)
    expect(await refuted(claims)).toEqual([])
  })
})

test('the events of webhooks have the fields that the document says', async () => {
  const { WebhookBody, BatchWebhookBody, TestEventBody } = document.components.schemas
  const bodies = {
    'webhook.SucceededBody | webhook.FailedBody': WebhookBody,
    'webhook.BatchEndedBody': BatchWebhookBody,
    'webhook.TestBody': TestEventBody,
  }
  const claims = Object.entries(bodies).flatMap(([body, { properties = {} }]) =>
    Object.entries(properties).map(([field, schema]) => ({
      label: `${field} of ${body}`,
      type: `{ ${field}: BodyField<'${field}', ${body}> }`,
      schema: { type: 'object', additionalProperties: false, required: [field], properties: { [field]: schema } },
      isEqual: true,
    })),
  )
  expect(claims.length).toBeGreaterThan(15)
  expect(await refuted(claims)).toEqual([])
})

describe('the spelling of the client', () => {
  const { WebhookBody, BatchWebhookBody, TestEventBody } = document.components.schemas
  const bodies = [...Object.values(bodiesOf(document)), WebhookBody, BatchWebhookBody, TestEventBody]
  const fields = bodies.flatMap(fieldsOf)
  const names = (of: (schema: Schema) => boolean) => {
    return [...new Set(fields.flatMap(([name, schema]) => (of(schema) ? [name] : [])))].toSorted()
  }

  test('leaves what callers and templates name as it is, and nothing else', () => {
    const free = names(isFree)
    expect(free).toEqual(Object.keys(toWire(Object.fromEntries(FREE_FIELDS.map((name) => [name, 1])))).toSorted())
    expect(names((schema) => !isFree(schema)).filter((name) => free.includes(name))).toEqual([])
  })

  test('has one name for each field, which is in camel case', () => {
    const wire = names(() => true)
    const ours = wire.map((name) => Object.keys(fromWire<Record<string, number>>({ [name]: 1 }))[0] ?? '')
    expect(ours.filter((name) => !/^[a-z]+([A-Z][a-z]+)*$/.test(name))).toEqual([])
    expect(new Set(ours).size).toBe(wire.length)
    expect(ours.map((name) => Object.keys(toWire({ [name]: 1 }))[0])).toEqual(wire)
  })
})

function fieldsOf({ properties = {}, items, anyOf = [] }: Schema): readonly (readonly [string, Schema])[] {
  const inner = [...Object.values(properties), ...(items ? [items] : []), ...anyOf]
  return [...Object.entries(properties), ...inner.flatMap(fieldsOf)]
}

function propertiesOf(schema: Json): Json {
  const { properties } = schema
  return isRecord(properties) ? properties : {}
}

function pick(value: unknown, field: string): Json | string[] {
  if (Array.isArray(value)) return value.includes(field) ? [field] : []
  return isRecord(value) ? { [field]: value[field] } : []
}

interface Changed {
  readonly label: string
  readonly changed: Json
}

/** A schema with one thing changed, for every thing that can be: a field gone, renamed, of another type, no longer or newly required; a word less or more. */
function changesOf(schema: Json): readonly Changed[] {
  const { items, anyOf, required = [] } = schema
  const properties = propertiesOf(schema)
  const names: readonly unknown[] = Array.isArray(required) ? required : []
  const words: readonly unknown[] = Array.isArray(schema['enum']) ? schema['enum'] : []
  return [
    ...(words.length > 0 ? [{ label: ' with a word more', changed: { ...schema, enum: [...words, 'more'] } }] : []),
    ...words.map((word) => ({
      label: ` without the word ${String(word)}`,
      changed: { ...schema, enum: words.filter((other) => other !== word) },
    })),
    ...Object.entries(properties).flatMap(([field, value]) => {
      const { [field]: _, ...others } = properties
      const isRequired = names.includes(field)
      const without = names.filter((name) => name !== field)
      const renamed = isRequired ? [...without, `${field}_2`] : names
      const type = isRecord(value) && value['type'] === 'boolean' ? 'null' : 'boolean'
      return [
        { label: `.${field} gone`, changed: { ...schema, properties: others, required: without } },
        {
          label: `.${field} renamed`,
          changed: { ...schema, properties: { ...others, [`${field}_2`]: value }, required: renamed },
        },
        {
          label: `.${field} of another type`,
          changed: { ...schema, properties: { ...properties, [field]: { type } } },
        },
        {
          label: isRequired ? `.${field} not required` : `.${field} required`,
          changed: { ...schema, required: isRequired ? without : [...names, field] },
        },
        ...within(value, `.${field}`, (changed) => ({ ...schema, properties: { ...properties, [field]: changed } })),
      ]
    }),
    ...within(items, '[]', (changed) => ({ ...schema, items: changed })),
    ...(Array.isArray(anyOf) ? anyOf : []).flatMap((one: unknown, at, all: readonly unknown[]) =>
      within(one, ` or ${at}`, (changed) => ({ ...schema, anyOf: all.with(at, changed) })),
    ),
  ]
}

function within(inner: unknown, place: string, rebuild: (changed: Json) => Json): readonly Changed[] {
  if (!isRecord(inner)) return []
  return changesOf(inner).map(({ label, changed }) => ({ label: `${place}${label}`, changed: rebuild(changed) }))
}

interface Claim {
  readonly label: string
  readonly type: string
  readonly schema: Json
  readonly isEqual: boolean
}

const HEAD = `
import type { FromSchema } from 'json-schema-to-ts'
import type { Wire } from '../../client/src/spelling.ts'
import type * as webhook from '../../client/src/webhook/event.ts'
import type * as wire from '../../client/src/wire.ts'
// The room for texts to come is not in the schema.
type Known<T> = Same<T, string & {}> extends true ? never : T
type Plain<T> = T extends string ? Known<T> : T extends readonly (infer U)[] ? Plain<U>[] : T extends object ? { -readonly [K in keyof T]: Plain<T[K]> } : T
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Equal<A, B> = Same<Plain<A>, Plain<B>>
type FieldIn<K, B> = B extends unknown ? (K extends keyof B ? Exclude<B[K], undefined> : never) : never
export type BodyField<K, Body> = FieldIn<K, Wire<Body>>
export type Field<T, K extends string> = K extends keyof T ? Pick<T, K> : never
`

/** The labels of the claims that the compiler does not agree with. */
async function refuted(claims: readonly Claim[]): Promise<readonly string[]> {
  const lines = claims.map(({ type, schema, isEqual }, at) => {
    const literal = JSON.stringify(schema)
    return `const s${at} = ${literal} as const; export const c${at}: Equal<FromSchema<typeof s${at}>, ${type}> = ${isEqual}`
  })
  await mkdir(join(ROOT, 'out'), { recursive: true })
  await using temporary = await mkdtempDisposable(join(ROOT, 'out/wire-'))
  const folder = temporary.path
  await writeFile(join(folder, 'claim.ts'), HEAD + lines.join('\n'))
  await writeFile(
    join(folder, 'tsconfig.json'),
    '{ "extends": "../../tsconfig.json", "compilerOptions": { "noUnusedLocals": false }, "include": ["claim.ts"] }',
  )
  const output = await compilerOutput(folder)
  const first = HEAD.split('\n').length
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => claims[Number(/claim\.ts\((\d+),/.exec(line)?.[1]) - first]?.label ?? line)
}

function compilerOutput(project: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    execFile(process.execPath, [tsc, '--project', project, '--pretty', 'false'], (error, stdout, stderr) => {
      // It says on standard output what is wrong with the code, and on the other what is wrong with itself.
      if (error !== null && stdout === '') reject(new Error(stderr, { cause: error }))
      else resolve(stdout)
    })
  })
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
