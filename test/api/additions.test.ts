/**
 * Additions break nobody: whatever a client of the version before sends is still accepted, and whatever it reads still comes. The OpenAPI
 * document of that version is held against the present one. After a release, its document takes the place of that in
 * test/scenario/upgrade.
 */
import { expect, test } from 'vitest'
import { readText } from '../architecture/source-tree.ts'
import { withoutNames } from '../client/wire-source.ts'

type Json = Readonly<Record<string, unknown>>

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly required?: boolean }[]
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Body & { readonly headers?: Json }>>
}
interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>
}

const documentOf = (path: string) => withoutNames(JSON.parse(readText(path))) as unknown as Document
const before = documentOf('test/scenario/upgrade/openapi.json')
const now = documentOf('api/openapi.json')

/** Fields whose values may become more, as docs/errors.md and docs/api.md say. */
const MAY_GROW = /\/(code|reason|event)$/

/** What a client of the version before would miss in an answer. */
function missingIn(old: Json, present: Json, place: string): readonly string[] {
  const gone = listOf(present['type']).filter((type) => !listOf(old['type']).includes(type))
  const values = listOf(present['enum']).filter((value) => !listOf(old['enum']).includes(value))
  const required = listOf(old['required']).filter((name) => !listOf(present['required']).includes(name))
  return [
    ...gone.map((type) => `${place} may be ${type}`),
    ...(old['enum'] === undefined || MAY_GROW.test(place) ? [] : values.map((value) => `${place} may be ${value}`)),
    ...required.map((name) => `${place}/${name} may be absent`),
    ...inside(old, present, place).flatMap(([one, other, at]) =>
      other === undefined ? [`${at} is gone`] : missingIn(one, other, at),
    ),
  ]
}

const BOUNDS = { maxLength: 1, maximum: 1, maxItems: 1, maxProperties: 1, minLength: -1, minimum: -1, minItems: -1 }

/** What a client of the version before may send and is refused now. */
function refusedIn(old: Json, present: Json, place: string): readonly string[] {
  const types = listOf(old['type']).filter((type) => present['type'] && !listOf(present['type']).includes(type))
  const values = listOf(old['enum']).filter((value) => present['enum'] && !listOf(present['enum']).includes(value))
  const required = listOf(present['required']).filter((name) => !listOf(old['required']).includes(name))
  const bounds = Object.entries(BOUNDS).filter(([name, sign]) => {
    const [was, is] = [old[name], present[name]]
    return typeof is === 'number' && (typeof was !== 'number' || (is - was) * sign < 0)
  })
  return [
    ...types.map((type) => `${place} may not be ${type}`),
    ...values.map((value) => `${place} may not be ${value}`),
    ...required.map((name) => `${place}/${name} is required`),
    ...bounds.map(([name]) => `${place} has another ${name}`),
    ...(present['pattern'] === undefined || present['pattern'] === old['pattern'] ? [] : [`${place} has a new form`]),
    ...inside(old, present, place).flatMap(([one, other, at]) =>
      other === undefined ? [`${at} is gone`] : refusedIn(one, other, at),
    ),
  ]
}

/** The schemas inside a schema, each with the present one in its place. */
function inside(old: Json, present: Json, place: string): readonly [Json, Json | undefined, string][] {
  const [ours, theirs] = [recordOf(old['properties']), recordOf(present['properties'])]
  const fields = Object.entries(ours).map(([name, each]) => [each, theirs[name], `${place}/${name}`] as const)
  const others = (present['anyOf'] ?? []) as readonly Json[]
  const forms = (old['anyOf'] ?? []) as readonly Json[]
  const branches = forms.map((each, at) => [each, others[at], `${place}/${at}`] as const)
  const items = old['items'] === undefined ? [] : [[old['items'], present['items'], `${place}/items`] as const]
  // The documents are ours, so these are schemas.
  return [...fields, ...branches, ...items] as [Json, Json | undefined, string][]
}

function listOf(value: unknown): readonly string[] {
  return value === undefined ? [] : (Array.isArray(value) ? value : [value]).map(String)
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

const operations = Object.entries(before.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, path, method, operation })),
)

test.for(operations)('$name takes and gives what it did', ({ path, method, operation }) => {
  const present = now.paths[path]?.[method]
  expect(present).toBeDefined()
  const nameOf = ({ in: place, name }: { readonly in: string; readonly name: string }) => `${place} ${name}`
  const named = (present?.parameters ?? []).map(nameOf)
  expect((operation.parameters ?? []).map(nameOf).filter((name) => !named.includes(name))).toEqual([])
  const demanded = (parameters: Operation['parameters']) =>
    (parameters ?? []).filter((each) => each.required).map(nameOf)
  expect(demanded(present?.parameters)).toEqual(demanded(operation.parameters))
  for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {}))
    expect(refusedIn(schema, present?.requestBody?.content?.[type]?.schema ?? {}, '')).toEqual([])
  // What stands beside the schema of a refusal only says which of its codes come with a status.
  const first = ({ allOf, ...schema }: Json): Json => (Array.isArray(allOf) ? allOf[0] : schema)
  for (const [status, answer] of Object.entries(operation.responses)) {
    const other = present?.responses[status]
    expect(other, status).toBeDefined()
    expect(Object.keys(other?.headers ?? {})).toEqual(expect.arrayContaining(Object.keys(answer.headers ?? {})))
    for (const [type, { schema }] of Object.entries(answer.content ?? {}))
      expect(missingIn(first(schema), other?.content?.[type]?.schema ?? {}, ''), status).toEqual([])
  }
})

test('what is taken away, demanded or changed is found', () => {
  const old = {
    type: 'object',
    required: ['a'],
    properties: { a: { type: 'string', maxLength: 9 }, b: { enum: ['x'] }, code: { enum: ['x'] } },
  }
  const other = {
    type: 'object',
    required: ['b'],
    properties: { b: { enum: ['y'] }, code: { enum: ['x', 'y'] }, c: { type: 'string' } },
  }
  expect(missingIn(old, other, '')).toEqual(['/a may be absent', '/a is gone', '/b may be y'])
  expect(refusedIn(old, other, '')).toEqual(['/b is required', '/a is gone', '/b may not be x'])
  const stricter = { ...old, properties: { ...old.properties, a: { type: 'integer', maxLength: 8, pattern: '^a' } } }
  expect(refusedIn(old, stricter, '')).toEqual([
    '/a may not be string',
    '/a has another maxLength',
    '/a has a new form',
  ])
  expect(missingIn(old, { ...old, type: ['object', 'null'] }, '')).toEqual([' may be null'])
})
