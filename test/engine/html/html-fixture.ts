/** What the tests of the html engine share: an engine on the real Chromium, works for it, and eyes for PDFs and processes. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { type HtmlEngineSettings, openHtmlEngine } from '@platen/renderer/engine/html.ts'
import type { RenderWork } from '@platen/renderer/port/engine.ts'
import { openHtmlFiller } from '@platen/renderer/template/html/fill.ts'
import { NEVER, SILENT, UNCOUNTED } from '../../fixture/build.ts'
import { aRenderWork, type RenderWorkFields } from '../../fixture/render/work.ts'
import { processes, type TreeProcess } from '../../soak/process-tree.ts'

/** A new folder, to be removed by whoever asked for it. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'platen-html-'))
}

/** An engine on its own folder. To be disposed of. */
export async function anEngine(settings: Partial<HtmlEngineSettings> & { readonly profileDir?: string } = {}) {
  const profileDir = settings.profileDir ?? temporaryFolder()
  const executablePath = settings.executablePath ?? (await findChromium({}))
  if (executablePath === undefined) throw new Error('these tests need Chromium')
  const engine = await openHtmlEngine({
    executablePath,
    slots: 2,
    fill: openHtmlFiller(),
    clock: systemClock(),
    log: SILENT,
    meter: UNCOUNTED,
    isSandboxed: process.getuid?.() !== 0,
    ...settings,
    profileDir,
  })
  return {
    engine,
    profileDir,
    render: async (work: RenderWork, signal: AbortSignal = NEVER) => (await engine.render(work, signal)).pdf,
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]()
      rmSync(profileDir, { recursive: true, force: true })
    },
  }
}

export interface WorkParts extends RenderWorkFields {
  readonly header?: string
  readonly footer?: string
  readonly javascript?: boolean
}

export function aWork(template: string, { header, footer, javascript = false, ...fields }: WorkParts = {}): RenderWork {
  const edges = { ...(header !== undefined && { header }), ...(footer !== undefined && { footer }) }
  const html = { template, javascript, ...edges }
  return aRenderWork({ ...fields, template: { name: 'The template’s name', html, ...fields.template } })
}

/** Runs a program that reads a PDF. Throws when it fails, so `qpdf --check` is an assertion. */
export function inspect(pdf: Uint8Array, program: string, ...args: string[]): string {
  return outputOf(pdf, program, args).toString()
}

function outputOf(pdf: Uint8Array, program: string, args: readonly string[]): Buffer {
  const folder = temporaryFolder()
  const file = join(folder, 'document.pdf')
  writeFileSync(file, pdf)
  try {
    const at = args.indexOf('FILE')
    return execFileSync(program, at === -1 ? [...args, file] : args.with(at, file), { maxBuffer: 64 * 1024 * 1024 })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The text of a PDF, each run of blanks one space. */
export function textOf(pdf: Uint8Array): string {
  return inspect(pdf, 'pdftotext', '-layout', 'FILE', '-').replace(/\s+/g, ' ').trim()
}

export function infoOf(pdf: Uint8Array, field: string): string | undefined {
  const line = inspect(pdf, 'pdfinfo')
    .split('\n')
    .find((line) => line.startsWith(`${field}:`))
  return line?.slice(field.length + 1).trim()
}

/** The size of the first page in whole points, `595x842`. */
export function sizeOf(pdf: Uint8Array): string {
  const size = /^([\d.]+) x ([\d.]+)/.exec(infoOf(pdf, 'Page size') ?? '')
  return `${Math.round(Number(size?.[1]))}x${Math.round(Number(size?.[2]))}`
}

/** The main processes of the browsers whose profiles are in `profileDir`. */
export function browsersOf(profileDir: string): readonly TreeProcess[] {
  return processes().filter(
    ({ pid, group, command }) => pid === group && command.includes(`--user-data-dir=${profileDir}`),
  )
}

/** Seconds of a processor that no document takes but one that goes on. */
export const BUSY = 0.5

/** A document whose layout goes on for minutes, without a script. */
export const ENDLESS = `<!doctype html>${'<div style="columns:2;height:10px">'.repeat(25)}${'word '.repeat(2000)}`

/** The colour of the first page of a PDF at a place, in points from its upper left corner. */
export function colourAt(pdf: Uint8Array, x: number, y: number): readonly number[] {
  const size = ['-r', '72', '-x', `${x}`, '-y', `${y}`, '-W', '1', '-H', '1']
  return Array.from(outputOf(pdf, 'pdftoppm', [...size, '-f', '1', '-l', '1']).subarray(-3))
}

/** The widths of the dark stretches in a row of the first page, in dots of a third of a point, `y` points below its upper edge. */
export function barsAt(pdf: Uint8Array, y: number): readonly number[] {
  const row = ['-r', '216', '-gray', '-y', `${y * 3}`, '-H', '1', '-f', '1', '-l', '1']
  const [header = ''] = /^P5\s+\d+\s+\d+\s+\d+\s/.exec(outputOf(pdf, 'pdftoppm', row).toString('latin1')) ?? []
  const dots = Array.from(outputOf(pdf, 'pdftoppm', row).subarray(header.length), (grey) => (grey < 128 ? '#' : ' '))
  return Array.from(dots.join('').matchAll(/#+/g), ([bar]) => bar.length)
}

/** Whether nothing is drawn on the first page of a PDF. */
export function isBlank(pdf: Uint8Array): boolean {
  const pixels = outputOf(pdf, 'pdftoppm', ['-r', '36', '-f', '1', '-l', '1'])
  return pixels.subarray(pixels.indexOf('\n255\n') + 5).every((byte) => byte === 255)
}

/** Whether the first page of a PDF has a pixel that is not grey. */
export function isColoured(pdf: Uint8Array): boolean {
  const pixels = outputOf(pdf, 'pdftoppm', ['-r', '36', '-f', '1', '-l', '1'])
  // Three numbers of text, then three bytes for each pixel.
  const at = pixels.indexOf('\n255\n') + 5
  return pixels.subarray(at).some((_, index, bytes) => index % 3 === 0 && bytes[index] !== bytes[index + 2])
}

/** Where each word of a PDF begins, in whole points from the upper left corner of its page. */
export function placesOf(pdf: Uint8Array): ReadonlyMap<string, { readonly x: number; readonly y: number }> {
  const words = inspect(pdf, 'pdftotext', '-bbox', 'FILE', '-').matchAll(
    /<word xMin="([\d.]+)" yMin="([\d.]+)"[^>]*>([^<]*)</g,
  )
  return new Map(
    Array.from(words, ([, x, y, word = '']) => [word, { x: Math.round(Number(x)), y: Math.round(Number(y)) }]),
  )
}

/** The names of the fonts in a PDF, without what tells subsets apart. */
export function fontsOf(pdf: Uint8Array): string[] {
  const lines = inspect(pdf, 'pdffonts').split('\n').slice(2).filter(Boolean)
  return lines.map((line) => /^(?:[A-Z]{6}\+)?(\S+)/.exec(line)?.[1] ?? '').sort()
}

/** The sockets of TCP and UDP a process has open. */
export function socketsOf(pid: number): readonly string[] {
  const known = ['tcp', 'tcp6', 'udp', 'udp6', 'raw'].flatMap((name) => {
    const rows = readFileSync(`/proc/net/${name}`, 'utf8').trim().split('\n').slice(1)
    return rows.map((row) => [`socket:[${row.trim().split(/\s+/)[9]}]`, `${name} ${row}`] as const)
  })
  const table = new Map<string, string>(known)
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return table.get(readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? []
    } catch {
      // Closed meanwhile.
      return []
    }
  })
}
