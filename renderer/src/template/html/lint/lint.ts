/**
 * Finds silent mistakes in html sources: styles without effect, absent fonts, unclosed tags. Each source is read once. Its filled HTML is
 * read only if Liquid writes styles or tags. Chromium answers the questions about styles (`browser/document/script/style-script.ts`). Pure.
 */

import type { TemplateSource } from '@platen/contract/domain/tenant.ts'
import type { Warning, WarningCode } from '@platen/contract/domain/warning.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import { COLOR_EMOJI_FAMILY, DEFAULT_FAMILIES } from '../../asset/font/default-fonts.ts'
import { ALIASES, TEXT_FAMILIES } from '../../asset/fonts.ts'
import { LINT_CHARS_MAX } from '../../limit.ts'
import { placeAt, placeOfLine } from '../place.ts'
import type { Part } from '../reference.ts'
import { type Blanked, blankLiquid, overlaps } from './blank.ts'
import { few, type Question, timesOf } from './ignored.ts'
import { type Markup, readMarkup } from './markup.ts'
import { type FamilyList, type ReadStyles, readStyles } from './style-sheet.ts'

interface LintedSource {
  /** Such as `template.html`. */
  readonly name: string
  readonly text: string
}

/** The result for a source without its data. */
export interface SourceLint {
  readonly source: LintedSource
  readonly notes: readonly Note[]
  readonly asked: readonly Question[]
  /** Font families that the source or its template provides. */
  readonly faces: readonly string[]
  /** By property that Liquid writes a part of: its place. */
  readonly dynamic: ReadonlyMap<string, string>
  /** What must also be read in the filled HTML. */
  readonly needs: { readonly styles: boolean; readonly tags: boolean }
}

/** A warning before equal ones are counted. */
interface Note {
  readonly code: WarningCode
  readonly message: string
  /** '' if unknown. */
  readonly place: string
}

export interface Linted {
  readonly warnings: readonly Warning[]
  /** JSON of a list of `Question`. */
  readonly questions: string
}

/** The template's fonts do not work in header and footer. */
export function lintSources({ html, fonts = [] }: TemplateSource): readonly SourceLint[] {
  const sources = { 'template.html': html?.template, 'header.html': html?.header, 'footer.html': html?.footer }
  return Object.entries(sources).flatMap(([name, text]) => {
    if (text === undefined) return []
    return lintSource({ name, text }, isDocument(name) ? fonts.map(({ family }) => family) : [])
  })
}

function lintSource(source: LintedSource, brought: readonly string[]): SourceLint {
  const { name, text } = source
  const liquid = blankedOf(text)
  if (liquid === undefined)
    return { source, notes: [], asked: [], faces: [], dynamic: new Map(), needs: { styles: false, tags: false } }
  const markup = readMarkup(liquid.text, liquid)
  const isDynamic = (begin: number, end: number) => overlaps(liquid.spans, begin, end)
  const styles = readStyles(markup.styles, { families: markup.families, isDynamic, isDocument: isDocument(name) })
  const tagNeeds = !markup.isBalanced || liquid.isRaw
  const place = (at: number) => placeAt(name, text, at)
  const faces = [...brought, ...styles.faces]
  const faults = markup.isBalanced ? markup.faults : []
  return {
    source,
    notes: faultsOf({ ...markup, faults }, styles, faces).map(({ at, ...note }) => ({ ...note, place: place(at) })),
    asked: questionsOf(styles, place),
    faces,
    dynamic: new Map(Array.from(styles.dynamic, ([property, at]) => [property, place(at)])),
    needs: { styles: styles.dynamic.size > 0 || hasDynamicStyles(markup, liquid), tags: tagNeeds },
  }
}

/** Adds what only the filled HTML shows. */
export function linted(lints: readonly SourceLint[], filledParts: readonly Part[]): Linted {
  const both = lints.map((lint) => {
    const html = filledParts.find(({ name }) => name === lint.source.name)?.html
    const filled = html === undefined || html.length > LINT_CHARS_MAX ? undefined : lintFilled(lint, html)
    return { notes: [...lint.notes, ...(filled?.notes ?? [])], asked: [...lint.asked, ...(filled?.asked ?? [])] }
  })
  const codes = Map.groupBy(
    both.flatMap(({ notes }) => notes),
    ({ code }) => code,
  )
  return {
    warnings: [...codes.values()].flatMap((notes) => few(counted(notes))),
    questions: JSON.stringify(both.flatMap(({ asked }) => asked)),
  }
}

function lintFilled(lint: SourceLint, html: string): Pick<SourceLint, 'notes' | 'asked'> | undefined {
  const { needs, source, dynamic } = lint
  if (!needs.styles && !needs.tags) return undefined
  const markup = readMarkup(html)
  const distinct = [...new Map(markup.styles.map((style) => [style.css, style])).values()]
  const context = {
    families: needs.styles ? markup.families : [],
    isDynamic: () => false,
    isDocument: isDocument(source.name),
  }
  const styles = readStyles(needs.styles ? distinct : [], context)
  const faults = faultsOf({ ...markup, faults: needs.tags ? markup.faults : [] }, styles, [
    ...lint.faces,
    ...styles.faces,
  ])
  const known = new Set(lint.notes.map(({ message }) => message))
  const added = new Map(faults.filter(({ message }) => !known.has(message)).map((fault) => [fault.message, fault]))
  const asked = new Set(lint.asked.map(keyOf))
  return {
    notes: Array.from(added.values(), ({ at, ...note }) => {
      const property = note.code === 'font_absent' ? dynamic.get('font-family') : undefined
      return { ...note, place: property ?? placeInSource(source, html, at) }
    }),
    asked: questionsOf(styles, (_, name) => dynamic.get(name) ?? '').filter((question) => !asked.has(keyOf(question))),
  }
}

/** Maps a place in the filled HTML to one in the source, or ''. */
function placeInSource({ name, text }: LintedSource, html: string, at: number): string {
  const before = html.slice(0, at)
  const position = { line: before.split('\n').length, column: at - before.lastIndexOf('\n') }
  return (isDocument(name) ? placeOfLine({ template: text }, html, position) : undefined) ?? ''
}

function blankedOf(text: string): Blanked | undefined {
  try {
    return blankLiquid(text)
  } catch {
    // The fill reports what is wrong with it.
    return undefined
  }
}

function isDocument(name: string): boolean {
  return name === 'template.html'
}

/** Liquid writes whole declarations or rules, which the parser does not show as nodes. */
function hasDynamicStyles({ styles }: Markup, { spans, text }: Blanked): boolean {
  const outputs = spans.filter(({ begin }) => text.charAt(begin) === 'x')
  return styles.some(({ at, css }) => overlaps(outputs, at, at + css.length))
}

function faultsOf(
  { faults, hasSheets }: Markup,
  styles: ReadStyles,
  faces: readonly string[],
): readonly (Pick<Note, 'code' | 'message'> & { readonly at: number })[] {
  const lists = hasSheets || styles.hasImports ? [] : styles.families
  return [
    ...faults.map((fault) => ({ ...fault, code: 'markup_unclosed' as const })),
    ...styles.faults.map((fault) => ({ ...fault, code: 'style_ignored' as const })),
    ...lists.flatMap((list) => {
      const message = absentFont(list, faces)
      return message === undefined ? [] : [{ code: 'font_absent' as const, message, at: list.at }]
    }),
  ]
}

/** Generic families, and keywords. */
const GENERIC =
  'cursive emoji fangsong fantasy inherit initial math revert revert-layer ui-monospace ui-rounded ui-sans-serif ui-serif unset'.split(
    ' ',
  )

const THERE = [...DEFAULT_FAMILIES, COLOR_EMOJI_FAMILY, ...Object.values(ALIASES).flat()]
const KNOWN = new Set([...THERE, ...GENERIC].map((name) => name.toLowerCase()))

/** Emoji fonts exist by any name. The characters are not part of the name of a font. */
const ANY = /emoji|[\\(=&]/i

function absentFont({ names }: FamilyList, faces: readonly string[]): string | undefined {
  const isThere = (name: string) =>
    KNOWN.has(name.toLowerCase()) || ANY.test(name) || faces.some((face) => face.toLowerCase() === name.toLowerCase())
  if (names.length === 0 || names.some(isThere)) return undefined
  const listed = names
    .slice(0, 5)
    .map((name) => name.slice(0, 60))
    .join(', ')
  const hint = names.map((name) => suggestion(name, [...faces, ...THERE])).find((text) => text !== '') ?? ''
  const there = [...new Set([...faces, ...TEXT_FAMILIES])].slice(0, 20).join(', ')
  return `there is no font ${listed}${hint}, so another one is taken; there are ${there} and families of other scripts`
}

function questionsOf({ asked }: ReadStyles, place: (at: number, name: string) => string): readonly Question[] {
  return asked.map(({ kind, name, values, at, times }) => [kind, name, values, place(at, name), times])
}

function keyOf([kind, name, values]: Question): string {
  return JSON.stringify([kind, name, values])
}

function counted(notes: readonly Note[]): readonly Warning[] {
  return Array.from(
    Map.groupBy(notes, ({ message }) => message),
    ([message, same]) => {
      const { code, place } = same[0] as Note
      return { code, ...(place !== '' && { place }), message: `${message}${timesOf(same.length)}` }
    },
  )
}
