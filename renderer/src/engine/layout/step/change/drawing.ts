/** What react-pdf's drawing and pdfkit do again and again. */
import type { Change } from './direction.ts'

/** What is the same for each run of letters, and each box with a border, is not computed anew. */
export const FASTER_DRAWING: readonly Change[] = [
  {
    from: "import * as P from '@react-pdf/primitives';",
    to: `import * as P from '@react-pdf/primitives';
import { glyphCode, knownColor } from '${new URL('../drawing.ts', import.meta.url).href}';`,
  },
  // Positions are scaled where they are read. Each letter would get an object for that.
  {
    from: '(ctx, encoded, positions, x, y) => {',
    to: '(ctx, encoded, glyphs, positions, { x, y, toEm, ofGlyph }) => {',
  },
  {
    from: 'const advance = positions[cur - 1].xAdvance - positions[cur - 1].advanceWidth;',
    to: 'const advance = positions[cur - 1].xAdvance * toEm - glyphs[cur - 1].advanceWidth * ofGlyph;',
  },
  {
    from: 'if (pos.xAdvance - pos.advanceWidth !== 0) {',
    to: 'if (pos.xAdvance * toEm - glyphs[i].advanceWidth * ofGlyph !== 0) {',
  },
  { from: 'x += pos.xAdvance * scale;', to: 'x += pos.xAdvance * toEm * scale;' },
  {
    from: `    const encodedPositions = positions.map((pos, i) => ({
        xAdvance: pos.xAdvance * scale,
        yAdvance: pos.yAdvance * scale,
        xOffset: pos.xOffset,
        yOffset: pos.yOffset,
        advanceWidth: glyphs[i].advanceWidth * advanceWidthScale,
    }));
    return _renderGlyphs(ctx, encodedGlyphs, encodedPositions, x, y);`,
    to: '    return _renderGlyphs(ctx, encodedGlyphs, glyphs, positions, { x, y, toEm: scale, ofGlyph: advanceWidthScale });',
  },
  { from: 'res.push(`0000${gid.toString(16)}`.slice(-4));', to: 'res.push(glyphCode(gid));' },
  // Few runs have an image in them.
  {
    from: '    const space = font.glyphForCodePoint(0x20);\n',
    to: `    if (!run.attributes.attachment) {
        ctx.restore();
        return;
    }
    const space = font.glyphForCodePoint(0x20);
`,
  },
  ...['run.attributes.color', 'node.style.backgroundColor'].map((color) => ({
    from: `const color = parseColor(${color});`,
    to: `const color = knownColor(ctx, ${color}, parseColor);`,
  })),
  ...['Top', 'Right', 'Bottom', 'Left'].map((side) => ({
    from: `parseColor(border${side}Color);`,
    to: `knownColor(ctx, border${side}Color, parseColor);`,
  })),
]

/** Without lists: most of what pdfkit draws moves the place to draw at. */
export const FASTER_MATRIX: readonly Change[] = [
  {
    from: 'const [m0, m1, m2, m3, m4, m5] = m;\n    m[0] = m0 * m11',
    to: 'const m0 = m[0], m1 = m[1], m2 = m[2], m3 = m[3], m4 = m[4], m5 = m[5];\n    m[0] = m0 * m11',
  },
  {
    from: "const values = [m11, m12, m21, m22, dx, dy].map(v => number$1(v)).join(' ');\n    return this.addContent(`${values} cm`);",
    to: 'return this.addContent(`${number$1(m11)} ${number$1(m12)} ${number$1(m21)} ${number$1(m22)} ${number$1(dx)} ${number$1(dy)} cm`);',
  },
]
