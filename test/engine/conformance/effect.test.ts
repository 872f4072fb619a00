/**
 * Holds the tables of `effect.ts` against react-pdf alone: each style on each kind of element, in documents that differ only in that style.
 * What changes no byte of a page is not drawn.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EffectPlace, stylesDrawn } from '@platen/renderer/template/element/effect.ts'
import { type ParentKind, primitiveOf, STYLES } from '@platen/renderer/template/element/primitive.ts'
import * as reactPdf from '@react-pdf/renderer'
import { createElement, type ReactElement, type ReactNode } from 'react'
import { beforeAll, expect, test, vi } from 'vitest'
import { SPECIMEN_DATA } from './plain.ts'

type Style = Readonly<Record<string, unknown>>

const ELEMENTS = new Map<string, unknown>(Object.entries(reactPdf))

/** An element of react-pdf, whose props are not those of its types: styles are tried where they are not meant to be. */
function h(type: string, props: Style, ...children: readonly ReactNode[]): ReactElement {
  return createElement(
    ELEMENTS.get(type) as string,
    { key: `${type}${JSON.stringify(props)}`, ...props } as object,
    ...children,
  )
}

const WORDS = 'Some words of a text that Wraps over lines in a box'
const { image: PNG } = SPECIMEN_DATA
const LINK = { src: 'https://acme.example' }
const CHIP = { style: { width: 40, height: 20, backgroundColor: 'red' } }
const chip = (id: string) => h('View', { id, ...CHIP })

const inColumn = (element: ReactNode) => [
  h(
    'View',
    { style: { width: 200, height: 220, backgroundColor: '#eee' } },
    h('View', { id: 'float', style: { float: 'left', width: 20, height: 90 } }),
    chip('before'),
    element,
    h('Text', { id: 'after' }, WORDS),
  ),
]
const inRow = (element: ReactNode) => [
  h('View', { style: { width: 200, height: 120, flexDirection: 'row' } }, chip('before'), element, chip('after')),
]
const inText = (element: ReactNode) => [h('Text', { style: { width: 150 } }, 'before ', element, ' after')]
const CLIP = h('Defs', {}, h('ClipPath', { id: 'c' }, h('Rect', { x: 0, y: 0, width: 30, height: 30 })))
const inSvg = (element: ReactNode) => [h('Svg', { width: 200, height: 200, viewBox: '0 0 200 200' }, CLIP, element)]

interface Kind {
  readonly name: string
  readonly within: ParentKind
  readonly place: EffectPlace
  readonly around: readonly ((element: ReactNode) => readonly ReactNode[])[]
  /** Several, of which one is enough to draw a style. */
  readonly make: readonly ((style: Style) => ReactElement)[]
}

const FLOW = { within: 'flow', place: { isDrawing: false, isInline: false }, around: [inColumn, inRow] } as const
const TEXT = { within: 'text', place: { isDrawing: false, isInline: true }, around: [inText] } as const
const SVG = { within: 'svg', place: { isDrawing: true, isInline: false }, around: [inSvg] } as const
const SPAN = { within: 'text', place: { isDrawing: true, isInline: true }, around: [inSvg] } as const

const boxes = [h('Text', { id: 'words' }, WORDS), chip('one'), chip('two')]
const field = (name: string): Kind => ({
  name,
  ...FLOW,
  make: [(style) => h(name, { name: 'a', select: ['x', 'y'], style: { height: 20, width: 50, ...style } })],
})
const shapes = [
  h('Rect', { x: 1, y: 2, width: 20, height: 9 }),
  h('Text', { x: 3, y: 9 }, 'svg text'),
  h('Path', { d: 'M0 0L20 20L10 5' }),
]

const KINDS: readonly Kind[] = [
  {
    name: 'View',
    ...FLOW,
    make: [
      (style) => h('View', { style }, ...boxes),
      (style) => h('View', { style: { width: 50, height: 30, ...style } }),
    ],
  },
  {
    name: 'FieldSet',
    ...FLOW,
    make: [(style) => h('FieldSet', { name: 'f', style }, ...boxes, h('TextInput', { name: 'a' }))],
  },
  {
    name: 'Link',
    ...FLOW,
    make: [
      (style) => h('Link', { ...LINK, style }, ...boxes),
      (style) => h('Link', { ...LINK, style }, WORDS),
      (style) => h('Link', { ...LINK, style: { color: 'red', textDecoration: 'line-through', ...style } }, WORDS),
    ],
  },
  { name: 'ImageBackground', ...FLOW, make: [(style) => h('ImageBackground', { src: PNG, style }, ...boxes)] },
  { name: 'Text', ...FLOW, make: [(style) => h('Text', { style }, WORDS)] },
  {
    name: 'Image',
    ...FLOW,
    make: [
      (style) => h('Image', { src: PNG, style }),
      (style) => h('Image', { src: PNG, style: { width: 60, height: 20, ...style } }),
    ],
  },
  {
    name: 'Svg',
    ...FLOW,
    make: [
      (style) => h('Svg', { viewBox: '0 0 50 30', style }, ...shapes),
      (style) => h('Svg', { viewBox: '0 0 50 30', style: { width: 60, height: 40, ...style } }, ...shapes),
    ],
  },
  field('TextInput'),
  field('Select'),
  field('List'),
  field('Checkbox'),
  { name: 'Text', ...TEXT, make: [(style) => h('Text', { style }, WORDS)] },
  {
    name: 'Link',
    ...TEXT,
    make: [
      (style) => h('Link', { ...LINK, style }, WORDS),
      (style) => h('Link', { ...LINK, style: { color: 'red', textDecoration: 'line-through', ...style } }, WORDS),
    ],
  },
  { name: 'Image', ...TEXT, make: [(style) => h('Image', { src: PNG, style })] },
  { name: 'G', ...SVG, make: [(style) => h('G', { style }, ...shapes)] },
  { name: 'Path', ...SVG, make: [(style) => h('Path', { d: 'M0 0L20 20L10 5', style })] },
  { name: 'Rect', ...SVG, make: [(style) => h('Rect', { x: 1, y: 2, width: 20, height: 9, style })] },
  { name: 'Circle', ...SVG, make: [(style) => h('Circle', { cx: 11, cy: 20, r: 9, style })] },
  { name: 'Text', ...SVG, make: [(style) => h('Text', { x: 60, y: 60, style }, 'Some Text')] },
  { name: 'Tspan', ...SPAN, make: [(style) => h('Text', { x: 60, y: 60 }, 'a ', h('Tspan', { style }, 'Some Text'))] },
]

const LINED = { borderWidth: 3, borderColor: 'green', borderStyle: 'solid', padding: 2 }
const STROKED = { stroke: 'red', strokeWidth: 3 }
const PLACED = { position: 'absolute' }
const PICTURE = { width: 60, height: 30, objectFit: 'none' }
const TURNED = { transform: 'rotate(30deg)' }
const WRAPPED = { flexWrap: 'wrap', flexDirection: 'row', width: 70, height: 190 }

/** Values of each style, and what it needs beside it to be drawn. */
const TRIED: Readonly<Record<string, readonly [values: readonly unknown[], beside?: Style]>> = {
  alignContent: [['center', 'flex-end'], WRAPPED],
  alignItems: [['center', 'flex-end'], { width: 150 }],
  alignSelf: [['center', 'flex-end']],
  aspectRatio: [[2, 0.5], { width: 50 }],
  backgroundColor: [['yellow']],
  border: [['2 dashed blue']],
  borderBottom: [['2 dashed blue']],
  borderLeft: [['2 dashed blue']],
  borderRight: [['2 dashed blue']],
  borderTop: [['2 dashed blue']],
  borderRadius: [[5], { ...LINED, backgroundColor: 'blue', overflow: 'hidden' }],
  bottom: [[5], PLACED],
  clear: [['left']],
  clipPath: [['url(#c)'], { fill: 'red' }],
  color: [['green']],
  columnGap: [[9], { flexDirection: 'row' }],
  dominantBaseline: [['hanging']],
  fill: [['blue']],
  fillOpacity: [[0.5], { fill: 'red' }],
  fillRule: [['evenodd'], { fill: 'red' }],
  flex: [[1, '0 1 30']],
  flexBasis: [[30]],
  flexDirection: [['row', 'row-reverse']],
  flexFlow: [['row wrap']],
  flexGrow: [[1]],
  flexShrink: [[9], { width: 190, height: 190 }],
  flexWrap: [['wrap'], { flexDirection: 'row', width: 70 }],
  float: [['left', 'right'], { width: 50 }],
  fontFamily: [['Courier']],
  fontSize: [[9]],
  fontStyle: [['italic']],
  fontWeight: [['bold']],
  gap: [[9]],
  gradientTransform: [['rotate(30)']],
  height: [[50]],
  justifyContent: [['center', 'flex-end'], { height: 200 }],
  justifySelf: [['center']],
  left: [[5], PLACED],
  letterSpacing: [[4]],
  lineHeight: [[2]],
  margin: [[5]],
  maxHeight: [[10]],
  maxLines: [[1], { width: 60 }],
  maxWidth: [[20]],
  minHeight: [[150]],
  minWidth: [[170]],
  objectFit: [['cover', 'none'], { width: 60, height: 30 }],
  objectPosition: [['left top'], PICTURE],
  objectPositionX: [['0%'], PICTURE],
  objectPositionY: [['0%'], PICTURE],
  opacity: [[0.5], { backgroundColor: 'red', fill: 'red' }],
  overflow: [['hidden'], { height: 20, width: 30 }],
  padding: [[5]],
  position: [['absolute']],
  right: [[5], PLACED],
  rowGap: [[9]],
  shapeOutside: [['circle(20%)'], { float: 'left', width: 50, height: 50 }],
  stroke: [['blue'], { strokeWidth: 2 }],
  strokeDasharray: [['3 3'], STROKED],
  strokeLinecap: [['round'], STROKED],
  strokeLinejoin: [['round'], STROKED],
  strokeOpacity: [[0.5], STROKED],
  strokeWidth: [[6], STROKED],
  textAlign: [['right', 'center'], { width: 100 }],
  textAnchor: [['end']],
  textDecoration: [['line-through', 'underline']],
  textDecorationColor: [['red'], { textDecoration: 'underline' }],
  textDecorationStyle: [['dashed'], { textDecoration: 'underline' }],
  textIndent: [[20]],
  textOverflow: [['ellipsis'], { maxLines: 1, width: 60 }],
  textTransform: [['uppercase']],
  top: [[5], PLACED],
  transform: [['rotate(20deg)']],
  transformOrigin: [['10 10'], TURNED],
  transformOriginX: [[3], TURNED],
  transformOriginY: [[3], TURNED],
  verticalAlign: [['super']],
  visibility: [['hidden']],
  width: [[50, 90]],
  wordSpacing: [[9]],
  zIndex: [[2], { marginTop: -5, backgroundColor: 'blue' }],
}

/** Drawn by our own layout or translation, or by fonts that have such features. */
const OURS = ['direction', 'display', 'hyphens', 'overflowWrap', 'fontFeatureSettings']

function triedOf(name: string): readonly [values: readonly unknown[], beside?: Style] | undefined {
  const own = TRIED[name]
  if (own !== undefined || OURS.includes(name)) return own
  if (/^border.*Radius$/.test(name)) return TRIED['borderRadius']
  if (/^border.*Color$/.test(name)) return [['blue'], LINED]
  if (/^border.*Style$/.test(name)) return [['dotted'], LINED]
  if (/^border.*Width$/.test(name)) return [[5]]
  if (/^(?:margin|padding)/.test(name)) return [[5]]
  throw new Error(`no values of ${name} are tried`)
}

beforeAll(() => {
  // react-pdf speaks of each style that it does not know.
  for (const method of ['warn', 'error', 'log'] as const) vi.spyOn(console, method).mockImplementation(() => undefined)
  return () => vi.restoreAllMocks()
})

const NO_CLOCK = { creationDate: new Date(0), modificationDate: new Date(0), compress: false }

async function printed(content: readonly ReactNode[]): Promise<string> {
  const page = createElement(reactPdf.Page, { size: [300, 400] }, ...content)
  const pdf = await reactPdf.renderToBuffer(createElement(reactPdf.Document, NO_CLOCK, page))
  return pdf.toString('latin1').replace(/\/ID \[.*?\]/s, '')
}

test.for(KINDS.map((kind) => [kind.name, kind.within, kind] as const))(
  'what is drawn of styles on <%s> in %s is what react-pdf draws',
  async ([name, within, { place, around, make }]) => {
    const primitive = primitiveOf(name, within)
    if (primitive === undefined) throw new Error(`${name} is an element`)
    const table = stylesDrawn(primitive, place)
    const wrong: string[] = []
    for (const style of STYLES) {
      const tried = triedOf(style)
      // The font of a page reaches its drawings by ours alone.
      if (tried === undefined || (name === 'Svg' && style === 'fontFamily')) continue
      const [values, beside = {}] = tried
      const { [style]: _own, ...others } = beside
      const changed = await firstChange(
        around.flatMap((inside) => make.map((element) => (props: Style) => inside(element(props)))),
        { style, values, others },
      )
      const isDrawn = changed !== undefined && !(place.isDrawing && !table.has(style) && looksSame(changed))
      if (isDrawn !== table.has(style)) wrong.push(`${style} is ${isDrawn ? '' : 'not '}drawn`)
    }
    expect(wrong).toEqual([])
  },
)

interface Trial {
  readonly style: string
  readonly values: readonly unknown[]
  readonly others: Style
}

/** The first two documents that differ. */
async function firstChange(
  documents: readonly ((style: Style) => readonly ReactNode[])[],
  { style, values, others }: Trial,
): Promise<readonly [string, string] | undefined> {
  for (const document of documents) {
    const bare = await printed(document(others))
    for (const value of values) {
      const styled = await printed(document({ ...others, [style]: value }))
      if (styled !== bare) return [bare, styled]
    }
  }
  return undefined
}

/** Letters of a drawing are given a stroke that they are not drawn with. */
function looksSame(documents: readonly [string, string]): boolean {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'effect-'))
  const [one, other] = documents.map((pdf) => {
    const file = join(folder.path, 'page.pdf')
    writeFileSync(file, pdf, 'latin1')
    return execFileSync('pdftoppm', ['-r', '72', '-png', file]).toString('latin1')
  })
  return one === other
}
