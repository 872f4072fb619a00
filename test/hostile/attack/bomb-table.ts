/** Tables of fonts whose work doubles with every step. */

/** Numbers of 16 bits, as fonts are made of. */
export function words(...numbers: readonly number[]): Buffer {
  const data = Buffer.alloc(numbers.length * 2)
  for (const [at, number] of numbers.entries()) data.writeUInt16BE(number & 0xffff, at * 2)
  return data
}

/** Lookups that each put two letters in the place of every one. */
export function substituting(glyphs: number): Buffer {
  const LOOKUPS = 40
  const scripts = words(1, 0x4446, 0x4c54, 8, 4, 0, 0, 0xffff, 1, 0)
  const features = words(1, 0x6363, 0x6d70, 8, 0, LOOKUPS, ...Array.from({ length: LOOKUPS }, (_, at) => at))
  // Multiple substitution: a sequence for each glyph, and the range they are in.
  const sequenceOffset = (glyph: number) => 6 + glyphs * 2 + 10 + glyph * 6
  const coverage = words(2, 1, 0, glyphs - 1, 0)
  const offsets = Array.from({ length: glyphs }, (_, glyph) => sequenceOffset(glyph))
  const sequences = Array.from({ length: glyphs }, (_, glyph) => [2, glyph, glyph]).flat()
  const subtable = Buffer.concat([words(1, 6 + glyphs * 2, glyphs, ...offsets), coverage, words(...sequences)])
  // Every lookup is the same, and has the same subtable.
  const lookup = Buffer.concat([words(2, 0, 1, 8), subtable])
  const list = words(LOOKUPS, ...Array.from({ length: LOOKUPS }, () => 2 + LOOKUPS * 2))
  const header = words(1, 0, 10, 10 + scripts.length, 10 + scripts.length + features.length)
  return Buffer.concat([header, scripts, features, list, lookup])
}

/** An INDEX of CFF, with offsets of four bytes. */
function index(items: readonly Buffer[]): Buffer {
  if (items.length === 0) return words(0)
  const offsets = Buffer.alloc((items.length + 1) * 4)
  let end = 1
  for (const [at, item] of [...items, Buffer.alloc(0)].entries()) {
    offsets.writeUInt32BE(end, at * 4)
    end += item.length
  }
  return Buffer.concat([words(items.length), Buffer.of(4), offsets, ...items])
}

/** A CFF whose glyphs call a subroutine that calls another twice, and so on. */
export function subroutines(glyphs: number): Buffer {
  const CALL = 29
  const call = (at: number) => Buffer.of(at - 107 + 139, CALL)
  const line = Buffer.of(140, 140, 5, 11)
  const routines = Array.from({ length: 60 }, (_, at) =>
    at === 0 ? line : Buffer.concat([call(at - 1), call(at - 1), Buffer.of(11)]),
  )
  const charStrings = index(
    Array.from({ length: glyphs }, () => Buffer.concat([Buffer.of(139, 139, 21), call(59), Buffer.of(14)])),
  )
  const [names, strings, globals] = [index([Buffer.from('Bomb')]), index([]), index(routines)]
  const number = (value: number) => {
    const data = Buffer.of(29, 0, 0, 0, 0)
    data.writeInt32BE(value, 1)
    return data
  }
  const top = (offset: number) =>
    index([Buffer.concat([number(offset), Buffer.of(17), number(0), number(0), Buffer.of(18)])])
  const header = Buffer.of(1, 0, 4, 4)
  const offset = header.length + names.length + top(0).length + strings.length + globals.length
  return Buffer.concat([header, names, top(offset), strings, globals, charStrings])
}
