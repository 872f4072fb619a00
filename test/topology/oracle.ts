/** Reads facts about a PDF with independent tools. */
import { execFile } from 'node:child_process'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface PdfFont {
  readonly name: string
  readonly isEmbedded: boolean
  /** Without a map back to Unicode, text cannot be copied. */
  readonly hasUnicode: boolean
}

export interface PdfFacts {
  readonly pages: number
  /** Width and height of the first page, in points. */
  readonly size: readonly [number, number]
  readonly title: string | undefined
  /** The entries of pdfinfo. */
  readonly info: Readonly<Record<string, string>>
  /** All text, with the layout of the page. */
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

/** As pdfimages reports them, masks included: `image jpeg 64×48`. */
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

/** On the first page, in points from the upper left corner. */
export function wordsOf(bytes: Uint8Array): Promise<readonly { x: number; y: number; right: number; word: string }[]> {
  return withFile(bytes, async (file) => {
    const { stdout } = await run('pdftotext', ['-bbox', '-l', '1', file, '-'])
    return Array.from(
      stdout.matchAll(/<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="[\d.]+">(.*)<\/word>/g),
      ([, x, y, right, word = '']) => ({ x: Number(x), y: Number(y), right: Number(right), word }),
    )
  })
}

/** Renders the first page as a PPM image, two points a pixel. It shows what two different readers would both see. */
export function pictureOf(bytes: Uint8Array): Promise<Buffer> {
  return withFile(bytes, async (file) => {
    const { stdout } = await run('pdftoppm', ['-r', '36', '-l', '1', file], { encoding: 'buffer' })
    return stdout
  })
}

/** The text, and all objects unpacked, byte for byte. */
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
  await using folder = await mkdtempDisposable(join(tmpdir(), 'platen-pdf-'))
  const file = join(folder.path, 'document.pdf')
  await writeFile(file, bytes)
  return await read(file)
}

/** A row ends with `… emb sub uni object generation`. Font names may contain blanks, so the columns are counted from the end. */
function readFont(row: string): PdfFont {
  const words = row.trim().split(/\s+/)
  return { name: words[0] ?? '', isEmbedded: words.at(-5) === 'yes', hasUnicode: words.at(-3) === 'yes' }
}

export function occurrences(text: string, part: string): number {
  return text.split(part).length - 1
}
