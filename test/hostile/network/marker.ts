/** Files that say whose they are: one of each kind a document may take in, so that it shows in a PDF where one was. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aDejaVuFont, anSvg, aPng, RED } from '../../fixture/asset.ts'

/** Sides no image of a document has by chance. */
export const MARKED_IMAGE = { width: 37, height: 23 } as const

interface MarkedFile {
  readonly ending: string
  readonly type: string
  content(word: string): string | Uint8Array
}

/** The first is what is served where nothing else is asked for. */
export const MARKED_FILES = [
  { ending: '.html', type: 'text/html', content: (word) => `<!doctype html><p>${word}` },
  { ending: '.txt', type: 'text/plain', content: (word) => word },
  { ending: '.css', type: 'text/css', content: (word) => `html::before { content: '${word}' }` },
  { ending: '.js', type: 'text/javascript', content: (word) => `globalThis.document?.body?.append('${word}')` },
  { ending: '.json', type: 'application/json', content: (word) => JSON.stringify({ word }) },
  { ending: '.vtt', type: 'text/vtt', content: (word) => `WEBVTT\n\n00:00.000 --> 01:00.000\n${word}\n` },
  { ending: '.xml', type: 'application/xml', content: (word) => `<?xml version="1.0"?><root>${word}</root>` },
  { ending: '.png', type: 'image/png', content: () => markedImage() },
  { ending: '.svg', type: 'image/svg+xml', content: (word) => markedDrawing(word) },
  { ending: '.ttf', type: 'font/ttf', content: () => aDejaVuFont('DejaVuSansMono') },
] as const satisfies readonly MarkedFile[]

export interface Markers extends Disposable {
  /** A folder with a file `marker` of every ending. */
  readonly folder: string
  read(file: MarkedFile): string | Uint8Array
}

/** Writes files marked with `word` into a new folder, which goes when they are disposed of. */
export function writeMarkers(word: string): Markers {
  const folder = mkdtempSync(join(tmpdir(), 'platen-marker-'))
  for (const file of MARKED_FILES) writeFileSync(join(folder, `marker${file.ending}`), file.content(word))
  return {
    folder,
    read: (file) => file.content(word),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function markedImage(): Uint8Array {
  const { width, height } = MARKED_IMAGE
  // Each row has the number of its filter in front: none.
  const row = [0, ...Array.from({ length: width }, () => [200, 0, 0, 255]).flat()]
  const pixels = Buffer.from(Array.from({ length: height }, () => row).flat())
  return aPng({ width, height, pixels })
}

/** With an element to be used by its name, and text of its own. */
function markedDrawing(word: string): string {
  const [opening, rest] = Buffer.from(anSvg(RED)).toString().split('<rect', 2)
  return `${opening}<text id="a" y="8">${word}</text><rect${rest}`
}
