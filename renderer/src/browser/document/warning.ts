/** The warnings of a document of the html engine, each with its place in the source if known. Pure. */
import { FAILURE_MESSAGE_CHARS_MAX } from '@platen/contract/domain/limit.ts'
import type { Asset } from '@platen/contract/domain/tenant.ts'
import type { Warning } from '@platen/contract/domain/warning.ts'
import type { RenderWork } from '../../port/engine.ts'
import { absentValue, openLiterals } from '../../template/absent-value.ts'
import type { FontFace } from '../../template/asset/font/default-fonts.ts'
import { missingGlyphs } from '../../template/asset/glyph.ts'
import type { DamagedImage } from '../../template/html/data-image.ts'
import type { ScannedHtml } from '../../template/html/fill.ts'
import { placeOfAddress, placeOfImage, placeOfLine, placeOfPattern, placeOfTag } from '../../template/html/place.ts'
import { ASSET_ORIGIN } from '../../template/html/reference.ts'
import { damaged, edgeRefusal, type Finding, ignoredStyle, shown } from './finding.ts'
import type { Inspection } from './load.ts'

interface Found extends Pick<Inspection, 'missing' | 'faults'> {
  readonly findings: readonly Finding[]
  readonly faces: readonly FontFace[]
}

export function warningsOf(work: RenderWork, filled: ScannedHtml, printed: Found): readonly Warning[] {
  const glyphs = missingGlyphs(printed.missing + filled.missing, { faces: printed.faces, locale: work.template.locale })
  const scripts = idleScripts(work, printed.faults.hasScript)
  const findings = [
    ...printed.findings,
    ...filled.unloaded.map(edgeRefusal),
    ...damagedImages(filled, printed).map(damaged),
    ...(filled.absentImage === undefined ? [] : [ignoredStyle(filled.absentImage)]),
  ]
  return [
    ...(glyphs === undefined ? [] : [glyphs]),
    ...(scripts === undefined ? [] : [scripts]),
    ...findings.map((finding) => warningOf(work, filled.html, finding)),
    ...absentValues(work, printed.faults.texts),
  ]
}

/** The damaged images in `data:` URLs that are shown. Chromium itself reports images that it cannot read at all. */
function damagedImages({ damaged, damagedInEdges }: ScannedHtml, { faults }: Found): readonly DamagedImage[] {
  const shown = damaged.filter((_, index) => faults.damaged.includes(index))
  return [...shown, ...damagedInEdges].filter(({ url }) => !faults.images.some((known) => url.startsWith(known)))
}

/** Absent values that scripts printed. Those that Liquid printed are known with their places. */
function absentValues({ template, data }: RenderWork, texts: readonly string[]): readonly Warning[] {
  if (texts.length === 0) return []
  const isLiteral = openLiterals(() => [template.html?.template ?? '', new TextDecoder().decode(data)])
  return texts.flatMap((text) => {
    const name = absentValue(text, isLiteral)
    if (name === undefined) return []
    const words = printable(text).replaceAll(/\s+/g, ' ').trim()
    return [
      {
        code: 'variable_absent',
        message: `${name} is printed${words === name ? '' : ` in “${words}”`}`.toWellFormed(),
      },
    ]
  })
}

/** Scripts that did not run. Scripts that only the data brought do not count: nobody wrote them to run. */
function idleScripts({ template, javascriptEnabled }: RenderWork, hasScript: boolean): Warning | undefined {
  if (template.html === undefined) return undefined
  if (template.html.javascript) {
    const message = 'the template asks for page JavaScript, which the plan does not allow: its scripts did not run'
    return javascriptEnabled ? undefined : { code: 'javascript_disabled', message }
  }
  const place = hasScript ? placeOfTag(template.html, '<script') : undefined
  const message = 'the document has a script, and its template does not say javascriptEnabled: true: no script ran'
  return place === undefined ? undefined : { code: 'javascript_disabled', place, message }
}

function warningOf(work: RenderWork, html: string, { code, message, ...where }: Finding): Warning {
  const place = placeOf(work, html, where)
  const rest = place === undefined && where.at !== undefined ? elsewhere(where.at) : ''
  const text = printable(message).slice(0, FAILURE_MESSAGE_CHARS_MAX - rest.length) + rest
  return { code, ...(place !== undefined && { place }), message: text.toWellFormed() }
}

/** Messages contain words of the page, and are shown in terminals. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
}

/** For a failure in a line that no source has. */
function elsewhere({ file, line }: NonNullable<Finding['at']>): string {
  if (line === 0) return ''
  return file === 'about:blank' ? ` (line ${line} of the filled HTML)` : printable(` (${shown(file)}, line ${line})`)
}

function placeOf(
  { template, assets }: RenderWork,
  html: string,
  { address, element, pattern, at }: Pick<Finding, 'address' | 'element' | 'pattern' | 'at'>,
): string | undefined {
  if (template.html === undefined) return undefined
  if (element !== undefined) return placeOfImage(template.html, element)
  if (pattern !== undefined) return placeOfPattern(template.html, pattern)
  if (address !== undefined) return placeOfAddress(template.html, address)
  if (at === undefined || at.line === 0) return undefined
  if (at.file === 'about:blank') return placeOfLine(template.html, html, at)
  const asset = assetOf(at.file, assets)
  return asset === undefined ? undefined : `${asset.name}:${at.line}:${at.column}`
}

function assetOf(address: string, assets: readonly Asset[]): Asset | undefined {
  const name = [ASSET_ORIGIN, 'asset:'].find((start) => address.startsWith(start))
  return name === undefined
    ? undefined
    : assets.find((asset) => [asset.digest, asset.name].some((known) => name + known === address))
}
