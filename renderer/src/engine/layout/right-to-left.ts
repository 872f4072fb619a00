/**
 * Makes react-pdf lay out from right to left. Its layout engine for boxes can do that, but react-pdf never tells it the direction, and hands
 * the direction of a box to none of the texts inside. There is no option, plugin or subclass for that, and its packages are one file each.
 * So we change these lines of them while they are loaded. The versions are exact, and a line that is not there once ends the process.
 *
 * Mirroring the styles instead (a row for a reversed row, left for right) does not work: what has a width of its own in a column, or an
 * absolute position without sides, would stay at the left.
 */
import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'

interface Change {
  readonly from: string
  readonly to: string
}

const LAYOUT: readonly Change[] = [
  // The direction of an element is that of its parent, unless its style sets one.
  {
    from: "const BASE_INHERITABLE_PROPERTIES = [\n    'color',",
    to: "const BASE_INHERITABLE_PROPERTIES = [\n    'direction',\n    'color',",
  },
  // Boxes are arranged in their direction.
  {
    from: '    setYogaValues(result);\n',
    to: `    setYogaValues(result);
    if (node.style.direction === 'rtl') yogaNode.setDirection(Yoga.Direction.RTL);
    if (node.style.direction === 'ltr') yogaNode.setDirection(Yoga.Direction.LTR);
`,
  },
  // Text begins at the side where its direction begins.
  {
    from: "align: textAlign || (direction === 'rtl' ? 'right' : 'left'),",
    to: 'align: sideOf(textAlign, direction),',
  },
  // The same for text as wide as its content. In the last line of a justified text, nothing is stretched.
  {
    from: 'const alignFactor = ALIGNMENT_FACTORS[node.style?.textAlign] || 0;',
    to: `const side = sideOf(node.style?.textAlign, node.style?.direction);
        const alignFactor = ALIGNMENT_FACTORS[side === 'justify' ? sideOf('start', node.style?.direction) : side] || 0;`,
  },
  {
    from: 'const getFragments = (',
    to: `const sideOf = (textAlign, direction) => {
    const [start, end] = direction === 'rtl' ? ['right', 'left'] : ['left', 'right'];
    if (!textAlign || textAlign === 'start') return start;
    return textAlign === 'end' ? end : textAlign;
};
const getFragments = (`,
  },
]

const TEXTKIT: readonly Change[] = [
  // The last line of a justified text begins where all lines begin.
  {
    from: "a.alignLastLine || (a.align === 'justify' ? 'left' :",
    to: "a.alignLastLine || (a.align === 'justify' ? (a.direction === 'rtl' ? 'right' : 'left') :",
  },
  // The first line is indented at its beginning.
  {
    from: 'x: rect.x + lineIndent,',
    to: "x: rect.x + (style.direction === 'rtl' ? 0 : lineIndent),",
  },
  // The space at the end of a line has the direction of the paragraph (UAX #9, rule L1), whatever the word before it has. At the edge of a
  // line a space is invisible, so we leave it out.
  {
    from: `    // No need for bidi reordering
    if (Math.max(...levels) === 0)
        return line;
`,
    to: `    // No need for bidi reordering
    if (Math.max(...levels) === 0)
        return line;
    const end = line.string.search(/[ \\t\\n\\r]+$/);
    if (end > 0)
        return reorderLine(slice(0, end, line));
`,
  },
]

const CHANGES = new Map([
  ['/@react-pdf/layout/lib/index.js', LAYOUT],
  ['/@react-pdf/textkit/lib/textkit.js', TEXTKIT],
])

/** Imports what `load` imports, with these changes to react-pdf. Has no effect if react-pdf was loaded before. */
export async function withBothDirections<Module>(load: () => Promise<Module>): Promise<Module> {
  const hooks = registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const changes = [...CHANGES].find(([path]) => url.endsWith(path))?.[1]
      if (changes === undefined) return loaded
      assert(loaded.source !== undefined && loaded.source !== null, `${url} has a source`)
      const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source)
      return { ...loaded, source: changes.reduce((text, change) => changed(text, change, url), source) }
    },
  })
  try {
    return await load()
  } finally {
    hooks.deregister()
  }
}

function changed(text: string, { from, to }: Change, url: string): string {
  const [before, after, ...others] = text.split(from)
  assert(before !== undefined && after !== undefined && others.length === 0, `${url} has ${from} once`)
  return `${before}${to}${after}`
}
