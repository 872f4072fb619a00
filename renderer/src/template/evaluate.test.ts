import type { RenderOptions } from '@platen/contract/domain/render-options.ts'
import type { Json, JsonObject } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { type Evaluation, type EvaluationInput, openSandbox } from './evaluate.ts'
import { transpile } from './tsx/transpile.ts'

const evaluate = await openSandbox()

/** Far more than any test needs, and still a fraction of a second. */
const INTERRUPTS_MAX = 5000

function run(source: string, input: Partial<EvaluationInput> = {}): Promise<Evaluation> {
  return evaluate(transpile(source), { data: '{}', options: {}, interruptsMax: INTERRUPTS_MAX, ...input })
}

/** The value of an expression in a template. */
async function valueOf(expression: string, data: JsonObject = {}): Promise<Json> {
  const { nodes } = await run(`export default ({ data }) => String(${expression})`, { data: JSON.stringify(data) })
  return nodes
}

describe('a component', () => {
  test.for([
    ['strings and numbers, each by itself', '<Text>{1} and {"two"}</Text>', ['1', ' and ', 'two']],
    ['nothing for null, undefined and booleans', '<Text>{null}{undefined}{true}{false}</Text>', []],
    ['the entries of lists and fragments', '<Text><>{["a", ["b"]]}</>c</Text>', ['a', 'b', 'c']],
    ['the entries of sets', '<Text>{new Set(["a", "b"])}</Text>', ['a', 'b']],
  ] as const)('gives %s', async ([, jsx, children]) => {
    const { nodes } = await run(`import { Text } from '@react-pdf/renderer'\nexport default () => ${jsx}`)
    expect(nodes).toEqual([{ type: 'Text', props: {}, children, line: 2 }])
  })

  test('is expanded with those it uses, whichever way React is imported', async () => {
    const { nodes } = await run(
      `
      import React, { Fragment, memo, Children } from 'react'
      import * as PDF from '@react-pdf/renderer'
      const Row = memo(({ label, children }) => React.createElement(PDF.View, { id: label }, children, Children.count(children)))
      export default ({ data }) => <Fragment>{data.rows.map((row) => <Row key={row} label={row}>text</Row>)}</Fragment>`,
      { data: '{"rows":["a","b"]}' },
    )
    expect(nodes).toEqual([
      { type: 'View', props: { id: 'a' }, children: ['text', '1'] },
      { type: 'View', props: { id: 'b' }, children: ['text', '1'] },
    ])
  })

  test('sees data and options', async () => {
    const source = 'export default ({ data, options }) => `${data.total} on ${options.page_size}`'
    expect((await run(source, { data: '{"total":3}', options: { page_size: 'A5' } })).nodes).toEqual(['3 on A5'])
  })

  test('has its render functions called later, any number of times', async () => {
    const { nodes, call } = await run(`
      import { Text } from '@react-pdf/renderer'
      export default () => <Text render={({ pageNumber, totalPages }) => \`\${pageNumber} of \${totalPages}\`} />`)
    expect(nodes).toMatchObject([{ render: 0 }])
    expect([call(0, { pageNumber: 1, totalPages: 2 }), call(0, { pageNumber: 2, totalPages: 2 })]).toEqual([
      ['1 of 2'],
      ['2 of 2'],
    ])
  })

  test('is only loaded when there is no data', async () => {
    const source = 'export default ({ data }) => data.deep.down'
    expect((await run(source, { data: undefined })).nodes).toEqual([])
  })
})

describe('a template that is wrong', () => {
  test.for([
    ['throws', 'export default () => {\n  throw new Error("no rows")\n}', 'template.tsx:2:18: Error: no rows'],
    ['throws no error', 'throw "plain"', 'template.tsx: Error: plain'],
    [
      'reads a field of nothing',
      'export default ({ data }) =>\n  data.customer.name',
      "template.tsx:2:16: TypeError: cannot read property 'name' of undefined",
    ],
    [
      'imports a module',
      "\nimport fs from 'node:fs'\nexport default () => fs.x",
      'template.tsx:2:1: cannot import "node:fs": a template imports from react, @react-pdf/renderer and @platen/template only',
    ],
    [
      'imports a hook',
      "import { useState } from 'react'\nexport default () => useState(1)",
      'template.tsx:2:22: useState is not available: a template is laid out once',
    ],
    [
      'registers a font',
      "import { Font } from '@react-pdf/renderer'\nFont.register({})",
      "template.tsx:2:5: Font.register is not available: fonts are declared in the template's fonts",
    ],
    [
      'has no component',
      'export const Invoice = () => null',
      'template.tsx: the template has no component as its default export',
    ],
    [
      'uses a component it has not',
      'const Row = undefined\nexport default () => (\n  <Row />\n)',
      'template.tsx:3: an element has no type: is its component imported, and exported where it is defined?',
    ],
    [
      'is asynchronous',
      'export default async () => null',
      'template.tsx: a component cannot be asynchronous: pass what it waits for in the data',
    ],
    [
      'has an object as a child',
      'export default ({ data }) => data',
      'template.tsx: an object is not a child: write one of its fields',
    ],
    [
      'hands on a function',
      "import { Text } from '@react-pdf/renderer'\nexport default () => <Text onClick={() => 1} />",
      'template.tsx:2:28: <Text onClick>: only render can be a function',
    ],
    [
      'has a class for a component',
      'class A { render() {} }\nexport default () => <A />',
      'template.tsx:2:22: class components are not available: write a function',
    ],
    [
      'calls a function without end',
      'const f = () => f() + 1\nexport default f',
      'template.tsx: the template recursed too deeply for a stack of 1 MiB (does a component return itself?)',
    ],
    [
      'returns itself',
      'const A = () => <A />\nexport default A',
      'template.tsx: the template recursed too deeply for a stack of 1 MiB (does a component return itself?)',
    ],
    ['computes without end', 'for (;;);', 'template.tsx: the template ran too long'],
    ['backtracks without end', '/^(a+)+$/.test("a".repeat(60) + "b")', 'template.tsx: the template ran too long'],
    ['throws nothing at all', 'throw null', 'template.tsx: Error: null'],
    ['throws no error but an object', 'throw { message: "boo" }', 'template.tsx: Error: boo'],
    ['throws what cannot be read', 'throw { get message() { throw 1 } }', 'template.tsx: Error: '],
  ] as const)('is told where when it %s', async ([, source, message]) => {
    await expect(run(source)).rejects.toMatchObject({
      code: 'template_error',
      message: expect.stringContaining(message),
    })
  })

  test.for([
    ['data.x.foo()', 'data.x.foo is not a function'],
    ['data.x?.foo(1)', 'data.x?.foo is not a function'],
    ['data.x\n  .foo(1)', 'data.x.foo is not a function'],
    ['data.list.map((each: any) => each.total())', 'each.total is not a function'],
    ['data.list[0].total()', 'data.list[0].total is not a function'],
    ['[1].map(data.x)', 'what map gets is not a function'],
    ["new (Intl as any).DurationFormat('en')", 'Intl.DurationFormat is not available'],
    ["(globalThis as any).btoa('x')", 'globalThis.btoa is not available'],
    ['structuredClone({})', "'structuredClone' is not defined"],
    ["new URL('https://example.com')", "'URL' is not defined"],
    ["data['a b']()", 'not a function'],
  ] as const)('is told what is missing: %s', async ([expression, message]) => {
    const source = `export default ({ data }: any) =>\n  ${expression}`
    const failed = run(source, { data: '{"x":{},"list":[{}]}' })
    await expect(failed).rejects.toThrow(/^template\.tsx:[23]:\d+: (?:Type|Reference)Error: /)
    await expect(failed).rejects.toThrow(message)
  })

  test.for([
    ["{ message: 'x'.repeat(2e7), name: 'y' }", /^template\.tsx: y: \(a text of more than 100000 characters\)$/],
    ["{ message: 'x'.repeat(90000), name: 'y' }", /^template\.tsx: y: x{900,990}$/],
    ["{ message: { toString: () => 'x'.repeat(2e7) } }", /^template\.tsx: Error: \(an object\)$/],
    [
      "{ isFault: true, message: 'a', wrong: 'b', known: 'c', rest: 'x'.repeat(2e7) }",
      /^template\.tsx: a\(a text of more/,
    ],
    ["{ isFault: true, message: 'a', wrong: 'b', known: { toString: () => 'x'.repeat(2e7) } }", /^template\.tsx: a/],
    ["{ isFault: true, message: 'a', line: '9'.repeat(90) }", /^template\.tsx: a$/],
    ["'x'.repeat(2e7)", /^template\.tsx: Error: \(a text of more/],
    ['7n ** 100000n', /^template\.tsx: Error: \(a bigint\)$/],
    ['() => 1', /^template\.tsx: Error: \(a function\)$/],
    [
      "Object.assign(new TypeError('not a function'), { stack: 'at template.tsx:99999999:1' })",
      /TypeError: not a function$/,
    ],
  ] as const)('is told of what it throws, read no further than it is short: %s', async ([thrown, message]) => {
    await expect(run(`export default () => { throw ${thrown} }`)).rejects.toThrow(message)
  })

  test.for([
    ['one large buffer', 'new Uint8Array(2 ** 28)'],
    ['many small ones', 'const kept = []\nfor (;;) kept.push(new Uint8Array(2 ** 20))'],
    ['objects, to the last byte', 'let last\nfor (;;) last = { last }'],
  ] as const)('is ended at its memory limit with %s', async ([, source]) => {
    await expect(run(source)).rejects.toMatchObject({
      code: 'template_error',
      message: 'template.tsx: the template needs more than 256 MiB',
    })
  })
})

test('a tree too large to read is refused', async () => {
  const source = 'const words = "x".repeat(2 ** 20)\nexport default () => Array.from({ length: 64 }, () => words)'
  await expect(run(source)).rejects.toMatchObject({
    code: 'template_error',
    message: 'template.tsx: the element tree is larger than 64 MiB',
  })
})

describe('the sandbox', () => {
  test.for([
    'process',
    'require("fs")',
    'fetch',
    'WebAssembly',
    'performance',
    'console.table',
    'globalThis.std',
    'setTimeout',
  ])('has no %s', async (name) => {
    await expect(valueOf(`${name}.x`)).rejects.toMatchObject({ code: 'template_error' })
  })

  test('leaves the builtins of the service alone', async () => {
    await run('Object.prototype.polluted = 1; Array.prototype.map = null\nexport default () => "fine"')
    expect('polluted' in {}).toBe(false)
    expect([1].map((one) => one)).toEqual([1])
  })

  test('carries nothing from one evaluation to the next', async () => {
    const source = 'globalThis.count = (globalThis.count ?? 0) + 1\nexport default () => String(globalThis.count)'
    const program = transpile(source)
    await evaluate(program, { data: '{}', options: {} })
    expect((await evaluate(program, { data: '{}', options: {} })).nodes).toEqual(['1'])
  })

  test('carries nothing from one template to another, be the first still on its way', async () => {
    const sandbox = await openSandbox()
    const leaving = transpile('globalThis.secret = 1; String.prototype.trim = null\nexport default () => { for (;;); }')
    await expect(sandbox(leaving, { data: '{}', options: {}, interruptsMax: 10 })).rejects.toMatchObject({
      code: 'template_error',
    })
    const looking = transpile('export default () => typeof secret + " x ".trim()')
    expect((await sandbox(looking, { data: '{}', options: {} })).nodes).toEqual(['undefinedx'])
  })

  test('is over when the next begins', async () => {
    const program = transpile('export default () => "x"')
    const sandbox = await openSandbox()
    const { call } = await sandbox(program, { data: '{}', options: {} })
    await sandbox(program, { data: '{}', options: {} })
    expect(() => call(0, {})).toThrow('an evaluation ends with the next')
  })

  test('loads a template again for another locale', async () => {
    const sandbox = await openSandbox()
    const program = transpile('const half = (0.5).toLocaleString()\nexport default () => half')
    const written = async (locale: string) => (await sandbox(program, { data: '{}', options: {}, locale })).nodes
    expect([await written('en-US'), await written('pl-PL'), await written('en-US')]).toEqual([
      ['0.5'],
      ['0,5'],
      ['0.5'],
    ])
  })

  test('writes in the time zone of the options where none is named', async () => {
    const hour = "new Date(0).toLocaleTimeString('de', { hour: '2-digit', ZONE })"
    const program = transpile(
      `const loaded = ${hour.replace('ZONE', '')}\nexport default () => [loaded, ${hour.replace('ZONE', '')}, ${hour.replace('ZONE', "timeZone: 'UTC'")}].join()`,
    )
    const sandbox = await openSandbox()
    const written = async (options: RenderOptions) => (await sandbox(program, { data: '{}', options })).nodes
    expect(await written({})).toEqual(['00 Uhr,00 Uhr,00 Uhr'])
    expect(await written({ time_zone: 'Asia/Tokyo' })).toEqual(['09 Uhr,09 Uhr,00 Uhr'])
    expect(await written({})).toEqual(['00 Uhr,00 Uhr,00 Uhr'])
  })

  test('refuses an answer that a template has spoilt', async () => {
    const source = 'Array.prototype.toJSON = () => { throw new Error("spoilt") }\nexport default () => "x"'
    await expect(run(source)).rejects.toMatchObject({ code: 'template_error' })
  })
})
