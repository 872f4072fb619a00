/** The vectors of this folder as documents to render: see README.md for what a vector is made of. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import type { RenderWork } from '@platen/renderer/port/engine.ts'
import { parse } from 'yaml'
import { aWork as anHtmlWork } from '../../engine/html/html-fixture.ts'
import { aWork as aReactPdfWork } from '../../engine/react-pdf/react-pdf-fixture.ts'
import { anAsset } from '../../fixture/asset.ts'
import { CANARY_NAME } from '../network/canary.ts'
import type { HostileNetwork } from '../network/network.ts'

/** One way out, as it stands in a file. */
export interface Vector {
  readonly name: string
  readonly html?: string
  readonly script?: string
  readonly header?: string
  readonly footer?: string
  readonly liquid?: string
  readonly page?: string
  readonly source?: string
  readonly assets?: Readonly<Record<string, string>>
  /** The code of the failure it may end with, or must where nothing else can come of it. */
  readonly fails?: string
}

interface AddressBook {
  readonly carriers: Readonly<Record<Engine, readonly Vector[]>>
  readonly addresses: readonly string[]
}

export const KINDS = ['html', 'script', 'react-pdf', 'liquid'] as const
export type Kind = (typeof KINDS)[number]

export function vectorsOf(kind: Kind): readonly Vector[] {
  return read(kind) as readonly Vector[]
}

/** Ways of writing an address, and the vectors that try each. */
export function addressBook(): AddressBook {
  return read('address') as AddressBook
}

/** The files are ours; a vector that is none fails its own test. */
function read(name: string): unknown {
  return parse(readFileSync(join(import.meta.dirname, `${name}.yaml`), 'utf8'))
}

export interface Attempt {
  readonly engine: Engine
  readonly work: RenderWork
  /** How it may end that is no PDF. */
  readonly fails: string | undefined
  /** May it end as a PDF? A document in HTML that may leave itself need not come to it. */
  readonly mayRender: boolean
}

interface Target {
  /** An address to which an ending is added. */
  readonly address: string
  readonly host?: string
}

/** The documents of a vector: one for each place it may lead to; and where it has no script, one more whose page JavaScript is on. */
export function attemptsOf(vector: Vector, canary: HostileNetwork['canary']): readonly Attempt[] {
  const hosts = [`127.0.0.1:${canary.port}`, `${CANARY_NAME}:${canary.port}`]
  const targets: readonly Target[] = [
    ...hosts.map((host) => ({ address: `http://${host}/marker`, host })),
    { address: `file://${canary.folder}/marker` },
    { address: `${canary.folder}/marker` },
  ]
  const leads = /\{\{target\}\}|\baddress\b/.test(JSON.stringify(vector))
  const leadsToHost = JSON.stringify(vector).includes('{{host}}')
  const used = targets.filter(({ host }, at) => {
    if (leads) return at < 3 || isReactPdf(vector)
    return leadsToHost ? host !== undefined : at === 0
  })
  return used.flatMap((target, at) => {
    const filled = fill(vector, { target: target.address, host: target.host ?? hosts[0] ?? '' })
    const attempt = attemptOf(filled, { address: `${target.address}.png` })
    return at === Math.max(0, used.length - 2) && isQuiet(vector)
      ? [attempt, attemptOf({ ...filled, script: '' }, {})]
      : [attempt]
  })
}

/** The documents of one way of writing an address. */
export function attemptsAt(address: string, canary: HostileNetwork['canary']): readonly Attempt[] {
  const { carriers } = addressBook()
  const filled = address.replaceAll('{{port}}', `${canary.port}`)
  return Object.values(carriers)
    .flat()
    .map((carrier) => {
      const vector = fill(carrier, { address: escapeHtml(filled), json: JSON.stringify(filled) })
      return attemptOf(vector, { address: filled })
    })
}

/** A path alone is an address to react-pdf; to a browser it is a part of one. */
function isReactPdf({ page, source }: Vector): boolean {
  return page !== undefined || source !== undefined
}

/** Has it HTML, and no script in it that is to run? */
function isQuiet({ html, script }: Vector): boolean {
  return html !== undefined && script === undefined && !/<script>|\son\w+=/.test(html)
}

function attemptOf(vector: Vector, data: JsonObject): Attempt {
  const { html, script, header, footer, liquid, page, source, fails } = vector
  const assets = Object.entries(vector.assets ?? {}).map(([name, text]) => anAsset(name, Buffer.from(text)))
  const module = source ?? (page === undefined ? undefined : moduleOf(page))
  if (module !== undefined)
    return {
      engine: 'react_pdf',
      work: aReactPdfWork({ source: module, data, assets }),
      fails,
      mayRender: fails === undefined,
    }
  if (liquid !== undefined) {
    const work = anHtmlWork(liquid, { data: { ...data, include: "{% include '/etc/passwd' %}", list: [1] } })
    return { engine: 'html', work, fails, mayRender: fails === undefined }
  }
  const javascript = !isQuiet(vector)
  const body = `${html ?? ''}${script === undefined ? '' : `<script>${script}</script>`}${javascript ? WAIT : ''}`
  // The source is raw, as Liquid has signs in common with JavaScript.
  const work = anHtmlWork('<!doctype html>{{ html | raw }}', {
    data: { html: body, header: header ?? '', footer: footer ?? '' },
    ...(header !== undefined && { header: '{{ header | raw }}' }),
    ...(footer !== undefined && { footer: '{{ footer | raw }}' }),
    javascript,
    javascriptEnabled: javascript,
    assets,
  })
  return { engine: 'html', work, fails, mayRender: true }
}

function moduleOf(page: string): string {
  return `import { Document, Image, ImageBackground, Link, Note, Page, Rect, Svg, Text, View } from '@react-pdf/renderer'
export default ({ data, options }) => <Document><Page>${page}</Page></Document>`
}

/** A frame that is being written holds up the end of loading for a tenth of a second: many round trips on one machine. */
const WAIT = `<iframe id="wait" hidden></iframe><script>{
  const { contentDocument } = document.getElementById('wait')
  contentDocument.open()
  setTimeout(() => contentDocument.close(), 100)
}</script>`

function fill<Filled extends Vector>(vector: Filled, values: Readonly<Record<string, string>>): Filled {
  const put = (text: string) =>
    text.replace(/\{\{(\w+)\}\}/g, (placeholder, name: string) => values[name] ?? placeholder)
  const filled = Object.entries(vector).map(([key, value]) => [
    key,
    typeof value === 'string'
      ? put(value)
      : Object.fromEntries(Object.entries(value).map(([name, text]) => [name, put(String(text))])),
  ])
  // Texts stay texts.
  return Object.fromEntries(filled) as Filled
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}
