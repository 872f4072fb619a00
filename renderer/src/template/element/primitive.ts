/**
 * The primitives of react-pdf that a template may use, the props of each, and the styles they share. Data only; `elements.ts` applies it.
 */

export type PropKind =
  | 'flag'
  | 'number'
  | 'text'
  | 'name'
  | 'scalar'
  | 'points'
  | 'transform'
  | 'style'
  | 'image'
  | 'link'
  | 'list'
  | 'size'
  | 'bookmark'
  | 'sides'

export type ParentKind = 'root' | 'document' | 'flow' | 'link' | 'text' | 'note' | 'svg'

export interface Primitive {
  /** react-pdf's own name for the element type. */
  readonly tag: string
  readonly within: readonly ParentKind[]
  /** What its children see as their parent. Without this field it takes no children. */
  readonly holds?: ParentKind
  readonly props: Readonly<Record<string, PropKind>>
  /** react-pdf fails without this prop. */
  readonly required?: string
}

/** Parents in which a string is text. Elsewhere, text that is not blank is a mistake. */
export const TEXT_PARENTS: readonly ParentKind[] = ['link', 'text', 'note']

const FLOW: readonly ParentKind[] = ['flow', 'link', 'text']
const NODE = {
  id: 'text',
  style: 'style',
  fixed: 'flag',
  break: 'flag',
  minPresenceAhead: 'number',
  debug: 'flag',
  bookmark: 'bookmark',
} as const
const WRAP = { ...NODE, wrap: 'flag' } as const
const PICTURE = { ...NODE, src: 'image', source: 'image', cache: 'flag' } as const
/** PDF readers treat every `value` as text. */
const FIELD = {
  ...NODE,
  name: 'text',
  required: 'flag',
  noExport: 'flag',
  readOnly: 'flag',
  value: 'text',
  defaultValue: 'text',
} as const
const CHOICE = { ...FIELD, sort: 'flag', edit: 'flag', multiSelect: 'flag', noSpell: 'flag', select: 'list' } as const

const PAINT = {
  style: 'style',
  fill: 'text',
  color: 'text',
  stroke: 'text',
  transform: 'transform',
  strokeDasharray: 'scalar',
  opacity: 'scalar',
  strokeWidth: 'scalar',
  fillOpacity: 'scalar',
  fillRule: 'text',
  strokeOpacity: 'scalar',
  textAnchor: 'text',
  strokeLinecap: 'text',
  strokeLinejoin: 'text',
  visibility: 'text',
  clipPath: 'text',
  markerStart: 'text',
  markerMid: 'text',
  markerEnd: 'text',
  dominantBaseline: 'text',
} as const

const CENTER = { cx: 'scalar', cy: 'scalar', r: 'scalar' } as const
const ENDS = { x1: 'scalar', y1: 'scalar', x2: 'scalar', y2: 'scalar' } as const
const GRADIENT = { id: 'text', xlinkHref: 'text', gradientTransform: 'transform', gradientUnits: 'text' } as const

function shape(tag: string, props: Primitive['props']): Primitive {
  return { tag, within: ['svg'], props: { ...PAINT, ...props } }
}

export const PRIMITIVES = {
  Document: {
    tag: 'DOCUMENT',
    within: ['root'],
    holds: 'document',
    props: {
      style: 'style',
      title: 'text',
      author: 'text',
      subject: 'text',
      keywords: 'text',
      creator: 'text',
      producer: 'text',
      language: 'text',
      pageMode: 'name',
      pageLayout: 'name',
      pdfVersion: 'text',
    },
  },
  Page: {
    tag: 'PAGE',
    within: ['document'],
    holds: 'flow',
    props: { ...WRAP, size: 'size', orientation: 'text', dpi: 'number', experimentalPagination: 'flag' },
  },
  View: { tag: 'VIEW', within: ['flow', 'link'], holds: 'flow', props: WRAP },
  Text: {
    tag: 'TEXT',
    within: FLOW,
    holds: 'text',
    props: { ...WRAP, hyphenationPenalty: 'number', lang: 'text', orphans: 'number', widows: 'number' },
  },
  Image: { tag: 'IMAGE', within: FLOW, props: PICTURE, required: 'src' },
  ImageBackground: {
    tag: 'IMAGE_BACKGROUND',
    within: ['flow', 'link'],
    holds: 'flow',
    props: { ...PICTURE, imageStyle: 'style' },
    required: 'src',
  },
  Link: { tag: 'LINK', within: FLOW, holds: 'link', props: { ...WRAP, src: 'link', href: 'link', hitSlop: 'sides' } },
  Note: { tag: 'NOTE', within: ['flow', 'link'], holds: 'note', props: NODE },
  FieldSet: { tag: 'FIELD_SET', within: ['flow', 'link'], holds: 'flow', props: { ...WRAP, name: 'text' } },
  TextInput: {
    tag: 'TEXT_INPUT',
    within: ['flow', 'link'],
    props: {
      ...FIELD,
      align: 'text',
      multiline: 'flag',
      password: 'flag',
      noSpell: 'flag',
      fontSize: 'number',
      maxLength: 'number',
    },
  },
  Select: { tag: 'SELECT', within: ['flow', 'link'], props: CHOICE },
  List: { tag: 'LIST', within: ['flow', 'link'], props: CHOICE },
  Checkbox: {
    tag: 'CHECKBOX',
    within: ['flow', 'link'],
    props: {
      ...FIELD,
      backgroundColor: 'text',
      borderColor: 'text',
      checked: 'flag',
      onState: 'name',
      offState: 'name',
      xMark: 'flag',
    },
  },
  Svg: {
    tag: 'SVG',
    within: ['flow', 'link'],
    holds: 'svg',
    props: { ...NODE, ...PAINT, width: 'scalar', height: 'scalar', viewBox: 'text', preserveAspectRatio: 'text' },
  },
  G: { tag: 'G', within: ['svg'], holds: 'svg', props: PAINT },
  Path: shape('PATH', { d: 'text' }),
  Rect: shape('RECT', { x: 'scalar', y: 'scalar', width: 'scalar', height: 'scalar', rx: 'scalar', ry: 'scalar' }),
  Line: shape('LINE', ENDS),
  Circle: shape('CIRCLE', CENTER),
  Ellipse: shape('ELLIPSE', { cx: 'scalar', cy: 'scalar', rx: 'scalar', ry: 'scalar' }),
  Polyline: shape('POLYLINE', { points: 'points' }),
  Polygon: shape('POLYGON', { points: 'points' }),
  Tspan: { tag: 'TSPAN', within: ['text'], holds: 'text', props: { ...PAINT, x: 'scalar', y: 'scalar' } },
  Defs: { tag: 'DEFS', within: ['svg'], holds: 'svg', props: {} },
  ClipPath: { tag: 'CLIP_PATH', within: ['svg'], holds: 'svg', props: { id: 'text' } },
  Marker: {
    tag: 'MARKER',
    within: ['svg'],
    holds: 'svg',
    props: {
      id: 'text',
      viewBox: 'text',
      refX: 'scalar',
      refY: 'scalar',
      markerWidth: 'scalar',
      markerHeight: 'scalar',
      orient: 'scalar',
      markerUnits: 'text',
    },
  },
  LinearGradient: { tag: 'LINEAR_GRADIENT', within: ['svg'], holds: 'svg', props: { ...GRADIENT, ...ENDS } },
  RadialGradient: {
    tag: 'RADIAL_GRADIENT',
    within: ['svg'],
    holds: 'svg',
    props: { ...GRADIENT, ...CENTER, fx: 'scalar', fy: 'scalar' },
  },
  Stop: {
    tag: 'STOP',
    within: ['svg'],
    props: { offset: 'scalar', stopColor: 'text', stopOpacity: 'scalar', style: 'style' },
    required: 'stopColor',
  },
} as const satisfies Record<string, Primitive>

/** `<Text>` inside `<Svg>` is a different element. */
const SVG_TEXT: Primitive = {
  tag: 'TEXT',
  within: ['svg'],
  holds: 'text',
  props: { ...PAINT, x: 'scalar', y: 'scalar' },
}

export function primitiveOf(name: string, parentKind: ParentKind): Primitive | undefined {
  if (name === 'Text' && parentKind === 'svg') return SVG_TEXT
  const known: Readonly<Record<string, Primitive>> = PRIMITIVES
  return Object.hasOwn(known, name) ? known[name] : undefined
}

/** Props of react-pdf that have no meaning here or would do harm, and why. */
export const REFUSED_PROPS: Readonly<Record<string, string>> = {
  onRender: 'nothing of the template runs after rendering',
  ownerPassword: 'a PDF of the service is not encrypted',
  userPassword: 'a PDF of the service is not encrypted',
  permissions: 'a PDF of the service is not encrypted',
  conformance: 'the service makes no PDF/A',
  creationDate: 'it is that of the render, or options.date of its request',
  modificationDate: 'it is that of the render, or options.date of its request',
  layout: 'use an element with fixed for what repeats on every page',
  srcSet: 'an image has one source here',
  sizes: 'an image has one source here',
  hyphenationCallback: 'the style hyphens: auto hyphenates words; a soft hyphen says where a word may break',
  format: 'it would put JavaScript into the PDF',
}

/** All styles of react-pdf with shorthands, and two of our line breaker: hyphens and overflowWrap. */
export const STYLES: ReadonlySet<string> = new Set(
  `alignContent alignItems alignSelf aspectRatio backgroundColor border borderBottom borderBottomColor borderBottomLeftRadius
  borderBottomRightRadius borderBottomStyle borderBottomWidth borderColor borderLeft borderLeftColor borderLeftStyle
  borderLeftWidth borderRadius borderRight borderRightColor borderRightStyle borderRightWidth borderStyle borderTop
  borderTopColor borderTopLeftRadius borderTopRightRadius borderTopStyle borderTopWidth borderWidth bottom clear clipPath color
  columnGap direction display dominantBaseline fill fillOpacity fillRule flex flexBasis flexDirection flexFlow flexGrow
  flexShrink flexWrap float fontFamily fontFeatureSettings fontSize fontStyle fontWeight gap gradientTransform height hyphens
  justifyContent justifySelf left letterSpacing lineHeight margin marginBottom marginHorizontal marginLeft marginRight marginTop
  marginVertical maxHeight maxLines maxWidth minHeight minWidth objectFit objectPosition objectPositionX objectPositionY opacity
  overflow overflowWrap padding paddingBottom paddingHorizontal paddingLeft paddingRight paddingTop paddingVertical position right rowGap
  shapeOutside stroke strokeDasharray strokeLinecap strokeLinejoin strokeOpacity strokeWidth textAlign textAnchor textDecoration
  textDecorationColor textDecorationStyle textIndent textOverflow textTransform top transform transformOrigin transformOriginX
  transformOriginY verticalAlign visibility width wordSpacing zIndex`.split(/\s+/),
)
