/** Images and fonts that claim, unpack to or ask for far more than their bytes: what `bomb` names in the corpus. */
import { constants, deflateRawSync } from 'node:zlib'
import type { Asset } from '@platen/contract/domain/tenant.ts'
import { readTables, writeSfnt } from '@platen/renderer/template/asset/font/sfnt.ts'
import { aFont, anAsset, aPhoto, aPng, type PngFields } from '../../fixture/asset.ts'
import { subroutines, substituting, words } from './bomb-table.ts'

const MIB = 2 ** 20

/** 25 million pixels, which is what an image may have. */
const SIDE_MAX = 5000

/** By name, the assets of an attack; a font is the face of the family Bomb. */
export const BOMBS = {
  pngOfHugeSide: () => png({ width: 50_000, height: 50_000, bits: 1, color: 0, packed: zeros(50_000 * 6251) }),
  pngOfMorePixels: () => png({ packed: zeros(512 * MIB) }),
  pngOfHugeProfile: () => png({ chunks: [['iCCP', Buffer.concat([Buffer.from('x\0\0'), zeros(1024 * MIB)])]] }),
  pngOfHugeComment: () => png({ chunks: [['zTXt', Buffer.concat([Buffer.from('x\0\0'), zeros(1024 * MIB)])]] }),
  pngCutShort: () => png({ width: 4000, height: 4000, isInterlaced: true, packed: zeros(MIB).subarray(0, 500) }),
  pngOfPixelsMax: () => png(transparent(0)),
  pngsOfPixelsMax: () => Array.from({ length: 20 }, (_, at) => anAsset(`bomb-${at}.png`, aPng(transparent(at)))),
  pngOfDeepPixelsMax: () => png({ ...largest, bits: 16, packed: zeros(SIDE_MAX * (1 + 8 * SIDE_MAX)) }),
  pngOfNoPalette: () =>
    png({
      ...palette,
      chunks: [
        ['PLTE', Buffer.alloc(0)],
        ['tRNS', Buffer.alloc(300)],
      ],
    }),
  pngOfPaletteMax: () =>
    png({
      ...palette,
      chunks: [
        ['PLTE', Buffer.alloc(6)],
        ['tRNS', Buffer.of(0, 9)],
      ],
    }),
  jpegOfHugeSide: () => [anAsset('bomb.jpg', jpeg({ side: 65_535, scans: 1 }))],
  jpegOfScans: () => [anAsset('bomb.jpg', jpeg({ side: SIDE_MAX, scans: 20_000 }))],
  jpegOfMarkers: () => [anAsset('bomb.jpg', Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(8 * MIB, 0xff)]))],
  woffOfHugeTables: () =>
    packedFont('bomb.woff', 'brand-regular.woff', (data) => data.writeUInt32BE(0x7fff_ffff, 44 + 12)),
  // The length of the first table, in seven bits a byte.
  woff2OfHugeTables: () =>
    packedFont('bomb.woff2', 'brand-regular.woff2', (data) => data.set([0x87, 0xff, 0xff, 0xff, 0x7f], 49)),
  fontOfRings: () => composites((glyph) => [glyph]),
  fontOfDoubling: () => composites((glyph) => (glyph === 0 ? [] : [glyph - 1, glyph - 1])),
  fontOfSubroutines: () => font(0x4f54544f, { 'CFF ': subroutines(glyphCount), glyf: undefined, loca: undefined }),
  fontOfHugeMap: () =>
    font(0x10000, { cmap: words(0, 1, 3, 10, 0, 12, 12, 0, 0, 28, 0, 0, 0, 1, 0, 0, 0xffff, 0xffff, 0, 1) }),
  fontOfOneTable: () => [anAsset('bomb.ttf', overlapping())],
  fontOfTables: () => [anAsset('bomb.ttf', tables(60_000))],
  fontOfNames: () => font(0x10000, { name: names(60_000) }),
  fontOfSubstitutions: () => font(0x10000, { GSUB: substituting(glyphCount) }),
  svgOfUses: () => [anAsset('bomb.svg', uses())],
} as const satisfies Record<string, () => readonly Asset[]>

const largest = { width: SIDE_MAX, height: SIDE_MAX }
const palette = { ...largest, bits: 1, color: 3, packed: zeros(SIDE_MAX * (1 + SIDE_MAX / 8)) }

/** Of nothing but zeros; `at` makes it another file. */
function transparent(at: number): PngFields {
  return { ...largest, packed: zeros(SIDE_MAX * (1 + 4 * SIDE_MAX)), chunks: [['tEXt', Buffer.from(`x\0${at}`)]] }
}

function png(fields: PngFields): readonly Asset[] {
  return [anAsset('bomb.png', aPng(fields))]
}

/** So many zeros, packed as PNG does, without ever being in memory. */
function zeros(count: number): Buffer {
  const block = deflateRawSync(Buffer.alloc(MIB), { finishFlush: constants.Z_FULL_FLUSH })
  const blocks = Array.from({ length: Math.floor(count / MIB) }, () => block)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(((count % 65_521) * 0x10000 + 1) >>> 0)
  return Buffer.concat([Buffer.from([0x78, 0x9c]), ...blocks, deflateRawSync(Buffer.alloc(count % MIB)), sum])
}

/** A photograph with another size, its scan repeated; with many, each is of progressive form. */
function jpeg({ side, scans }: { side: number; scans: number }): Buffer {
  const photo = aPhoto()
  const frame = photo.indexOf(Buffer.from([0xff, 0xc0]))
  const scan = photo.indexOf(Buffer.from([0xff, 0xda]))
  const head = Buffer.from(photo.subarray(0, scan))
  head.writeUInt16BE(side, frame + 5)
  head.writeUInt16BE(side, frame + 7)
  if (scans > 1) head.writeUInt8(0xc2, frame + 1)
  // Its first coefficient alone: progressive scans say which.
  const body = scans > 1 ? Buffer.from([0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0, 1, 2, 3]) : photo.subarray(scan, -2)
  return Buffer.concat([head, ...Array.from({ length: scans }, () => body), Buffer.from([0xff, 0xd9])])
}

const brand = Buffer.from(aFont('brand-regular.ttf').bytes)
const brandTables = readTables(brand)
const glyphCount = brandTables.get('maxp')?.readUInt16BE(4) ?? 0

function font(flavor: number, changes: Readonly<Record<string, Buffer | undefined>>): readonly Asset[] {
  const all = new Map(brandTables)
  for (const [tag, table] of Object.entries(changes)) {
    if (table === undefined) all.delete(tag)
    else all.set(tag, table)
  }
  return [anAsset(flavor === 0x10000 ? 'bomb.ttf' : 'bomb.otf', writeSfnt(flavor, all))]
}

function packedFont(name: string, file: string, change: (data: Buffer) => void): readonly Asset[] {
  const data = Buffer.from(aFont(file).bytes)
  change(data)
  return [anAsset(name, data)]
}

/** A font each of whose glyphs is made of others. */
function composites(partsOf: (glyph: number) => readonly number[]): readonly Asset[] {
  const glyphs = Array.from({ length: glyphCount }, (_, glyph) => {
    const parts = partsOf(glyph)
    // Two words of place for each part; 0x20 says that there are more.
    const body = parts.flatMap((part, at) => [at < parts.length - 1 ? 0x21 : 0x01, part, 0, 0])
    return parts.length === 0 ? Buffer.alloc(0) : words(0xffff, 0, 0, 100, 100, ...body)
  })
  const loca = Buffer.alloc((glyphCount + 1) * 4)
  let end = 0
  for (const [at, glyph] of glyphs.entries()) {
    end += glyph.length
    loca.writeUInt32BE(end, (at + 1) * 4)
  }
  const head = Buffer.from(brandTables.get('head') ?? [])
  head.writeInt16BE(1, 50)
  return font(0x10000, { glyf: Buffer.concat(glyphs), loca, head })
}

/** Each table of the brand's font at its beginning, and as long as all of it. */
function overlapping(): Buffer {
  const data = Buffer.from(brand)
  for (let entry = 0; entry < data.readUInt16BE(4); entry += 1) {
    data.writeUInt32BE(0, 12 + entry * 16 + 8)
    data.writeUInt32BE(data.length, 12 + entry * 16 + 12)
  }
  return data
}

function tables(count: number): Buffer {
  const all = new Map(brandTables)
  for (let at = 0; all.size < count; at += 1) all.set(at.toString(36).padStart(4, '0'), Buffer.alloc(0))
  return writeSfnt(0x10000, all)
}

/** Names that are all the same text of 64 KiB. */
function names(count: number): Buffer {
  const records = Buffer.alloc(6 + count * 12)
  records.writeUInt16BE(count, 2)
  records.writeUInt16BE(6, 4)
  for (let at = 0; at < count; at += 1) words(3, 1, 0x409, at % 20, 0xfffe, 0).copy(records, 6 + at * 12)
  return Buffer.concat([records, Buffer.alloc(MIB, 65)])
}

function uses(): Buffer {
  const level = (at: number) => `<g id="l${at}">${`<use href="#l${at - 1}"/>`.repeat(10)}</g>`
  const levels = Array.from({ length: 12 }, (_, at) => level(at + 1)).join('')
  return Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><defs><g id="l0"><rect width="1" height="1"/></g>${levels}</defs><use href="#l12"/></svg>`,
  )
}
