import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { withCorrections } from '@platen/renderer/engine/layout/step/correction.ts'
import { array, assert, asyncProperty, constantFrom, letrec, oneof, record, string } from 'fast-check'
import { beforeAll, expect, test } from 'vitest'

interface Node {
  readonly type: string
  readonly value?: string
  readonly props?: object
  readonly style?: object
  readonly box?: object
  readonly lines?: readonly Line[] | null
  readonly alignOffset?: number
  readonly children?: readonly Node[]
}

interface Line {
  readonly string: string
  readonly box: object
  readonly runs: readonly Run[]
}

interface Run {
  readonly glyphs: readonly { readonly id: number }[]
  readonly positions: readonly object[]
  readonly attributes: { readonly link?: unknown }
}

type LayOut = (document: Node, fonts: unknown) => Promise<Node>

const LAYOUT = pathToFileURL(createRequire(import.meta.url).resolve('@react-pdf/layout')).href

let plain: LayOut
let own: LayOut
let fonts: unknown
beforeAll(async () => {
  fonts = (await import('@react-pdf/renderer')).Font
  // Two copies of the module, of which one is changed while it is loaded.
  plain = ((await import(`${LAYOUT}?plain`)) as { default: LayOut }).default
  own = ((await withCorrections(() => import(`${LAYOUT}?own`))) as { default: LayOut }).default
})

const STYLES = {
  width: [80, '40%', 'auto', '3cm'],
  height: [30, '10%'],
  minHeight: [20],
  maxWidth: [100],
  margin: [4, 'auto', '5%', -2],
  marginTop: [0, 7],
  padding: [3, '2mm', '5%'],
  paddingLeft: [0, 9],
  border: ['1pt solid red'],
  borderRadius: [4, '50%'],
  position: ['absolute', 'relative'],
  top: [10, '5%'],
  display: ['none', 'flex'],
  flexDirection: ['row', 'row-reverse', 'column'],
  flexWrap: ['wrap'],
  flexGrow: [1],
  flexShrink: [0],
  flexBasis: [50, '30%'],
  alignItems: ['center', 'flex-end'],
  alignSelf: ['flex-start'],
  justifyContent: ['space-between'],
  gap: [5],
  aspectRatio: [2],
  overflow: ['hidden'],
  zIndex: [1, 2],
  color: ['#123', 'red'],
  fontSize: [8, 24],
  lineHeight: [1.2, '150%'],
  textAlign: ['right', 'center', 'justify'],
  textDecoration: ['underline'],
  textTransform: ['uppercase'],
  letterSpacing: [1],
  maxLines: [1],
  opacity: [0.5],
} as const

/** Few objects, which many nodes share: what is remembered of one must not reach another. */
const POOL = Array.from({ length: 40 }, (_, at) => {
  const names = Object.keys(STYLES) as (keyof typeof STYLES)[]
  const chosen = [at, at * 7 + 3, at * 11 + 5, at * 13 + 1].slice(0, at % 5).map((place) => names[place % names.length])
  return Object.fromEntries(
    chosen.flatMap((name) => (name === undefined ? [] : [[name, STYLES[name][at % STYLES[name].length]] as const])),
  )
})

const { node } = letrec<{ node: Node; text: Node; view: Node }>((tie) => ({
  text: record({
    type: constantFrom('TEXT'),
    props: constantFrom({}),
    box: constantFrom({}),
    style: constantFrom(...POOL),
    children: array(
      record({
        type: constantFrom('TEXT_INSTANCE'),
        value: oneof(constantFrom('12.50', 'some words to break'), string()),
      }),
      { minLength: 1, maxLength: 2 },
    ),
  }),
  view: record({
    type: constantFrom('VIEW'),
    props: constantFrom({}, { wrap: false }),
    box: constantFrom({}),
    style: constantFrom(...POOL),
    children: array(tie('node'), { maxLength: 4 }),
  }),
  node: oneof({ maxDepth: 4 }, tie('text'), tie('view')),
}))

/** On small pages a box is often in less room than with the whole content. */
const SIZES = ['A4', [200, 150], [300, 90]] as const

function documentOf(children: readonly Node[]): Node {
  const props = { experimentalPagination: true, size: SIZES[children.length % SIZES.length] }
  const page = { type: 'PAGE', props, box: {}, style: { padding: 20 }, children }
  return { type: 'DOCUMENT', props: {}, box: {}, style: {}, children: [page] }
}

/** What is drawn of a node. */
function drawn({ type, value, style, box, lines, alignOffset, children }: Node): unknown {
  return {
    type,
    value,
    style: { ...style },
    box,
    alignOffset,
    lines: lines?.map(({ string: letters, box: place, runs }) => ({
      letters,
      place,
      runs: runs.map(({ glyphs, positions, attributes: { link } }) => {
        return { glyphs: glyphs.map(({ id }) => id), positions, link }
      }),
    })),
    // Letters have nothing in them. react-pdf gives them an empty list when it copies them.
    children: type === 'TEXT_INSTANCE' ? undefined : children?.map(drawn),
  }
}

async function layOut(by: LayOut, children: readonly Node[]): Promise<unknown> {
  try {
    return drawn(await by(documentOf(children), fonts))
  } catch (error) {
    return String(error)
  }
}

test('lays out any boxes and texts as react-pdf does', async () => {
  // Copies, in which what was one object still is one.
  const property = asyncProperty(array(node, { minLength: 1, maxLength: 8 }), async (children) => {
    expect(await layOut(own, structuredClone(children))).toEqual(await layOut(plain, structuredClone(children)))
  })
  await assert(property, { numRuns: 200 })
})

test('lays out a text anew for another room, wrapping or link', async () => {
  const [row, cell, filler] = [
    { flexDirection: 'row', width: 200 },
    { fontSize: 10, flexGrow: 1, flexBasis: 0 },
    { flexShrink: 0 },
  ]
  const halves = (word: string) => [word.slice(0, 4), '', word.slice(4)]
  // What rooms a text has depends on its neighbour. All have the same style, of the same parent.
  const rowOf = (width: number, props: object) => ({
    type: 'VIEW',
    props: {},
    box: {},
    style: row,
    children: [
      {
        type: 'TEXT',
        props,
        box: {},
        style: cell,
        children: [{ type: 'TEXT_INSTANCE', value: 'some longwords to break' }],
      },
      { type: 'VIEW', props: {}, box: {}, style: { ...filler, width }, children: [] },
    ],
  })
  const children = [
    rowOf(10, {}),
    rowOf(140, {}),
    rowOf(170, { hyphenationCallback: halves }),
    rowOf(170, { hyphenationCallback: (word: string) => [word] }),
    rowOf(10, { src: 'https://example.com/' }),
    rowOf(10, { href: 'https://example.org/' }),
  ]
  expect(await layOut(own, children)).toEqual(await layOut(plain, children))
})
