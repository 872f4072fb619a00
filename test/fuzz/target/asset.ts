/** Fonts and images that are no longer what they were, as assets of a template in either engine. */
import { readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { TemplateSource } from '@platen/contract/domain/tenant.ts'
import * as fc from 'fast-check'
import { aDisc, anAsset, aPhoto, aPng, RED_GIF, RED_JPEG, RED_WEBP } from '../../fixture/asset.ts'
import { aRenderWork } from '../../fixture/render/work.ts'
import { type Edit, edited, edits } from '../generate/bytes.ts'
import { type Target, targetOf } from '../target.ts'
import { openDocuments } from './document.ts'

const font = (file: string) => readFileSync(new URL(`../../fixture/font/${file}`, import.meta.url))
const FILES: Readonly<Record<string, Uint8Array>> = {
  'logo.png': aPng(),
  'disc.png': aDisc({ bits: 4, transparency: [0, 255] }),
  'photo.jpg': aPhoto(),
  'red.jpg': RED_JPEG,
  'red.gif': RED_GIF,
  'red.webp': RED_WEBP,
  'brand.ttf': font('brand-regular.ttf'),
  'brand.otf': font('brand-cubic.otf'),
  'brand.woff': font('brand-regular.woff'),
  'brand.woff2': font('brand-regular.woff2'),
}

interface Asset {
  readonly file: string
  readonly edits: readonly Edit[]
  /** Are the sums of a PNG made right again, so that a reader looks further? */
  readonly isSummed: boolean
}

export const assets: readonly Target[] = (['react_pdf', 'html'] as const).map((engine) =>
  targetOf<Asset>({
    name: `asset_${engine}`,
    inputs: fc.record({ file: fc.constantFrom(...Object.keys(FILES)), edits, isSummed: fc.boolean() }),
    open: () =>
      openDocuments(engine, ({ file, edits: by, isSummed }) => {
        const bytes = edited(FILES[file] ?? Buffer.alloc(0), by)
        return aRenderWork({
          template: templateOf(engine, file),
          assets: [anAsset(file, isSummed ? summed(bytes) : bytes)],
        })
      }),
  }),
)

function templateOf(engine: Engine, file: string): Partial<TemplateSource> {
  const isFont = file.startsWith('brand')
  const fonts = isFont ? { fonts: [{ family: 'Own', asset: file, weight: 400, style: 'normal' }] as const } : {}
  if (engine === 'html') {
    const template = isFont ? '<p style="font-family: Own">Wave AV fi 1 é</p>' : `<img src="asset:${file}">`
    return { html: { template, javascript: false }, ...fonts }
  }
  const shown = isFont ? `<Text style={{ fontFamily: 'Own' }}>Wave AV fi 1 é</Text>` : `<Image src="asset:${file}" />`
  return {
    reactPdf: `import { Document, Image, Page, Text } from '@react-pdf/renderer'\nexport default () => <Document><Page>${shown}</Page></Document>`,
    ...fonts,
  }
}

const PNG_HEADER = 8
const CHUNK_FRAME = 12

/** With the right sum at the end of each chunk of a PNG, as far as there are any. */
function summed(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  for (let at = PNG_HEADER; at + CHUNK_FRAME <= copy.length; ) {
    const end = at + PNG_HEADER + copy.readUInt32BE(at)
    if (end + 4 > copy.length) break
    copy.writeUInt32BE(crc32(copy.subarray(at + 4, end)), end)
    at = end + 4
  }
  return copy
}
