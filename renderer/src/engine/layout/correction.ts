/**
 * The one module hook of the product: it corrects what react-pdf prints wrongly. react-pdf's layout binds its steps when it is loaded, has
 * no option for these places, and each of its packages is one file. So its layout gets our steps of text layout (see `../text/textkit.ts`),
 * and the places below are changed while they are loaded. If a module does not have a place exactly once, the process ends with the text of
 * that place. For each, a test shows the fault in react-pdf alone, and fails once react-pdf prints it right:
 * `test/engine/react-pdf/correction.test.ts`.
 */
import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'

interface Change {
  readonly from: string
  readonly to: string
}

/** https://github.com/diegomura/react-pdf/issues/747 and 1571, closed without a direction for boxes. */
const LAYOUT: readonly Change[] = [
  // An element has the direction of its parent, unless its style sets one.
  {
    from: "const BASE_INHERITABLE_PROPERTIES = [\n    'color',",
    to: "const BASE_INHERITABLE_PROPERTIES = [\n    'direction',\n    'color',",
  },
  // Boxes are arranged in their direction. Mirrored styles (a reversed row for a row, left for right) do not work: an element that has a
  // width of its own in a column, or an absolute position without sides, would stay at the left.
  {
    from: 'setColumnGap(node.style.columnGap))(node);\n',
    to: `setColumnGap(node.style.columnGap))(node);
    if (node.style.direction === 'rtl') node.yogaNode.setDirection(Yoga.Direction.RTL);
    if (node.style.direction === 'ltr') node.yogaNode.setDirection(Yoga.Direction.LTR);
`,
  },
  // If a box is as wide as its text, the text begins at the side where its direction begins. A justified text there has one line, or fills
  // the box.
  {
    from: 'const alignFactor = ALIGNMENT_FACTORS[node.style?.textAlign] || 0;',
    to: `const { textAlign = 'start', direction } = node.style ?? {};
        const atTheRight = direction === 'rtl' ? ['right', 'start', 'justify'] : ['right', 'end'];
        const alignFactor = atTheRight.includes(textAlign) ? 1 : ALIGNMENT_FACTORS[textAlign] || 0;`,
  },
]

const TEXTKIT: readonly Change[] = [
  // The first line is indented at the side where it begins.
  {
    from: 'x: rect.x + lineIndent,',
    to: "x: rect.x + (style.direction === 'rtl' ? 0 : lineIndent),",
  },
  // The font says how high a mark is over its letter. Here it is in thousandths of the font size in which it is drawn. react-pdf forgets
  // it: https://github.com/diegomura/react-pdf/issues/3381, closed for letters that have a glyph with their mark.
  {
    from: '        run.positions[i].yOffset = yOffset;',
    to: '        run.positions[i].yOffset = yOffset + (run.positions[i].yOffset * 1000) / (run.attributes?.fontSize || 12);',
  },
]

const CHANGES = new Map([
  ['/@react-pdf/layout/lib/index.js', LAYOUT],
  ['/@react-pdf/textkit/lib/textkit.js', TEXTKIT],
])

const STEPS = new URL('../text/textkit.ts', import.meta.url).href

/** Imports what `load` imports, with react-pdf corrected. Has no effect if its layout was loaded before. */
export async function withCorrections<Module>(load: () => Promise<Module>): Promise<Module> {
  const hooks = registerHooks({
    resolve(name, context, nextResolve) {
      const isLayout = name === '@react-pdf/textkit' && context.parentURL?.includes('/@react-pdf/layout/') === true
      return nextResolve(isLayout ? STEPS : name, context)
    },
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const changes = CHANGES.get(/\/@react-pdf\/[^/]+\/lib\/[^/]+$/.exec(new URL(url).pathname)?.[0] ?? '')
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
  assert(before !== undefined && after !== undefined && others.length === 0, `${url} has once: ${from}`)
  return before + to + after
}
