/**
 * The lines of texts, laid out once for equal ones. Cells of a table are often equal: quantities, prices, units. They are kept as long as
 * the styles of their document.
 */
import { openDocumentMap } from './document-map.ts'

interface TextNode {
  readonly style: object
  readonly props: Readonly<Record<string, unknown>>
  readonly children: readonly { readonly type: string; readonly value?: string }[]
  readonly exclusions?: readonly unknown[]
}

interface KnownLines {
  readonly wrapping: unknown
  readonly lines: readonly unknown[]
}

/** A cell of a table is shorter. A longer text is seldom equal to another, and its key would be a copy of it. */
const CHARS_MAX = 200

/** Lines of plain texts by their style, then by their room and letters. Each page of a document has style objects of its own. */
const known = openDocumentMap<object, Map<string, KnownLines>>()

/** The lines of a text in the room that it has. Nobody changes them. */
export function linesOf(
  node: TextNode,
  [width, height]: readonly [number, number],
  layOut: () => readonly unknown[],
): readonly unknown[] {
  const letters = plainLetters(node)
  if (letters === undefined) return layOut()
  let ofStyle = known.get(node.style)
  if (ofStyle === undefined) {
    ofStyle = new Map()
    known.set(node.style, ofStyle)
  }
  const key = `${width} ${height} ${letters}`
  const wrapping = node.props['hyphenationCallback']
  const found = ofStyle.get(key)
  if (found !== undefined && found.wrapping === wrapping) return found.lines
  const lines = layOut()
  ofStyle.set(key, { wrapping, lines })
  return lines
}

/** The letters of a text whose lines depend on nothing else but its style. */
function plainLetters({ props, children, exclusions = [] }: TextNode): string | undefined {
  const [only, ...others] = children
  if (others.length > 0 || only?.type !== 'TEXT_INSTANCE' || exclusions.length > 0) return undefined
  const { value = '' } = only
  return value.length > CHARS_MAX || OWN_PROPS.some((name) => props[name] !== undefined) ? undefined : value
}

/** What a text has beside its style: a penalty of its line breaks, and where it leads to. */
const OWN_PROPS = ['hyphenationPenalty', 'src', 'href']
