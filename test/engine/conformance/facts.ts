/** What can be compared of two PDFs, page by page, as independent tools read them. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Word {
  readonly text: string
  readonly x: number
  readonly y: number
}

export interface PageFacts {
  readonly size: readonly [number, number]
  /** By text, then by place: the order in which things are drawn says nothing of where they are. */
  readonly words: readonly Word[]
  /** Digest of the page as a grey picture of 50 dots an inch. */
  readonly picture: string
}

export interface DocumentFacts {
  readonly pages: readonly PageFacts[]
  /** Annotations, outline, named destinations, form fields and the catalog's entries, without numbers of objects. */
  readonly structure: unknown
}

/** Reads a PDF. Throws when qpdf finds anything wrong with it. */
export async function factsOf(pdf: Uint8Array): Promise<DocumentFacts> {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'platen-facts-'))
  const folder = temporary.path
  const file = join(folder, 'document.pdf')
  await writeFile(file, pdf)
  await run('qpdf', ['--check', file])
  const [words, json] = await Promise.all([
    run('pdftotext', ['-bbox-layout', file, '-'], { maxBuffer: 2 ** 26 }),
    run('qpdf', ['--json=2', '--json-key=qpdf', file], { maxBuffer: 2 ** 28 }),
    run('pdftoppm', ['-r', '50', '-gray', file, join(folder, 'page')]),
  ])
  const pictures = (await readdir(folder)).filter((name) => name.endsWith('.pgm')).sort()
  const digests = await Promise.all(
    pictures.map(async (name) =>
      createHash('sha256')
        .update(await readFile(join(folder, name)))
        .digest('hex'),
    ),
  )
  const pages = pagesOf(words.stdout).map((page, at) => ({ ...page, picture: digests[at] ?? '' }))
  return { pages, structure: structureOf(JSON.parse(json.stdout)) }
}

function pagesOf(html: string): readonly Omit<PageFacts, 'picture'>[] {
  return html
    .split('<page ')
    .slice(1)
    .map((page) => {
      const [, width, height] = /^width="([\d.]+)" height="([\d.]+)"/.exec(page) ?? []
      const words = [...page.matchAll(/<word xMin="([\d.-]+)" yMin="([\d.-]+)"[^>]*>([^<]*)</g)].map(
        ([, x, y, text = '']) => ({ text, x: Number(x), y: Number(y) }),
      )
      return { size: [Number(width), Number(height)] as const, words: words.sort(byTextAndPlace) }
    })
}

/** Places are compared with a tolerance, and so they are in order. */
function byTextAndPlace(one: Word, other: Word): number {
  if (one.text !== other.text) return one.text < other.text ? -1 : 1
  return Math.round(one.y) - Math.round(other.y) || one.x - other.x
}

type Objects = Readonly<Record<string, { readonly value?: Json; readonly stream?: { readonly dict: Json } }>>
type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** The catalog with what it refers to written out, except for the contents and resources of pages. */
function structureOf({ qpdf }: { readonly qpdf: readonly [unknown, Objects] }): unknown {
  const objects = qpdf[1]
  // qpdf's JSON is what it is.
  const trailer = objects['trailer']?.value as { readonly [name: string]: Json }
  const pages: string[] = []
  const visit = (value: Json, path: readonly string[]): unknown => {
    if (typeof value === 'number') return Math.round(value)
    if (Array.isArray(value)) return value.map((part: Json) => visit(part, path))
    if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value).filter(([name]) => !UNCOMPARED.has(name))
      return Object.fromEntries(entries.map(([name, part]) => [unnumbered(name), visit(part, path)]))
    }
    if (typeof value !== 'string') return value
    if (!/^\d+ \d+ R$/.test(value)) return unnumbered(value)
    if (path.includes(value)) return 'an object above'
    const object = objects[`obj:${value}`]
    const content = object?.value ?? object?.stream?.dict ?? null
    const isPage = typeof content === 'object' && content !== null && '/Type' in content && content['/Type'] === '/Page'
    if (isPage && pages.includes(value)) return `page ${pages.indexOf(value) + 1}`
    if (isPage) pages.push(value)
    return visit(content, [...path, value])
  }
  // The tree of pages first: what follows refers to them.
  const { '/Pages': tree = null, ...rest } = objectOf(objects, trailer['/Root'] ?? null)
  return { pages: visit(tree, []), catalog: visit(rest, []) }
}

/** Fonts are counted, and one that is never used may count. */
function unnumbered(text: string): string {
  return text.replace(/\/F\d+/g, '/F').replace(/\/[A-Z]{6}\+/g, '/')
}

function objectOf(objects: Objects, reference: Json): { readonly [name: string]: Json } {
  const name = typeof reference === 'string' ? reference : ''
  return objects[`obj:${name}`]?.value as { readonly [name: string]: Json }
}

/** Compared by its looks, or with an order of its own. */
const UNCOMPARED = new Set(['/Contents', '/Resources', '/Parent', '/Metadata', '/CreationDate', '/ModDate', '/M'])
