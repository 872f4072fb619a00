/** What is rendered in the soak: what tenants have every day, and what one of them does to bring the service down. */

import { readFileSync } from 'node:fs'
import { HTML, invoiceData, TSX } from '../bench/invoice.ts'
import { aSquare } from '../fixture/asset.ts'
import { html, htmlOnly, key, plan, template, tenant, tsx, UNLIMITED } from '../fixture/manifests.ts'

export interface SoakRender {
  readonly key: string
  readonly body: {
    readonly template: string
    readonly engine: 'react_pdf' | 'html'
    readonly data: object
    readonly mode?: 'async'
  }
  /** Statuses and failures that are in order; `gone` is the caller's own doing. */
  readonly expected: readonly (
    | '200'
    | '202'
    | 'gone'
    | 'render_timeout'
    | 'template_error'
    | 'page_limit'
    | 'render_crashed'
  )[]
  /** Does the caller hang up in the middle? */
  readonly leaves?: true
}

const LIVE = ['D', 'E', 'F'].map((letter) => `service_live_${letter.repeat(43)}`)
const TEST = `service_test_${'D'.repeat(43)}`
/** The key of the tenant that has the tricks, and two seconds for each. */
export const HOSTILE = `service_live_${'H'.repeat(43)}`
const TENANTS = ['duck', 'eagle', 'falcon']

const LIMITS = { ...UNLIMITED, javascriptEnabled: true }

const ASSETS = {
  assets: [
    { name: 'logo.png', inline: Buffer.from(aSquare([200, 30, 30])).toString('base64') },
    {
      name: 'brand.ttf',
      inline: readFileSync(new URL('../fixture/font/brand-regular.ttf', import.meta.url)).toString('base64'),
    },
  ],
  fonts: [{ family: 'Platen Brand', asset: 'brand.ttf' }],
}

const LETTER_TSX = `
import { Document, Image, Page, Text } from '@react-pdf/renderer'
export default ({ data }) => (
  <Document><Page style={{ padding: 40, fontFamily: 'Platen Brand' }}>
    <Image src="asset:logo.png" style={{ width: 60 }} />
    <Text>Dear {data.name}</Text>
    <Text style={{ fontFamily: 'Helvetica' }}>Zażółć gęślą jaźń</Text>
  </Page></Document>
)`
const LETTER_HTML = `<img src="asset:logo.png"><p style="font-family:'Platen Brand'">Dear {{ name }}<p>Zażółć gęślą jaźń`

const CHART_HTML = `<h1>Chart</h1><canvas id="chart" width="400" height="200"></canvas><script>
const pen = document.getElementById('chart').getContext('2d')
for (let at = 0; at < 40; at += 1) pen.fillRect(at * 10, 200 - (at * 37) % 200, 8, (at * 37) % 200)
</script>`

/** What the hostile tenant does, by the names of its templates. */
const TRICKS: Readonly<Record<string, { readonly source: object; readonly expected: SoakRender['expected'] }>> = {
  'endless-component': {
    source: tsx(`export default () => { for (;;); }`),
    expected: ['render_timeout'],
  },
  'hungry-component': {
    source: tsx(`export default () => { const all = []; for (;;) all.push('x'.repeat(1e6) + all.length) }`),
    expected: ['template_error', 'render_timeout'],
  },
  'throwing-component': {
    source: tsx(`export default ({ data }) => data.nobody.name`),
    expected: ['template_error'],
  },
  'large-tree': {
    source: tsx(
      `import { Document, Page, Text } from '@react-pdf/renderer'
export default () => <Document><Page>{Array.from({ length: 60_000 }, (_, at) => <Text key={at}>{'row ' + at}</Text>)}</Page></Document>`,
    ),
    expected: ['render_timeout', 'template_error', 'page_limit', '200'],
  },
  'endless-script': {
    source: htmlOnly('<script>for (;;);</script>'),
    expected: ['render_timeout'],
  },
  'endless-layout': {
    source: htmlOnly(`${'<div style="columns:2;height:10px">'.repeat(25)}${'word '.repeat(2000)}`),
    expected: ['render_timeout'],
  },
  'hungry-script': {
    source: htmlOnly('<script>const all = []; for (;;) all.push(new Array(1e6).fill(all.length + 0.5))</script>'),
    expected: ['render_crashed', 'render_timeout', 'template_error'],
  },
  'many-pages': {
    source: htmlOnly('{% for page in (1..2200) %}<p style="break-after:page">{{ page }}{% endfor %}'),
    expected: ['page_limit', 'render_timeout'],
  },
  'hungry-template': {
    source: htmlOnly('{% for one in (1..count) %}{{ one }}{% endfor %}'),
    expected: ['template_error', 'render_timeout'],
  },
}

export const RESOURCES = [
  plan('daily', { ...LIMITS, renderTimeoutSeconds: 60 }),
  plan('hostile', { ...LIMITS, renderTimeoutSeconds: 2 }),
  ...TENANTS.flatMap((name, at) => [
    tenant(name, 'daily'),
    key(name, 'live', LIVE[at] ?? ''),
    template(name, 'invoice', { ...tsx(TSX), ...html(HTML) }),
    template(name, 'letter', { ...tsx(LETTER_TSX), ...html(LETTER_HTML), ...ASSETS }),
    template(name, 'chart', { engine: 'Html', html: { template: { inline: CHART_HTML }, javascriptEnabled: true } }),
  ]),
  key('duck', 'test', TEST),
  tenant('hostile', 'hostile'),
  key('hostile', 'live', HOSTILE),
  ...Object.entries(TRICKS).map(([name, { source }]) => template('hostile', name, withScripts(source))),
]

function withScripts(source: object): object {
  return 'html' in source ? { ...source, html: { ...(source.html as object), javascriptEnabled: true } } : source
}

/** One in ten is hostile, the others take turns. Which it is follows from the number alone. */
export function renderOf(index: number): SoakRender {
  if (index % 10 === 9) return trickOf(Math.floor(index / 10))
  const secret = index % 13 === 0 ? TEST : (LIVE[index % LIVE.length] ?? '')
  const engine = index % 2 === 0 ? 'react_pdf' : 'html'
  const isAsync = index % 7 === 0
  const mode = isAsync ? { mode: 'async' as const } : {}
  const expected = [isAsync ? '202' : '200'] as const
  const turn = index % 9
  if (turn === 4) return { key: secret, body: { template: 'chart', engine: 'html', data: {}, ...mode }, expected }
  if (turn % 3 === 2)
    return { key: secret, body: { template: 'letter', engine, data: { name: `${index}` }, ...mode }, expected }
  const rows = turn === 1 ? 400 : ([5, 20, 60][index % 3] ?? 5)
  return { key: secret, body: { template: 'invoice', engine, data: invoiceData(rows), ...mode }, expected }
}

/** What is rendered before memory is looked at, so that like is compared with like: nobody is hostile, and every thread and page has had much to do. */
export function calmRenderOf(index: number): SoakRender {
  const engine = index % 2 === 0 ? 'react_pdf' : 'html'
  return { key: LIVE[0] ?? '', body: { template: 'invoice', engine, data: invoiceData(400) }, expected: ['200'] }
}

function trickOf(index: number): SoakRender {
  const names = Object.keys(TRICKS)
  // Every time all have been through, callers hang up on two that would not end by themselves soon.
  const turn = index % (names.length + 2)
  const name = names[turn] ?? (turn === names.length ? 'endless-component' : 'endless-script')
  const trick = TRICKS[name]
  if (trick === undefined) throw new Error(`there is no trick ${name}`)
  const engine = 'html' in trick.source ? 'html' : 'react_pdf'
  const render = { key: HOSTILE, body: { template: name, engine, data: { count: 90_000_000 } } } as const
  return turn < names.length ? { ...render, expected: trick.expected } : { ...render, expected: ['gone'], leaves: true }
}
