/** What is to be said of a document that was printed, though not as it was meant. Pure. */
import type { Warning } from '@platen/contract/warning.ts'
import { FINDINGS_MAX, QUOTE_CHARS_MAX } from '../limit.ts'
import type { Inspection } from './load.ts'
import type { Refusal } from './request.ts'
import type { Report } from './script/preface.ts'

/** A warning whose place in the source is not known yet. */
export interface Finding extends Pick<Warning, 'code' | 'message'> {
  /** An address that the source may have literally. */
  readonly address?: string
  /** Where a script failed. */
  readonly at?: Pick<Report, 'file' | 'line' | 'column'>
}

/** The findings of one document, for each kind in the order of the document. */
export function findingsOf({ faults, reports }: Inspection, refused: readonly Refusal[]): Finding[] {
  const requested = new Set(refused.map(({ url }) => url))
  const unrequested = faults.unrequested.filter((address) => !requested.has(address))
  return [
    ...[...refused.map(refusal), ...unrequested.map(unreachable)].slice(0, FINDINGS_MAX),
    ...faults.images.map(damagedImage),
    ...faults.fonts.map(damagedFont),
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

/** An address in the header or footer that nothing was loaded from. */
export function edgeRefusal(address: string): Finding {
  const reason = 'a header or footer shows assets, images of allowed hosts and data: URLs'
  return { code: 'file_refused', message: `the image ${shown(address)} was not loaded: ${reason}`, address }
}

function damagedImage(url: string): Finding {
  return { code: 'file_damaged', message: `an image of the document cannot be decoded: ${shown(url)}`, address: url }
}

function damagedFont(family: string): Finding {
  return { code: 'file_damaged', message: `the font ${cut(family)} of a data: URL cannot be read` }
}

function failure({ message, ...at }: Report): Finding {
  return { code: 'script_error', message: message === MUTED ? UNMUTE : message, at }
}

/** What a page is told of an error in a script of another origin. */
const MUTED = 'Script error.'
const UNMUTE = 'an error in a script of another host; with the attribute crossorigin, its element says which'

/** An address in a message: no user, no password, no query, of bounded length. Of `data:` only its type. */
export function shown(address: string): string {
  const [data] = /^data:[^,;]{0,50}/i.exec(address) ?? []
  if (data !== undefined) return `${data},…`
  return cut(address.replace(/[?#][^]*$/, '').replace(/^([a-z][a-z0-9+.-]*:)?(\/\/)[^/@]*@/i, '$1$2'))
}

function cut(text: string): string {
  return text.length > QUOTE_CHARS_MAX ? `${text.slice(0, QUOTE_CHARS_MAX)}…` : text
}
