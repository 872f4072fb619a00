/** Templates in TSX: trees of the primitives with props and styles of every kind, and data where literals could be. */
import type { Json } from '@platen/lib/brand.ts'
import { PRIMITIVES, type Primitive, STYLES } from '@platen/renderer/template/element/primitive.ts'
import * as fc from 'fast-check'
import { name, number, text } from './json.ts'

const TAGS: readonly (readonly [string, Primitive])[] = Object.entries(PRIMITIVES)
const DEPTH_MAX = 6

const size = fc.oneof(number, fc.constantFrom('50%', '1cm', '10vw', 'auto', '-5', '1e9', 'calc(1px)', '0', 'NaN'))
const color = fc.constantFrom('red', '#f00', '#12345678', 'rgba(1,2,3,.5)', 'hsl(1,2%,3%)', 'nothing', '')
const word = fc.constantFrom(
  'row',
  'absolute',
  'center',
  'wrap',
  'hidden',
  'none',
  'bold',
  'italic',
  'DejaVu Sans',
  'flex',
  'space-between',
  'uppercase',
  'landscape',
  'A4',
  'cover',
)
const path = fc.string({ unit: fc.constantFrom(...'MLHVCSQTAZmlaz 0123456789.,-e'.split('')), maxLength: 40 })
const transform = fc.constantFrom(
  'rotate(45)',
  'scale(0)',
  'translate(1e9, -1)',
  'matrix(1,2,3,4,5,6)',
  'skew(90deg)',
  'rotate()',
)
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAwAAAAICAYAAADN5B7xAAAAJ0lEQVR42mP8z4AdVDJU/BdhYGBAxyyMctglRHAYxMIgx0ASGJEaABeHBjOGkX1PAAAAAElFTkSuQmCC'

/** JSON, or an expression of the component's own. */
interface Code {
  readonly code: string
}
type Value = Json | Code

const literal: fc.Arbitrary<Value> = fc.oneof(
  size,
  size,
  color,
  word,
  word,
  path,
  transform,
  text,
  fc.boolean(),
  fc.constant(null),
  fc.array(number, { maxLength: 4 }),
  fc.dictionary(
    fc.constantFrom('uri', 'data', 'title', 'top', 'left', 'width', 'height', '__proto__'),
    fc.oneof(text, number),
    { maxKeys: 3 },
  ),
)
const code = fc.oneof(
  name.map((field) => ({ code: `data[${JSON.stringify(field)}]` })),
  fc
    .constantFrom(
      'NaN',
      '-Infinity',
      'undefined',
      '() => 1',
      'Symbol()',
      '10n',
      '({ pageNumber, totalPages }) => `${pageNumber} ${totalPages}`',
      'new Date(0)',
      'options',
    )
    .map((given) => ({ code: given })),
)
const value = fc.oneof({ arbitrary: literal, weight: 9 }, { arbitrary: code, weight: 1 })
const style = fc.dictionary(
  fc.oneof({ arbitrary: fc.constantFrom(...STYLES), weight: 19 }, { arbitrary: name, weight: 1 }),
  value,
  { maxKeys: 5 },
)
const image = fc.constantFrom<Value>(
  PIXEL,
  'asset:logo.png',
  'asset:nothing',
  'https://a.example/a.png',
  '/etc/passwd',
  '',
)

interface Element {
  readonly tag: string
  readonly props: readonly (readonly [string, Value | Readonly<Record<string, Value>>])[]
  readonly children: readonly (Element | Value)[]
}

/** Elements that may stand in a place, most of them where they belong. */
function elements(place: string, depth: number): fc.Arbitrary<Element> {
  const fitting = TAGS.filter(([, { within }]) => within.some((each) => each === place))
  const tags = fc.oneof(
    { arbitrary: fc.constantFrom(...(fitting.length > 0 ? fitting : TAGS)), weight: 30 },
    { arbitrary: fc.constantFrom(...TAGS), weight: 1 },
  )
  return tags.chain(([tag, primitive]) => {
    const inner = primitive.holds === undefined || depth === 0 ? [] : [elements(primitive.holds, depth - 1)]
    const child = primitive.holds === 'text' || inner.length === 0 ? fc.oneof(value, ...inner) : fc.oneof(...inner)
    const children =
      primitive.holds === undefined ? fc.constant([]) : fc.array(child, { maxLength: depth === 0 ? 1 : 4 })
    return fc.record<Element>({ tag: fc.constant(tag), props: propsOf(primitive), children })
  })
}

function propsOf({ props, required }: Primitive): fc.Arbitrary<Element['props']> {
  const known = Object.entries(props).map(([prop, kind]) =>
    fc.tuple(fc.constant(prop), kind === 'style' ? style : kind === 'image' ? image : kind === 'points' ? path : value),
  )
  const chosen = known.length === 0 ? fc.constant([]) : fc.array(fc.oneof(...known), { maxLength: 4 })
  return chosen.map((some) => (required === undefined ? some : [...some, [required, 'red']]))
}

/** A whole module. Of its document there is at least one page. */
export const tsx: fc.Arbitrary<string> = fc
  .array(elements('flow', DEPTH_MAX), { maxLength: 5 })
  .chain((flow) =>
    fc.tuple(
      fc.constant(flow),
      propsOf(PRIMITIVES.Page),
      propsOf(PRIMITIVES.Document),
      fc.constantFrom('', 'null.x', 'throw new Error(data.a)', 'for (const a of [1,2]) null'),
    ),
  )
  .map(([flow, page, document, statement]) => {
    const pages: Element = {
      tag: 'Document',
      props: document,
      children: [{ tag: 'Page', props: page, children: flow }],
    }
    const imports = TAGS.map(([tag]) => tag).join(', ')
    return `import { ${imports} } from '@react-pdf/renderer'\nexport default ({ data, options }) => { ${statement}; return ${written(pages)} }\n`
  })

function written({ tag, props, children }: Element): string {
  // Of a prop that is given twice the last one counts, as in JSX.
  const given = props.map(([prop, each]) => ` ${prop}={${spelt(each)}}`).join('')
  const inner = children.map((child) => (isElement(child) ? written(child) : `{${spelt(child)}}`)).join('')
  return `<${tag}${given}>${inner}</${tag}>`
}

function isElement(child: Element | Value): child is Element {
  return typeof child === 'object' && child !== null && 'tag' in child && 'children' in child
}

function spelt(given: Value | Readonly<Record<string, Value>>): string {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return JSON.stringify(given)
  if ('code' in given && typeof given.code === 'string') return given.code
  const fields = Object.entries(given).map(([field, each]) => `${JSON.stringify(field)}: ${spelt(each)}`)
  return `{ ${fields.join(', ')} }`
}
