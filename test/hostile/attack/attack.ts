/** The corpus: attacks as YAML, each with how it is to end, read as work for an engine. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { FailureCode } from '@platen/contract/domain/error.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import type { RenderWork } from '@platen/renderer/port/engine.ts'
import { PRIMITIVES } from '@platen/renderer/template/element/primitive.ts'
import { parse } from 'yaml'
import { aRenderWork } from '../../fixture/render/work.ts'
import { BOMBS } from './bomb.ts'

/** How an attack may end: with a PDF that does no harm, or with a failure. */
export type Ending = 'renders' | FailureCode

export interface Attack {
  readonly name: string
  readonly work: () => RenderWork
  readonly ends: readonly Ending[]
  /** What the failure says: one of these. */
  readonly says: readonly string[]
  /** What the PDF says, and what it must not. */
  readonly prints: string
  readonly lacks: string | undefined
  readonly deadlineMs: number
}

/** A plan's own, for what is to end by itself on however busy a machine; for what may run into it; and for what never ends. */
const DEADLINE_MS = 25_000
const DEADLINE_MS_SHORT = 600
const DEADLINE_MS_ENDLESS = 300

/** A text, or a long one written short. */
type Text =
  | string
  | { readonly before?: string; readonly repeat: string; readonly times: number; readonly after?: string }

/** An entry of the corpus. The source is one of `source` (a module), `document`, `html` (Liquid) and `script` (of a page). */
interface Entry {
  readonly name: string
  readonly source?: Text
  readonly document?: string
  readonly html?: Text
  readonly script?: string
  readonly header?: string
  readonly footer?: string
  readonly javascript?: boolean
  readonly data?: Readonly<Record<string, unknown>>
  readonly dataJson?: string
  readonly bomb?: keyof typeof BOMBS
  readonly ends?: Ending | readonly Ending[]
  readonly says?: string | readonly string[]
  readonly prints?: string
  readonly lacks?: string
  readonly deadlineMs?: number
}

export function attacksOn(engine: Engine): readonly (readonly [file: string, attacks: readonly Attack[]])[] {
  const folder = join(import.meta.dirname, engine.replace('_', '-'))
  return readdirSync(folder).map((file) => {
    // The corpus is ours; an entry that is none fails its test.
    const entries = parse(readFileSync(join(folder, file), 'utf8')) as readonly Entry[]
    return [basename(file, '.yaml'), entries.map(attackOf)] as const
  })
}

function attackOf(entry: Entry): Attack {
  const { name, says = [], prints = '', lacks } = entry
  const ends: readonly Ending[] = [entry.ends ?? 'renders'].flat()
  const isEndless = ends.every((ending) => ending === 'render_timeout')
  const short = isEndless ? DEADLINE_MS_ENDLESS : DEADLINE_MS_SHORT
  const { deadlineMs = ends.includes('render_timeout') ? short : DEADLINE_MS } = entry
  return { name, work: () => workOf(entry), ends, says: [says].flat(), prints, lacks, deadlineMs }
}

function workOf(entry: Entry): RenderWork {
  const { bomb, html, script, header, footer, javascript = script !== undefined } = entry
  const assets = bomb === undefined ? [] : BOMBS[bomb]()
  const fonts = assets
    .filter((asset) => /\.(?:ttf|otf|woff2?)$/.test(asset.name))
    .map((asset) => ({ family: 'Bomb', weight: 400, style: 'normal' as const, asset: asset.name }))
  const page = {
    template: textOf(html) ?? '<!doctype html><body><script>{{ script | raw }}</script>',
    javascript,
    ...(header !== undefined && { header }),
    ...(footer !== undefined && { footer }),
  }
  const isHtml = html !== undefined || script !== undefined
  const reactPdf = textOf(entry.source) ?? moduleOf(entry.document ?? '')
  return aRenderWork({
    tenant: 'attacker',
    template: { ...(isHtml ? { html: page } : { reactPdf }), fonts },
    assets,
    data: dataOf(entry),
    javascriptEnabled: true,
  })
}

function dataOf({ data, dataJson, script }: Entry): JsonObject {
  if (dataJson !== undefined) return JSON.parse(dataJson) as JsonObject
  if (script !== undefined) return { script }
  const isLong = (value: unknown): value is Exclude<Text, string> => Object.hasOwn(Object(value), 'repeat')
  const entries = Object.entries(data ?? {}).map(([key, value]) => [key, isLong(value) ? textOf(value) : value])
  // YAML of the corpus holds nothing but JSON.
  return Object.fromEntries(entries) as JsonObject
}

function textOf(text: Text | undefined): string | undefined {
  if (text === undefined || typeof text === 'string') return text
  return `${text.before ?? ''}${text.repeat.repeat(text.times)}${text.after ?? ''}`
}

function moduleOf(document: string): string {
  const names = Object.keys(PRIMITIVES).join(', ')
  return `import { ${names} } from '@react-pdf/renderer'\nexport default () => <Document>${document}</Document>`
}
