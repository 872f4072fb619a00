/** Attacks by templates, schemas and other resources: what they cost where they are checked, and where they are rendered. */
import { htmlOnly, liveKey, template, tenant, tsx } from '../../fixture/manifests.ts'
import { type Attack, attacksOf, NEIGHBOUR_LIVE } from './attacker.ts'

/** Statements that do not end by themselves, or not soon. */
const LOOPS: Readonly<Record<string, string>> = {
  'a loop': 'while (true);',
  'a search of 2^53 places': 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)',
  'a recursion': 'const f = (n) => f(n + 1) + f(n); f(0)',
  'a text that doubles': "let s = 'x'; for (;;) s += s",
  'arrays of arrays': 'const a = []; for (;;) a.push(a.slice())',
  'a pattern that goes back': "/^(a+)+$/.test('a'.repeat(60) + '!')",
  'a generator': 'for (const each of (function* () { for (;;) yield 1 })()) each',
  'a proxy of itself': 'const p = new Proxy({}, { get: () => p }); for (let q = p; ; q = q.a);',
  'text that nests': "JSON.parse('['.repeat(1e7))",
  'an array that is filled': 'new Array(2 ** 31).fill(1)',
  'texts that are joined': "new Array(2 ** 28).fill('x').join('y')",
  'a sort': 'Array.from({ length: 1e8 }, (_, at) => -at).sort()',
}

const PAGE = 'return <Document><Page><Text>a</Text></Page></Document>'
const IMPORTS = "import { Document, Page, Text } from '@react-pdf/renderer'\n"
const atLoading = (loop: string) => tsx(`${IMPORTS}${loop}\nexport default () => { ${PAGE} }`)
const inComponent = (loop: string) => tsx(`${IMPORTS}export default () => { ${loop}\n${PAGE} }`)
const whenAsked = (loop: string) =>
  tsx(`${IMPORTS}export default ({ data }) => { if (data.isOn) { ${loop} }\n${PAGE} }`)

const LIQUID: Readonly<Record<string, string>> = {
  'a range': '{% for i in (1..1000000000) %}x{% endfor %}',
  'loops in loops':
    '{% for i in (1..9999) %}{% for j in (1..9999) %}{% for k in (1..9999) %}x{% endfor %}{% endfor %}{% endfor %}',
  'a text that doubles':
    "{% assign s = 'xxxxxxxx' %}{% for i in (1..99) %}{% assign s = s | append: s %}{% endfor %}{{ s }}",
  'a capture that doubles': '{% for i in (1..99) %}{% capture s %}{{ s }}{{ s }}x{% endcapture %}{% endfor %}{{ s }}',
  'a replacement that grows':
    "{% assign s = 'a' %}{% for i in (1..99) %}{% assign s = s | replace: 'a', 'aaaaaaaaaa' %}{% endfor %}{{ s }}",
}

/** Documents of html that cost a page or a browser. */
const PAGES: Readonly<Record<string, string>> = {
  'a thousand frames': '{% for i in (1..1000) %}<iframe srcdoc="<p>a</p>"></iframe>{% endfor %}',
  'a table of tables': '{% for i in (1..400) %}<table><tr><td>{% endfor %}a',
  'a page of columns': '<div style="columns: 1000"> {% for i in (1..20000) %}<p>a {% endfor %}</div>',
  'a million floats': '{% for i in (1..50000) %}<i style="float: left">a</i>{% endfor %}',
  'filters over filters':
    '{% for i in (1..300) %}<div style="filter: blur(50px); backdrop-filter: blur(50px)">a{% endfor %}',
  'gradients without end': '<div style="height: 1e7px; background: repeating-linear-gradient(red, blue 1px)">',
  'a script that loops': '<script>for (;;);</script>',
  'a script that keeps blobs':
    '<script>const a = []; for (let i = 0; i < 96; i++) a.push(new Blob([new Uint8Array(2 ** 24)]))</script>',
  'a script that asks for memory': '<script>const a = []; for (;;) a.push(new Array(1e6).fill(Math.random()))</script>',
  'workers without end':
    "<script>for (let i = 0; i < 100; i++) new Worker(URL.createObjectURL(new Blob(['for (;;);'])))</script>",
}

const codeOf = (prefix: string, at: number) => `${prefix}-${at}`
const entries = (of: Readonly<Record<string, string>>) =>
  Object.entries(of).map(([name, text], at) => ({ name, text, at }))

/** What its attacks by renders need: templates that pass the publish check, as they do harm only when they are asked to. */
export const TEMPLATES: Readonly<Record<string, object>> = {
  plain: tsx(`${IMPORTS}export default () => { ${PAGE} }`),
  page: htmlOnly('<p>a</p>'),
  rows: tsx(
    `${IMPORTS}export default ({ data }) => <Document><Page>{(data.rows ?? []).map((row, at) => <Text key={at}>{row}</Text>)}</Page></Document>`,
  ),
  checked: { ...tsx(`${IMPORTS}export default () => { ${PAGE} }`), variablesSchema: branching(8, 8) },
  ...Object.fromEntries(entries(LOOPS).map(({ text, at }) => [codeOf('loop', at), whenAsked(text)])),
  ...Object.fromEntries(
    entries(LIQUID).map(({ text, at }) => [codeOf('liquid', at), htmlOnly(`{% if isOn %}${text}{% endif %}a`)]),
  ),
  ...Object.fromEntries(
    entries(PAGES).map(({ text, at }) => [
      codeOf('page', at),
      { engine: 'Html', html: { template: { inline: `{% if isOn %}${text}{% endif %}a` }, javascriptEnabled: true } },
    ]),
  ),
}

/** Renders of one template: some that wait, some that are left, some that nobody waits for. */
function renders(name: string, code: string, engine?: 'html'): readonly Attack[] {
  const body = { template: code, data: { isOn: true }, ...(engine && { engine }) }
  return attacksOf({
    [`renders of ${name}`]: async ({ render }) => void (await Promise.all([1, 2].map(() => render(body)))),
    [`renders of ${name}, left`]: async ({ render }) =>
      void (await Promise.all([100, 400, 700].map((leavesMs) => render(body, { leavesMs })))),
  })
}

const published = (name: string, spec: object, count = 5): Attack => ({
  name,
  isByResources: true,
  begin: ({ declare }) =>
    declare(
      ...Array.from({ length: count }, (_, at) => template('attacker', `hostile-${at}`, { sampleData: {}, ...spec })),
    ),
})

/** `$ref`s that branch: so many on each of so many levels. */
function branching(levels: number, width: number): object {
  const names = Array.from({ length: levels }, (_, at) => `d${at}`)
  const level = (at: number) => ({ allOf: Array.from({ length: width }, () => ({ $ref: `#/$defs/d${at + 1}` })) })
  const last = { not: { const: [[1, ...Array.from({ length: 100 }, () => 0)]] } }
  const $defs = Object.fromEntries(names.map((name, at) => [name, at === levels - 1 ? last : level(at)]))
  return { type: 'object', $defs, properties: { a: { $ref: '#/$defs/d0' } } }
}

const times = <T>(count: number, make: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => make(at))
const named = (count: number, make: (at: number) => object) =>
  Object.fromEntries(times(count, (at) => [`p${at}`, make(at)]))

const SCHEMAS: Readonly<Record<string, object>> = {
  'definitions that are used everywhere': {
    $defs: { b: { properties: named(130, () => ({ minimum: 0 })) } },
    properties: named(130, () => ({ $ref: '#/$defs/b' })),
  },
  'hundreds of properties': { properties: named(900, () => ({ type: 'string' })) },
  'hundreds of patterns': { patternProperties: Object.fromEntries(times(300, (at) => [`^(a|b${at})+$`, {}])) },
  'hundreds of forms': { properties: { a: { oneOf: times(900, (at) => ({ const: at })) } } },
  'a long enum': { properties: { a: { enum: times(900, (at) => `value ${at}`) } } },
  'references that branch': branching(8, 8),
  'a reference to itself': {
    $defs: { a: { properties: { a: { $ref: '#/$defs/a' } } } },
    properties: { a: { $ref: '#/$defs/a' } },
  },
  'a pattern that goes back': { properties: { a: { pattern: '^(a+)+$' } } },
  'a large constant': { properties: { a: { const: times(3000, () => [0]) } } },
  'levels upon levels': {
    properties: { a: times(60, (at) => at).reduce<object>((inner) => ({ properties: { a: inner } }), {}) },
  },
}

const nested = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`) as object

export const SOURCE_ATTACKS: readonly Attack[] = [
  ...entries(LOOPS).flatMap(({ name, text }) => [
    published(`templates with ${name} when they are loaded`, atLoading(text)),
    published(`templates with ${name} in their component`, inComponent(text)),
  ]),
  ...entries(LOOPS).flatMap(({ name, at }) => renders(name, codeOf('loop', at))),
  ...entries(LIQUID).map(({ name, text }) => published(`templates of Liquid with ${name}`, htmlOnly(text))),
  ...entries(LIQUID).flatMap(({ name, at }) => renders(`Liquid with ${name}`, codeOf('liquid', at), 'html')),
  ...entries(PAGES).flatMap(({ name, at }) => renders(name, codeOf('page', at), 'html')),
  ...Object.entries(SCHEMAS).map(([name, schema]) =>
    published(`schemas with ${name}`, { ...htmlOnly('a'), variablesSchema: { type: 'object', ...schema } }),
  ),
  published('five hundred templates', htmlOnly('a'), 500),
  published('sample data that nests', { ...htmlOnly('a'), sampleData: { a: nested(500) } }),
  published('sample data of a megabyte', { ...htmlOnly('a'), sampleData: { a: times(100_000, () => 'x') } }),
  published('templates without a source', {}),
  published('hundreds of fonts', { ...htmlOnly('a'), fonts: times(64, (at) => ({ family: `f${at}`, asset: 'none' })) }),
  ...attacksOf(
    {
      'keys by the hundred': ({ declare }) => declare(...times(300, (at) => liveKey('attacker', `k${at}`, `k${at}`))),
      "somebody else's key, declared as its own": ({ declare }) =>
        declare(liveKey('attacker', NEIGHBOUR_LIVE, 'taken')),
      'resources of nobody': ({ declare }) => {
        const templates = times(50, (at) => template('nobody', `t${at}`, inComponent('while (true);')))
        return declare(...templates, tenant('nowhere', 'none'))
      },
      async 'resources that come and go'({ declare }) {
        for (const count of [10, 0, 20, 0, 30])
          await declare(...times(count, (at) => template('attacker', `r${at}`, inComponent('while (true);'))))
      },
      'resources that are created again without end': ({ declare, endlessly }) =>
        endlessly((time) =>
          declare(
            ...times(20, (at) => template('attacker', `n${at}-${time}`, inComponent('while (true);'))),
            ...times(20, (at) => liveKey('attacker', `n${at}-${time}`, `n${at}`)),
          ),
        ),
    },
    { isByResources: true },
  ),
]
