/**
 * The styles of react-pdf's nodes, computed once for nodes that share a style object. The rows of a table have the same few styles, but
 * react-pdf resolves and merges them for each node, and again for each page. What is shared here is never changed afterwards: react-pdf
 * copies a style before it changes it. The objects are kept only as long as their document.
 */
import { type DocumentMap, openDocumentMap } from './document-map.ts'

type Style = Readonly<Record<string, unknown>>

/** Resolved styles, by the page for which they are resolved. All keys are weak: some objects are of all documents, such as no style. */
const resolved = openDocumentMap<object, WeakMap<Style, Style>>()

/** The style of a node, for the page that `container` describes. */
export function resolvedStyle(container: object, style: Style | undefined, resolve: () => Style): Style {
  return remembered(entryOf(resolved, container), style ?? NONE, () => unlessSame(style, resolve()))
}

/** What children inherit, by the list of names and the style of their parent. */
const inherited = openDocumentMap<readonly string[], WeakMap<Style, Style>>()

/** What a style hands on to children. `pick` picks the names out of a style. */
export function inheritedStyle(
  names: readonly string[],
  style: Style | undefined,
  pick: (names: readonly string[], style: Style) => Style,
): Style {
  const own = style ?? NONE
  return remembered(entryOf(inherited, names), own, () => pick(names, own))
}

/** Merged styles, by what is inherited. */
const merged = openDocumentMap<Style, WeakMap<Style, Style>>()

/** A style together with what it inherits. */
export function mergedStyle(
  above: Style,
  style: Style | undefined,
  merge: (above: Style, style: Style) => Style,
): Style {
  const own = style ?? NONE
  return remembered(entryOf(merged, above), own, () => unlessSame(style, merge(above, own)))
}

/**
 * `style` itself if a step has only made a copy of it. A page is laid out again after its content is known, with styles that were resolved
 * and merged before. Nodes with the same style object need no copy, and their boxes stay (see `dimensions.ts`).
 */
function unlessSame(style: Style | undefined, made: Style): Style {
  if (style === undefined) return made
  const names = Object.keys(made)
  const isSame = names.length === Object.keys(style).length && names.every((name) => Object.is(made[name], style[name]))
  return isSame ? style : made
}

const NONE: Style = Object.freeze({})

function entryOf<Key extends object>(
  entries: DocumentMap<Key, WeakMap<Style, Style>>,
  key: Key,
): WeakMap<Style, Style> {
  const known = entries.get(key)
  if (known !== undefined) return known
  const entry = new WeakMap<Style, Style>()
  entries.set(key, entry)
  return entry
}

function remembered(values: WeakMap<Style, Style>, key: Style, make: () => Style): Style {
  const known = values.get(key)
  if (known !== undefined) return known
  const value = make()
  values.set(key, value)
  return value
}

/** Whether a style has no rounded corners, of which each node needs its own. */
export function hasNoRadius(style: Style | undefined): boolean {
  return style !== undefined && CORNERS.every((corner) => !(corner in style))
}

const CORNERS = ['TopLeft', 'TopRight', 'BottomRight', 'BottomLeft'].map((corner) => `border${corner}Radius`)
