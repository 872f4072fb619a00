/** Warnings about a document that was printed, though not as its author meant it. Pure. */
import type { Warning } from '@platen/contract/domain/warning.ts'
import type { DamagedImage } from '../../template/html/data-image.ts'
import { type IgnoredStyle, patternOf } from '../../template/html/unprinted-css.ts'
import { FINDINGS_MAX, QUOTE_CHARS_MAX } from '../limit.ts'
import type { Inspection } from './load.ts'
import type { Refusal, Requests } from './request.ts'
import type { DocumentFaults } from './script/fault-script.ts'
import type { Report } from './script/preface.ts'

/** A warning whose place in the source is not known yet. The optional fields are what the source may contain. */
export interface Finding extends Pick<Warning, 'code' | 'message'> {
  readonly address?: string
  readonly element?: string
  readonly pattern?: RegExp
  readonly at?: Pick<Report, 'file' | 'line' | 'column'>
}

/** Findings come by kind, and within a kind in the order of the document. */
export function findingsOf({ faults, reports }: Inspection, requests: Pick<Requests, 'refused' | 'flawed'>): Finding[] {
  const refused = requests.refused()
  const requested = new Set(refused.map(({ url }) => url))
  const unrequested = faults.unrequested.filter((address) => !requested.has(address))
  return [
    ...[...refused.map(refusal), ...unrequested.map(unreachable)].slice(0, FINDINGS_MAX),
    ...faults.images.map(damagedImage),
    ...requests
      .flawed()
      .flatMap(({ url, styles, why }) => [
        ...styles.map((style) => ignoredStyle(style, url)),
        ...(why === undefined ? [] : [damaged({ url, why })]),
      ]),
    ...faults.fonts.map(damagedFont),
    ...faults.unaddressed.map(absentImage),
    ...faults.links.map(brokenLink),
    ...reports.map(failure),
  ]
}

const NAMES: Readonly<Record<Refusal['type'], string>> = {
  Image: 'image',
  Font: 'font',
  Stylesheet: 'style sheet',
  Script: 'script',
  Document: 'frame',
}

function refusal({ url, type }: Refusal): Finding {
  const reason =
    type === 'Document' ? 'a document shows no other pages' : 'it is not of an allowed host of the template'
  return { code: 'file_refused', message: `the ${NAMES[type]} ${shown(url)} was not loaded: ${reason}`, address: url }
}

function unreachable(address: string): Finding {
  const message = `${shown(address)} was not loaded: use an asset, or the whole URL of a file of an allowed host`
  return { code: 'file_refused', message, address }
}

/** An address in the header or footer that could not be loaded. */
export function edgeRefusal(address: string): Finding {
  const reason = 'a header or footer shows assets, images of allowed hosts and data: URLs'
  return { code: 'file_refused', message: `the image ${shown(address)} was not loaded: ${reason}`, address }
}

export function damaged({ url, why }: DamagedImage): Finding {
  if (why === 'unreadable') return damagedImage(url)
  const message = `an image of the document ends too early, so only its beginning is printed: ${shown(url)}`
  return { code: 'file_damaged', message, address: url }
}

function damagedImage(url: string): Finding {
  return { code: 'file_damaged', message: `an image of the document cannot be decoded: ${shown(url)}`, address: url }
}

function absentImage(name: string): Finding {
  const message = `the image ${name} has no address, so nothing is drawn; ask for its value first, as in {% if logo %}`
  return { code: 'image_absent', message, element: name }
}

function brokenLink({ address, name }: DocumentFaults['links'][number]): Finding {
  const where = `the link ${name} leads nowhere: `
  return { code: 'link_broken', message: where + whyBroken(address), ...(address !== '' && { address }) }
}

function whyBroken(address: string): string {
  if (address === '' || address === '#') return 'it has no address'
  if (address.startsWith('#')) return `no element has the id ${cut(address.slice(1))}`
  const [, scheme] = /^\s*([a-z][a-z0-9+.-]*):/i.exec(address) ?? []
  if (scheme !== undefined && !/^https?$/i.test(scheme))
    return `a reader of a PDF cannot follow ${scheme.toLowerCase()}:`
  return `${shown(address)} is not a whole address, such as https://example.com/`
}

/** `where`: the address of an external style sheet. */
export function ignoredStyle({ what, declaration }: IgnoredStyle, where?: string): Finding {
  const pattern = where === undefined ? patternOf(what) : undefined
  const from = where === undefined ? '' : ` (${shown(where)})`
  const place = pattern === undefined ? {} : { pattern }
  if (what === 'image') {
    return {
      code: 'image_absent',
      message: `a style names an image without an address: ${declaration}${from}`,
      ...place,
    }
  }
  return { code: 'style_ignored', message: `${declaration}: ${EFFECTS[what]}${from}`, ...place }
}

const EFFECTS = {
  footnote: 'Chromium has no footnotes, so the text stands where it is written',
  counter:
    'Chromium counts pages only in the boxes of the margin, such as @page { @bottom-right { … } }, and prints 0 here',
  break: 'Chromium begins a new page, whether that is a left or a right one',
} as const

function damagedFont(family: string): Finding {
  return { code: 'file_damaged', message: `the font ${cut(family)} of a data: URL cannot be read` }
}

function failure({ message, ...at }: Report): Finding {
  return { code: 'script_error', message: message === MUTED ? UNMUTE : message, at }
}

/** Chromium's message for an error in a script of another origin. */
const MUTED = 'Script error.'
const UNMUTE = 'an error in a script of another host; with the attribute crossorigin, its element says which'

/** An address for a message: without user, password and query, of bounded length. For `data:` URLs only the type. */
export function shown(address: string): string {
  const [data] = /^data:[^,;]{0,50}/i.exec(address) ?? []
  if (data !== undefined) return `${data},…`
  return cut(address.replace(/[?#][^]*$/, '').replace(/^([a-z][a-z0-9+.-]*:)?(\/\/)[^/@]*@/i, '$1$2'))
}

function cut(text: string): string {
  return text.length > QUOTE_CHARS_MAX ? `${text.slice(0, QUOTE_CHARS_MAX)}…` : text
}
