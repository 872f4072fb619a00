/** What is wrong in react-pdf where it lays text out from the right, and where it sets marks: vowels and accents over and under letters. */

/** A place of a module, which is there once, and what stands there instead. */
export interface Change {
  readonly from: string
  readonly to: string
}

/**
 * The layout engine for boxes can lay out from the right, but react-pdf never tells it the direction, and hands the direction of a box to
 * none of the texts inside. To mirror the styles instead (a row for a reversed row, left for right) does not work: what has a width of its
 * own in a column, or an absolute position without sides, would stay at the left.
 */
export const DIRECTION_OF_BOXES: readonly Change[] = [
  // The direction of an element is that of its parent, unless its style sets one.
  {
    from: "const BASE_INHERITABLE_PROPERTIES = [\n    'color',",
    to: "const BASE_INHERITABLE_PROPERTIES = [\n    'direction',\n    'color',",
  },
  // Boxes are arranged in their direction.
  {
    from: 'setColumnGap(node.style.columnGap))(node);\n',
    to: `setColumnGap(node.style.columnGap))(node);
    if (node.style.direction === 'rtl') node.yogaNode.setDirection(Yoga.Direction.RTL);
    if (node.style.direction === 'ltr') node.yogaNode.setDirection(Yoga.Direction.LTR);
`,
  },
  // Text begins at the side where its direction begins.
  {
    from: "align: textAlign || (direction === 'rtl' ? 'right' : 'left'),",
    to: 'align: sideOf(textAlign, direction),',
  },
  // So does text in a box as wide as its content. There the last line of a justified text is its only one, or its box is full.
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

export const DIRECTION_OF_LINES: readonly Change[] = [
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

/**
 * A font says how far a mark is from the place after its letter. react-pdf forgets the vertical distance, and draws the horizontal one in
 * another unit, so that it is nearly none.
 */
export const PLACE_OF_MARKS: readonly Change[] = [
  // From points, as all positions, to thousandths of the font size, as this one is drawn.
  {
    from: '        run.positions[i].yOffset = yOffset;',
    to: '        run.positions[i].yOffset = yOffset + (run.positions[i].yOffset * 1000) / (run.attributes?.fontSize || 12);',
  },
  // From the right, a mark is drawn before its letter: the place to count from is where the letter begins, not where it ends.
  {
    from: '    const positions = [...(run.positions || [])].reverse();',
    to: `    let advance = 0;
    const positions = (run.positions || []).map((position, at) => {
        const { xAdvance, xOffset } = position;
        const before = advance;
        advance = run.glyphs[at].isMark ? advance + xAdvance : xAdvance;
        return run.glyphs[at].isMark && xOffset !== 0 ? { ...position, xOffset: xOffset + before } : position;
    }).reverse();`,
  },
]

export const UNIT_OF_MARKS: readonly Change[] = [
  { from: 'number(x + pos.xOffset * scale)', to: 'number(x + pos.xOffset * toEm * scale)' },
]
