import type { JsonObject } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { openSandbox } from '../evaluate.ts'
import { openCompiler } from './compiler.ts'
import { transpile } from './transpile.ts'
import { openTypeCheck } from './type-check.ts'

const checkTypes = openTypeCheck()

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['total', 'lines', 'seller'],
  properties: {
    total: { type: 'number' },
    status: { enum: ['paid', 'due'] },
    seller: closed({ name: { type: 'string' } }),
    customer: closed({ name: { type: 'string' }, 'e-mail': { type: 'string' } }),
    lines: { type: 'array', items: { $ref: '#/$defs/line' } },
    note: { type: ['string', 'null'] },
    meta: { type: 'object', properties: { amount: { type: 'number' } } },
    rates: { type: 'object', additionalProperties: { type: 'number' } },
    payment: { oneOf: [closed({ iban: { type: 'string' } }), closed({ card: { type: 'string' } })] },
    tree: { $ref: '#/$defs/tree' },
  },
  $defs: {
    line: closed({ quantity: { type: 'integer' }, price: { type: 'number' } }),
    tree: closed({ children: { type: 'array', items: { $ref: '#/$defs/tree' } } }),
  },
} as const satisfies JsonObject

function closed(properties: JsonObject): JsonObject {
  return { type: 'object', additionalProperties: false, properties }
}

function check(source: string, schema: JsonObject = SCHEMA): readonly string[] {
  const found = findingsOf(source, schema)
  // A source that may name all of TypeScript's library is checked with all of it.
  expect(findingsOf(`${source}// globalThis`, schema)).toEqual(found)
  return found
}

function findingsOf(source: string, schema: JsonObject): readonly string[] {
  return checkTypes({ source, variablesSchema: schema, families: new Map(), isWarned: true }).map(
    ({ message, isWarning }) => `${isWarning ? 'warning: ' : ''}${message}`,
  )
}

const HEAD = `import React, { memo } from 'react'; import * as PDF from '@platen/template'
import { Document, Link, Page, Rect, StyleSheet, Svg, Text, View } from '@react-pdf/renderer'
export default function Invoice({ data, options }) {
`
/** What is found in a component with this body. It begins on line 4. */
const inBody = (body: string) => check(`${HEAD}${body}\n}`)
/** What is found in these children of a page, on line 4 from column 33 on. */
const inPage = (children: string) => inBody(`  return <Document><Page><View>${children}</View></Page></Document>`)

test('names the place of a variable that a closed schema does not have, and the one that was meant', () => {
  expect(inPage('<Text>{data.totla}</Text>')).toEqual([
    'template.tsx:4:44: data.totla: variablesSchema has no such variable (did you mean total?)',
  ])
})

describe('it is a fault to read', () => {
  test.for([
    ['an unknown variable of an object', '{data.seller.nam}', 'data.seller.nam: .* \\(did you mean name\\?\\)'],
    ['one by its name in brackets', "{data['totla']}", "data\\['totla'\\]: .* \\(did you mean total\\?\\)"],
    ['one of the items of a list', '{data.lines.map((line) => line.qantity)}', 'line.qantity: .*mean quantity'],
    [
      'one of a schema that refers to itself',
      '{data.tree.children[0].children[0].kids}',
      'kids: variablesSchema has no',
    ],
    ['one that no variant has', '{data.payment.swift}', 'data.payment.swift: variablesSchema has no'],
    ['one of an object that may be absent', '{data.customer?.nmae}', 'data.customer\\?.nmae: .*mean name'],
    ['a field of a number', '{data.total.amount}', 'data.total.amount: a number has no amount'],
    ['a list as if it had a field', '{data.lines.quantity}', 'data.lines.quantity: a list has no quantity'],
    ['a method by a wrong name', '{data.total.toFixd(2)}', 'a number has no toFixd \\(did you mean toFixed\\?\\)'],
    ['a length by a wrong name', '{data.lines.lenght}', 'a list has no lenght \\(did you mean length\\?\\)'],
    ['a variable as a function', '{data.total()}', 'data.total is not a function: it is a number'],
    ['an object as a child', '{data.seller}', 'an object is not a child'],
    ['a name that is not defined', '{formatMony(1)}', 'formatMony is not defined'],
    ['a name where another is near', '{optinos.locale}', 'optinos is not defined \\(did you mean options\\?\\)'],
    ['a component that is not imported', '<Image src="asset:a.png" />', 'Image is not defined'],
  ] as const)('%s', ([, child, message]) => {
    expect(inPage(`<Text>${child}</Text>`)).toEqual([
      expect.stringMatching(new RegExp(`^template\\.tsx:4:\\d+: .*${message}`)),
    ])
  })

  test('a variable that is taken out of its object', () => {
    expect(inBody('  const { totla, lines: [{ qantity }] } = data')).toEqual([
      'template.tsx:4:11: totla: variablesSchema has no such variable (did you mean total?)',
      'template.tsx:4:28: qantity: variablesSchema has no such variable (did you mean quantity?)',
    ])
    expect(check('export default ({ data: { totla } }) => totla')).toEqual([
      'template.tsx:1:27: totla: variablesSchema has no such variable (did you mean total?)',
    ])
  })
})

describe('it is a fault of an element', () => {
  test.for([
    ['to be none', '<div />', '<div> is not an element here'],
    [
      'to have an unknown prop',
      '<Text styl={{}}>a</Text>',
      '<Text styl>: there is no such prop \\(did you mean style\\?\\)',
    ],
    ['to have a refused prop', '<Text onRender={() => 1}>a</Text>', '<Text onRender>: nothing of the template runs'],
    ['to have a prop of another kind', '<View wrap="no" />', '<View wrap>: must be true or false'],
    ['to have an unknown style', '<View style={{ colour: "red" }} />', 'no style colour \\(did you mean color\\?\\)'],
    ['to be a code with an unknown prop', '<PDF.QrCode widht={1} />', '<QrCode widht>: .* \\(did you mean width\\?\\)'],
    ['to have a word for a choice', '<View style={{ flexDirection: "rows" }} />', 'must be one of row, .*mean row\\?'],
    ['to be aligned nowhere', '<Text style={{ textAlign: "centre" }}>a</Text>', 'textAlign must be .*mean center\\?'],
    [
      'to have a word for a size',
      '<Text style={{ fontSize: "big" }}>a</Text>',
      'fontSize must be a number or a length',
    ],
    [
      'to have a size without a form',
      '<View style={{ padding: "5 mm" }} />',
      'padding must be one or more of a number',
    ],
    ['to have a color of no name', '<Text style={{ color: "redd" }}>a</Text>', 'color must be a color .*mean red\\?'],
    ['to have text outside <Text>', '\n  hello', 'text must be inside <Text>'],
    [
      'to have a wrong style in a list',
      '<View style={[a, b && { margn: 1 }]} />',
      'no style margn \\(did you mean margin',
    ],
    [
      'to take one of two wrong values',
      '<View style={{ position: b ? "fixd" : "static" }} />',
      'position must be one of',
    ],
  ] as const)('%s', ([, element, message]) => {
    const body = `  const a = { margin: 1 }, b = data.total > 1\n  return <Document><Page><View>${element}</View></Page></Document>`
    expect(inBody(body)).toEqual([expect.stringMatching(new RegExp(`^template\\.tsx:[56]:\\d+: .*${message}`))])
  })

  test('to have a wrong style, where that is written and once', () => {
    const styles =
      'const styles = StyleSheet.create({ row: { flexDirection: "rows" } }), plain = { row: { color: "redd" } }\n'
    const rows = '<View style={styles.row} /><View style={[styles.row, plain.row]} />'
    expect(check(`${HEAD}return <Page>${rows}</Page> }\n${styles}`)).toEqual([
      expect.stringMatching(/^template\.tsx:5:58: <View style>: the style flexDirection must be one of/),
      expect.stringMatching(/^template\.tsx:5:95: <View style>: the style color must be a color/),
    ])
  })

  test('to be a page of no size', () => {
    expect(inBody('  return <Document><Page size="A44" /></Document>')).toEqual([
      expect.stringMatching(/^template\.tsx:4:26: <Page size>: is not a page size/),
    ])
  })
})

test.for([
  ['export default async function Invoice() { return null }', '1:16'],
  ['const Invoice = async ({ data }) => null\n\nexport default Invoice', '1:17'],
])('names the place of a component that is asynchronous: %s', ([source = '', place]) => {
  expect(check(source)).toEqual([
    `template.tsx:${place}: a component cannot be asynchronous: pass what it waits for in the data`,
  ])
})

describe('warns of what is not drawn of an element', () => {
  test.for([
    ['by its kind', '<Text style={{ gap: 4 }}>a</Text>', '4:38: <Text style>: the style gap has no effect on <Text>'],
    [
      'in a drawing',
      '<Svg><Text x={1} style={{ letterSpacing: 4 }}>a</Text></Svg>',
      '4:49: <Text style>: the style letterSpacing has no effect on <Text> in <Svg>',
    ],
    ['as a prop', '<Svg><Text x={1} stroke="red">a</Text></Svg>', '4:49: <Text stroke>: has no effect on letters'],
    [
      'in a text',
      '<Text>a <Text style={{ padding: 4 }}>b</Text></Text>',
      '4:46: <Text style>: the style padding has no effect on <Text> in <Text>',
    ],
    [
      'in a list of styles that is written elsewhere',
      '<View style={[{ margin: 1 }, far.cell]} />',
      '4:38: <View style>: the style objectFit has no effect on <View>',
    ],
    [
      'whatever the data say',
      '<Image src="asset:a.png" style={{ fontSize: data.total }} />',
      '4:57: <Image style>: the style fontSize has no effect on <Image>',
    ],
    [
      'by its value',
      '<View style={{ border: 1 }} />',
      '4:38: <View style>: the style border draws no line: it must be a width, a style and a color such as 1 solid black',
    ],
    [
      'in rows',
      '{data.lines.map((line) => <Text style={{ flexDirection: "row" }}>a</Text>)}',
      '4:64: <Text style>: the style flexDirection has no effect on <Text>',
    ],
  ] as const)('%s', ([, child, message]) => {
    const far =
      'import { Image } from "@react-pdf/renderer"; const far = StyleSheet.create({ cell: { objectFit: "cover" } })'
    expect(check(`${HEAD}  return <Document><Page><View>${child}</View></Page></Document>\n}\n${far}`)).toEqual([
      `warning: template.tsx:${message}`,
    ])
  })

  test.for([
    ['a style of another place', 'const Cell = () => <Text style={{ letterSpacing: 1, gap: 0 }}>a</Text>', '<Cell />'],
    [
      'a text that may be in a drawing',
      'const Label = () => <Text style={{ textAnchor: "end" }}>a</Text>',
      '<Label />',
    ],
    [
      'what a box hands on to its texts',
      '',
      '<View style={{ color: "red", marginStart: 1, flexDirection: data.note }} />',
    ],
    ['a border as a whole', 'const line = "1 solid red"', '<View style={{ border: line, borderBottom: data.note }} />'],
  ] as const)('not of %s', ([, before, child]) => {
    expect(check(`${before}\n${HEAD}  return <Document><Page><View>${child}</View></Page></Document>\n}`)).toEqual([])
  })
})

describe('finds nothing wrong with', () => {
  test.for([
    ['what the schema has', '{data.total}{data.lines.length}{data.lines[0].price.toFixed(2)}{data.rates.EUR}'],
    ['what may be in an open object', '{data.meta.whatever.deep}{options.locale}'],
    ['methods that every object has', '{data.rates.hasOwnProperty("EUR")}{data.seller.toString()}'],
    ['a variable of one variant', '{data.payment.iban}{data.payment.card && 1}'],
    ['helpers without types', '{sumOf(data.lines[0], 1)}'],
    ['a text that counts', '{String(data.total) * 2}{"5" - 1}'],
    ['text with signs', 'a > b } c'],
    [
      'attributes that depend on data',
      '<Text style={{ fontSize: data.total, color: data.note, textTransform: data.note }}>a</Text>',
    ],
    ['what Intl formats', '{new Intl.NumberFormat("de", { style: "currency", currency: "EUR" }).format(data.total)}'],
    ['elements made by hand', '{React.createElement(Text, { any: 1 }, "a")}'],
    ['children of its own components', '{[1].map((n) => <Row n={n} key={n} other="x" />)}'],
    ['props that are absent', '<Text onRender={undefined} foo={null}>a</Text>'],
    ['a name that is asked for first', '{typeof window === "undefined" ? 1 : window.x}'],
    ['a drawing', '<Svg><Text x={1}>a</Text><Rect x="1" width="50%" fill="url(#a)" /></Svg>'],
    ['styles that follow the direction', '<Text style={{ textAlign: "start", hyphens: "auto" }}>a</Text>'],
    ['a chart of data', '<PDF.Chart type="bar" data={data.lines} style={{ margin: 1 }} fixed />'],
    ['a link to what data say', '<Link src={data.note}>a</Link>'],
  ] as const)('%s', ([, child]) => {
    const body = `const sumOf = (row, more) => row.x + more.y, Row = ({ n, missing }) => <Text>{n}{missing}</Text>
  return <Document><Page><Text>${child}</Text></Page></Document>`
    expect(inBody(body).filter((message) => !message.includes('may be absent'))).toEqual([])
  })

  test.for([
    ['an object that code fills', 'const sums = {}; sums.total = 1; sums[data.total] = 2; return sums.total'],
    ['a list that code fills', 'const rows = []; rows.push({ a: 1 }); return rows.map((row) => row.a)'],
    [
      'a sum by group',
      'return Object.entries(data.lines.reduce((sum, { price }) => { sum[price] = 1; return sum }, {}))',
    ],
    ['a value of changing type', 'let label = ""; label = { a: 1 }; return label.a'],
    ['types of its own', 'type Line = { x: Foo.Bar }; const line: Line = data.lines[0]; return (line as any).y'],
    ['a wrong type of its own', 'const total: string = data.total; return total'],
    ['strings and numbers together', 'return data.total + data.note * 2'],
    ['numbers in order', 'return Array.prototype.slice.call(data.lines).sort((a, b) => a.price - b.price)'],
    ['a default for what may be absent', 'const { customer = {}, extra = 1 } = data; return customer.name'],
    ['modules of the older form', 'module.exports.x = exports.y; return require("react").createElement("View")'],
    ['newer methods', 'return Object.groupBy([1], () => 1)'],
  ] as const)('%s', ([, body]) => {
    expect(inBody(body)).toEqual([])
  })

  test('imports of types, and of names that are never used', () => {
    const source = `import type { Style } from '@react-pdf/types'
import React, { type FC, useState, ReactNode } from 'react'
import { Font, PDFViewer, Document, Page } from '@react-pdf/renderer'
const Invoice: FC<{ data: any; lang?: string }> = ({ data, lang = 'en' }) => <Document language={lang}><Page>{data.note as ReactNode}</Page></Document>
export default Invoice`
    expect(check(source)).toEqual([])
  })

  test('a file that asks not to be checked, except that it must parse', () => {
    expect(check('// @ts-nocheck\nexport default ({ data }) => data.totla')).toEqual([])
    expect(check('// @ts-nocheck\nexport default ({ data }) => data.')).toHaveLength(1)
  })
})

describe('finds the component', () => {
  test.for([
    ['export default ({ data }) => data.totla', 35],
    ['export default props => props.data.totla', 36],
    ['export default function ({ data }) { return data.totla }', 50],
    ['export default function Invoice({ data }: { data: { totla: string } }) { return data.totla }', 86],
    ['const Invoice = (props: any) => props.data.totla; export default Invoice', 44],
    ['const Invoice = function ({ data }) { return data.totla }\nexport { Invoice as default }', 51],
    ["import { memo } from 'react'; export default memo(({ data }) => data.totla)", 70],
    ["import React from 'react'; const A = ({ data }) => data.totla; export default React.memo(A)", 57],
    ['const Invoice = (({ data }) => data.totla) as any; export default Invoice', 37],
  ] as const)('in %s', ([source, column]) => {
    expect(check(source)).toEqual([
      expect.stringMatching(new RegExp(`^template\\.tsx:1:${column}: .*totla: variablesSchema has no such variable`)),
    ])
  })

  test.for([
    'export default () => null',
    'export default (...all) => all[0].data.totla',
    'export const a = 1',
    'export default Nothing.at(0)',
    'const A = B, B = A; export default A',
    '',
  ])('or does without in %j', (source) => {
    expect(check(source).filter((message) => !message.includes('Nothing is not defined'))).toEqual([])
  })
})

describe('warns, and refuses nothing, of', () => {
  test.for([
    ['what may be absent', '{data.customer.name}', 'data.customer may be absent: variablesSchema does not require it'],
    [
      'a name of an open object near another',
      '{data.meta?.amont}',
      'does not list this variable \\(did you mean amount\\?\\)',
    ],
    ['a comparison that no value satisfies', '{data.status === "payed"}', '"paid" \\| "due" is never "payed"'],
  ] as const)('%s', ([, child, message]) => {
    expect(inPage(`<Text>${child}</Text>`)).toEqual([
      expect.stringMatching(new RegExp(`^warning: template\\.tsx:4:\\d+: .*${message}`)),
    ])
  })

  test.for([
    '{data.customer && data.customer.name}',
    '{data.customer?.name}',
    '{data.tree?.children?.length > 0 ? data.tree.children.map(() => 1) : null}',
    '{(data.customer ?? {}).name}',
  ])('but not of %s', (child) => {
    expect(inPage(`<Text>${child}</Text>`)).toEqual([])
  })

  test('nothing if nobody asks', () => {
    const source = 'export default ({ data }) => data.customer.name'
    expect(checkTypes({ source, variablesSchema: SCHEMA, families: new Map(), isWarned: false })).toEqual([])
  })
})

describe('says of a source that does not parse, what and where', () => {
  test.for([
    ['export default () => <View><Text></View>', '1:29: JSX element Text has no corresponding closing tag'],
    ['export default () => <View>', '1:23: JSX element View has no corresponding closing tag'],
    ['const = 1', '1:7: variable declaration expected'],
    ['export default () => {\n  return f(', '2:12: ) expected'],
  ] as const)('%s', ([source, message]) => {
    expect(findingsOf(source, SCHEMA)).toEqual([`template.tsx:${message}`])
  })
})

test('names ten findings at most', () => {
  const reads = Array.from({ length: 50 }, (_, at) => `{data.unknown${at}}`)
  expect(inPage(`<Text>${reads.join('')}</Text>`)).toHaveLength(10)
})

describe('a hostile source', () => {
  test.for([
    ['refers to a file', '/// <reference path="/etc/passwd" />'],
    ['refers to types of packages', '/// <reference types="node" />'],
    ['asks for the library of browsers', '/// <reference lib="dom" />'],
  ])('that %s learns nothing', ([, line]) => {
    const uses = 'export default () => [document, process, Buffer]'
    expect(check(`${line}\n${uses}`)).toEqual(
      ['2:23: document', '2:33: process', '2:42: Buffer'].map((name) => `template.tsx:${name} is not defined`),
    )
  })

  test('that imports types of the machine gets none', () => {
    const module = JSON.stringify(import.meta.filename)
    const source = `import type { x } from ${module}; type F = typeof import('node:fs'); declare const f: F
export default ({ data }) => [f.nothing, (data as x).nothing]`
    expect(check(source)).toEqual([])
  })

  test.for([
    ['nests too deeply', `export default () => ${'('.repeat(60_000)}1${')'.repeat(60_000)}`],
    ['nests elements too deeply', `export default () => ${'<a>'.repeat(30_000)}${'</a>'.repeat(30_000)}`],
  ])('that %s is refused', ([, source = '']) => {
    expect(check(source)).toEqual(['template.tsx: the source or its types are nested too deeply'])
  })

  test('that changes the types of all leaves the next as it is', () => {
    const poison = `declare global { interface Array<T> { lenght: number } interface Number { toFixd(): string } var formatMony: any }
declare module '@react-pdf/renderer' { export const Chart: any }
namespace PlatenData { export type Props = any }
export default ({ data }) => data.lines.lenght`
    check(poison)
    expect(inPage('<Text>{data.lines.lenght}{data.total.toFixd()}{formatMony}</Text>')).toHaveLength(3)
  })

  test.for([
    [
      'never end',
      'type Loop<T> = T extends string ? Loop<[T]> | Loop<Loop<T>> : Loop<T[]>; declare const a: Loop<"x">',
    ],
    ['multiply', 'type D = 0|1|2|3|4|5|6|7|8|9; declare const a: `${D}${D}${D}${D}${D}${D}${D}${D}`'],
    ['go around in a circle', 'type A = B; type B = A | A[]; declare const a: A; interface C extends C {}'],
  ])('with types that %s ends', ([, types]) => {
    expect(check(`${types}\nexport default ({ data }) => [a.x, data.totla]`)).toEqual([
      expect.stringMatching(/^template\.tsx:2:\d+: data\.totla: variablesSchema has no such variable/),
    ])
  })
})

describe('what the compiler is told of the sandbox', () => {
  const LIST = `import * as React from 'react'; import * as PDF from '@react-pdf/renderer'
export default () => ({ then: undefined, [Symbol.iterator]: () => [JSON.stringify([Object.getOwnPropertyNames(globalThis), Object.keys(React), Object.keys(PDF)])].values() })`

  test('is all that is there', async () => {
    const evaluate = await openSandbox()
    const { nodes } = await evaluate(transpile(LIST), { data: '{}', options: {} })
    const [globals = [], react = [], pdf = []] = JSON.parse((nodes as readonly string[])[0] ?? '') as string[][]
    const names = globals.filter((name) => /^[a-zA-Z]\w*$/.test(name))
    expect(names).toContain('parseInt')
    const uses = `import * as React from 'react'; import * as PDF from '@react-pdf/renderer'
export default () => [${names.join(', ')}].length`
    expect(check(uses)).toEqual([])
    const exported = (names: readonly string[]) => names.filter((name) => !['__esModule', 'default'].includes(name))
    const imports = `import { ${exported(react).join(', ')} } from 'react'
import { ${exported(pdf).join(', ')} } from '@react-pdf/renderer'`
    const { program, file } = openCompiler()({ template: imports, data: '', isNullStrict: false })
    expect(program.getSemanticDiagnostics(file).map(({ messageText }) => messageText)).toEqual([])
  })
})
