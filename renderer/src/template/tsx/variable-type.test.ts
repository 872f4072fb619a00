import type { JsonObject } from '@platen/lib/brand.ts'
import { expect, test } from 'vitest'
import { openCompiler, ts } from './compiler.ts'
import { declarationOf } from './variable-type.ts'

const compile = openCompiler()

/** The type of the data as the compiler understands it. */
function typeOf(schema: JsonObject): string {
  const template = 'declare const data: PlatenData.Props["data"]; export default data'
  const { file, checker } = compile({ template, data: declarationOf(schema), isNullStrict: true })
  const [exported] = checker.getExportsOfModule(checker.getSymbolAtLocation(file) ?? failed('no module'))
  const type = checker.getTypeOfSymbol(exported ?? failed('no export'))
  return checker
    .typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias)
    .replaceAll(/\s+/g, ' ')
}

function failed(reason: string): never {
  throw new Error(reason)
}

/** The type of one variable of any schema. */
const typeOfVariable = (schema: JsonObject) =>
  /^\{ v: (.*?);? \}$/.exec(
    typeOf({ type: 'object', additionalProperties: false, required: ['v'], properties: { v: schema } }),
  )?.[1]

test.for([
  [{ type: 'string', format: 'date' }, 'string'],
  [{ type: 'integer', minimum: 1 }, 'number'],
  [{ type: ['boolean', 'null'] }, 'boolean | null'],
  [{ type: 'string', enum: ['a', 'b"\n'] }, '"a" | "b\\"\\n"'],
  [{ const: 1 }, '1'],
  [{ enum: [{ a: 1 }, 'b'] }, 'any'],
  [{ type: 'array' }, 'any[]'],
  [{ type: 'array', items: { type: 'number' } }, 'number[]'],
  [{ items: { type: 'number' } }, 'number[]'],
  [{ prefixItems: [{ type: 'number' }], items: false }, '[(number | undefined)?]'],
  [{ prefixItems: [{ type: 'number' }], items: { type: 'string' } }, '[(number | undefined)?, ...string[]]'],
  [{ type: 'object' }, '{ [name: string]: any; }'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, '{ [name: string]: number; }'],
  [{ properties: { a: { type: 'number' } }, additionalProperties: false, required: ['a'] }, '{ a: number; }'],
  [{ properties: { 'a-b': {} }, additionalProperties: false }, '{ "a-b"?: any; }'],
  [
    { properties: { a: {} }, patternProperties: { '^x': {} }, additionalProperties: false },
    '{ [name: string]: any; a?: any; }',
  ],
  [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'],
  [{ type: 'string', anyOf: [{ minLength: 1 }, { pattern: 'a' }] }, 'string'],
  [{ allOf: [{ properties: { a: {} } }, { $ref: '#/properties/v' }] }, 'any'],
  [{}, 'any'],
  [{ not: { type: 'string' } }, 'any'],
  [{ $ref: 'https://example.com/other.json' }, 'any'],
  [{ $ref: '#anchor' }, 'any'],
  [{ $ref: '#/$defs/absent' }, 'any'],
] as const)('%j is %s', ([schema, type]) => {
  expect(typeOfVariable(schema)).toBe(type)
})

test('a schema may refer to itself', () => {
  const tree = {
    type: 'object',
    additionalProperties: false,
    properties: { up: { $ref: '#' }, all: { items: { $ref: '#' } } },
  }
  expect(typeOf(tree)).toBe('{ up?: Type0 | undefined; all?: Type0[] | undefined; }')
})

test('references to what they are in themselves are nothing', () => {
  const circle = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } } }
  expect(typeOf(circle)).toBe('any')
})

test('a nested $id changes what references mean, so they say nothing', () => {
  const schema = { properties: { a: { $id: 'https://a.test/', $ref: '#/$defs/b' } }, $defs: { b: { type: 'string' } } }
  expect(typeOf(schema)).toBe('{ [name: string]: any; a?: any; }')
})

test('unions that would multiply say nothing', () => {
  const union = { anyOf: Array.from({ length: 20 }, (_, at) => ({ type: 'object', properties: { [`a${at}`]: {} } })) }
  expect(typeOf({ type: 'object', allOf: [union, union, union, union, union] })).toBe('any')
})

test('the text is bounded, however often a schema refers into its own depths', () => {
  let deep: JsonObject = { type: 'string' }
  for (let depth = 0; depth < 40; depth += 1)
    deep = { type: 'object', properties: { a: deep, b: { enum: ['x'.repeat(100)] } } }
  const pointers = Array.from({ length: 40 }, (_, depth) => `#${'/properties/a'.repeat(depth)}`)
  const schema = { ...deep, allOf: pointers.map(($ref) => ({ $ref })) }
  expect(declarationOf(schema).length).toBeLessThan(40 * JSON.stringify(schema).length)
})
