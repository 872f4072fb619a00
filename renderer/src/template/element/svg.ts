/**
 * Reads an SVG image as elements of react_pdf. Refuses by name what they cannot show, because a logo without its shadow or in black is
 * worse than an error. Leaves out what nobody would see, such as the notes of an editor.
 */
import { ServiceError } from '@platen/contract/domain/error.ts'
import { SaxesParser, type SaxesTagPlain } from 'saxes'
import { ELEMENT_DEPTH_MAX, ELEMENTS_MAX } from '../limit.ts'
import type { Node } from './node.ts'
import { PRIMITIVES } from './primitive.ts'

const ELEMENTS: Readonly<Record<string, keyof typeof PRIMITIVES>> = {
  svg: 'Svg',
  g: 'G',
  path: 'Path',
  rect: 'Rect',
  line: 'Line',
  circle: 'Circle',
  ellipse: 'Ellipse',
  polyline: 'Polyline',
  polygon: 'Polygon',
  text: 'Text',
  tspan: 'Tspan',
  defs: 'Defs',
  clipPath: 'ClipPath',
  marker: 'Marker',
  linearGradient: 'LinearGradient',
  radialGradient: 'RadialGradient',
  stop: 'Stop',
}

const UNSEEN = ['title', 'desc', 'metadata']

/** Visible effects that react_pdf does not know. `none` and `normal` change nothing. */
const UNFIT_ATTRIBUTES = ['filter', 'mask', 'mix-blend-mode']

const FONT_STYLES = ['fontSize', 'fontWeight', 'fontStyle']

interface Open {
  readonly node: Node & { readonly children: (Node | string)[] }
  readonly name: string
}

/** Returns an `<Svg>` with untrusted props. Throws `ServiceError` with `asset_unavailable`; the message does not name the file. */
export function readSvg(data: Uint8Array): Node {
  const parser = new SaxesParser()
  const open: Open[] = []
  let [root, count, unseen]: [Node | undefined, number, number] = [undefined, 0, 0]
  parser.on('error', (cause) => {
    throw refusal('the SVG is not well-formed XML', cause)
  })
  parser.on('opentag', (tag) => {
    if (unseen > 0 || isUnseen(tag.name)) {
      unseen += 1
      return
    }
    count += 1
    if (count > ELEMENTS_MAX || open.length >= ELEMENT_DEPTH_MAX) throw refusal('the SVG has too many elements')
    const entry = { name: tag.name, node: nodeOf(tag, open.length === 0) }
    open.at(-1)?.node.children.push(entry.node)
    root ??= entry.node
    open.push(entry)
  })
  parser.on('closetag', () => {
    if (unseen > 0) unseen -= 1
    else open.pop()
  })
  parser.on('text', (text) => {
    const parent = open.at(-1)
    const shown = text.replaceAll(/\s+/g, ' ')
    if (unseen === 0 && parent !== undefined && TEXTS.includes(parent.name) && shown.trim() !== '')
      parent.node.children.push(shown)
  })
  parser.write(new TextDecoder().decode(Buffer.from(data))).close()
  if (root === undefined) throw refusal('the SVG is empty')
  return root
}

const TEXTS = ['text', 'tspan']

/** Editors keep notes in their own namespaces. */
function isUnseen(name: string): boolean {
  return UNSEEN.includes(name) || (name.includes(':') && !name.startsWith('svg:'))
}

function nodeOf({ name, attributes }: SaxesTagPlain, isRoot: boolean): Open['node'] {
  const type = Object.hasOwn(ELEMENTS, plainName(name)) ? ELEMENTS[plainName(name)] : undefined
  if (type === undefined)
    throw refusal(`react_pdf cannot draw <${name.slice(0, NAME_CHARS_MAX)}> of an SVG${adviceOn(name)}`)
  if (type === 'Svg' && !isRoot) throw refusal('react_pdf cannot draw an <svg> inside of an SVG')
  const written = new Map(Object.entries(attributes))
  // Declarations come later, because they override attributes.
  for (const [property, value] of declarationsOf(written.get('style') ?? '')) written.set(property, value)
  for (const unfit of UNFIT_ATTRIBUTES) {
    if (!['none', 'normal', undefined].includes(written.get(unfit)))
      throw refusal(`react_pdf cannot draw ${unfit} of an SVG`)
  }
  return { type, props: propsOf(type, written), children: [] }
}

const NAME_CHARS_MAX = 50

function plainName(name: string): string {
  return name.replace(/^svg:/, '')
}

function adviceOn(name: string): string {
  if (name === 'style') return ': write its rules as attributes of the elements'
  if (name === 'use' || name === 'symbol') return ': write the shape where it is used'
  return ''
}

function propsOf(
  type: keyof typeof PRIMITIVES,
  written: ReadonlyMap<string, string>,
): Record<string, string | Record<string, string>> {
  const known: ReadonlySet<string> = new Set(Object.keys(PRIMITIVES[type].props))
  const isText = type === 'Text' || type === 'Tspan'
  const style: Record<string, string> = {}
  const props: Record<string, string | Record<string, string>> = {}
  for (const [attribute, value] of written) {
    const name = camelCase(attribute)
    if (FONT_STYLES.includes(name)) style[name] = value.replace(/px$/, '')
    else if (name !== 'style' && (known.has(name) || (isText && TEXT_PROPS.includes(name)))) props[name] = value
  }
  if (type === 'Svg') {
    props['viewBox'] ??= viewBoxOf(written)
    // SVG shapes are black by default, but react-pdf draws none without a fill.
    props['fill'] ??= 'black'
  }
  for (const name of PAINTS) if (props[name] === 'currentColor') props[name] = props['color'] ?? 'black'
  return Object.keys(style).length === 0 ? props : { ...props, style }
}

const PAINTS = ['fill', 'stroke', 'stopColor']

const TEXT_PROPS = ['x', 'y', ...Object.keys(PRIMITIVES.Tspan.props)]

function viewBoxOf(written: ReadonlyMap<string, string>): string {
  const [width, height] = ['width', 'height'].map(
    (side) => /^\d+(?:\.\d+)?(?=(?:px|pt)?$)/.exec(written.get(side) ?? '')?.[0],
  )
  if (width === undefined || height === undefined)
    throw refusal('the SVG has neither a viewBox nor a width and a height')
  return `0 0 ${width} ${height}`
}

function camelCase(name: string): string {
  return name.replaceAll(/[-:]([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function declarationsOf(style: string): readonly (readonly [string, string])[] {
  return style.split(';').flatMap((declaration) => {
    const [name = '', ...value] = declaration.split(':')
    return value.length === 0 ? [] : [[name.trim(), value.join(':').trim()] as const]
  })
}

function refusal(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('asset_unavailable', reason, { cause })
}
