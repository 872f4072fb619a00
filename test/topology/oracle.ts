/** What independent tools say of a PDF. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface PdfFont {
  readonly name: string
  readonly isEmbedded: boolean
  /** Has it a map back to Unicode, without which text cannot be copied? */
  readonly hasUnicode: boolean
}

export interface PdfFacts {
  readonly pages: number
  /** Width and height of the first page, in points. */
  readonly size: readonly [number, number]
  readonly title: string | undefined
  /** What pdfinfo lists, by its names. */
  readonly info: Readonly<Record<string, string>>
  /** All text, laid out as on the page. */
  readonly text: string
  readonly fonts: readonly PdfFont[]
}

/** Reads a PDF with qpdf, pdfinfo, pdftotext and pdffonts. Throws when qpdf finds anything wrong with it. */
export function inspectPdf(bytes: Uint8Array): Promise<PdfFacts> {
  return withFile(bytes, async (file) => {
    await run('qpdf', ['--check', file])
    const [info, text, fonts] = await Promise.all([
      run('pdfinfo', [file]),
      run('pdftotext', ['-layout', file, '-'], { maxBuffer: 64 * 1024 * 1024 }),
      run('pdffonts', [file]),
    ])
    const [, width, height] = /^Page size:\s+([\d.]+) x ([\d.]+)/m.exec(info.stdout) ?? []
    return {
      pages: Number(/^Pages:\s+(\d+)/m.exec(info.stdout)?.[1]),
      size: [Number(width), Number(height)],
      title: /^Title:\s+(.*)$/m.exec(info.stdout)?.[1],
      info: Object.fromEntries(
        Array.from(info.stdout.matchAll(/^([^:\n]+):[ \t]*(.*)$/gm), ([, name, value]) => [name, value]),
      ),
      text: text.stdout,
      fonts: fonts.stdout.split('\n').slice(2).filter(Boolean).map(readFont),
    }
  })
}

/** The images of a PDF as pdfimages lists them, masks included: `image jpeg 64×48`. */
export function imagesOf(bytes: Uint8Array): Promise<readonly string[]> {
  return withFile(bytes, async (file) => {
    const { stdout } = await run('pdfimages', ['-list', file])
    return stdout
      .split('\n')
      .slice(2)
      .filter(Boolean)
      .map((row) => {
        const [, , type, width, height, , , , encoding] = row.trim().split(/\s+/)
        return `${type} ${encoding} ${width}×${height}`
      })
  })
}

/** Where each word of the first page stands, in points from its upper left corner. */
export function wordsOf(bytes: Uint8Array): Promise<readonly { x: number; y: number; right: number; word: string }[]> {
  return withFile(bytes, async (file) => {
    const { stdout } = await run('pdftotext', ['-bbox', '-l', '1', file, '-'])
    return Array.from(
      stdout.matchAll(/<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="[\d.]+">(.*)<\/word>/g),
      ([, x, y, right, word = '']) => ({ x: Number(x), y: Number(y), right: Number(right), word }),
    )
  })
}

/** The first page as a picture in the format of PPM, two points a pixel; what two readers of it would both see. */
export function pictureOf(bytes: Uint8Array): Promise<Buffer> {
  return withFile(bytes, async (file) => {
    const { stdout } = await run('pdftoppm', ['-r', '36', '-l', '1', file], { encoding: 'buffer' })
    return stdout
  })
}

/** What a reader and a searcher of a PDF find in it: its text, and all its objects unpacked, byte by byte. */
export function contentOf(bytes: Uint8Array): Promise<{ readonly text: string; readonly objects: string }> {
  return withFile(bytes, async (file) => {
    const maxBuffer = 64 * 1024 * 1024
    const [text, objects] = await Promise.all([
      run('pdftotext', ['-layout', file, '-'], { maxBuffer }),
      run('qpdf', ['--qdf', '--object-streams=disable', file, '-'], { maxBuffer, encoding: 'latin1' }),
    ])
    return { text: text.stdout, objects: objects.stdout }
  })
}

async function withFile<T>(bytes: Uint8Array, read: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-pdf-'))
  const file = join(folder, 'document.pdf')
  try {
    await writeFile(file, bytes)
    return await read(file)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Rows end `… emb sub uni object generation`; names may hold blanks, so they are read from the end. */
function readFont(row: string): PdfFont {
  const words = row.trim().split(/\s+/)
  return { name: words[0] ?? '', isEmbedded: words.at(-5) === 'yes', hasUnicode: words.at(-3) === 'yes' }
}

/** How often a text occurs in another. */
export function occurrences(text: string, part: string): number {
  return text.split(part).length - 1
}
