/** Explains why Chromium ignores styles. Pure. */

import type { Warning } from '@platen/contract/domain/warning.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import type { AskedKind } from './style-sheet.ts'

/** Warnings of one kind about the styles and tags of a document. After these are mended, the next are shown. */
const LINT_WARNINGS_MAX = 10

/** Asks whether a style has an effect. Goes into a page as JSON. */
export type Question = readonly [kind: AskedKind, name: string, values: readonly string[], place: string, times: number]

/** A style without effect. */
export interface Refusal {
  /** Of the question. */
  readonly index: number
  readonly isNameKnown: boolean
  /** With units, its numbers would be valid lengths. */
  readonly isUnitMissing: boolean
}

export interface StyleAnswer {
  readonly refused: readonly Refusal[]
  /** All known properties. Empty if nothing is refused. */
  readonly names: readonly string[]
}

const NOTHING: StyleAnswer = { refused: [], names: [] }

export function ignoredStyles(questions: string, { refused, names }: StyleAnswer = NOTHING): readonly Warning[] {
  if (refused.length === 0) return []
  const asked = JSON.parse(questions) as readonly Question[]
  const warnings = refused.flatMap((refusal): readonly Warning[] => {
    const question = asked[refusal.index]
    if (question === undefined) return []
    const [, , , place, times] = question
    const message = `${messageOf(question, refusal, names)}${timesOf(times)}`
    return [{ code: 'style_ignored', ...(place !== '' && { place }), message }]
  })
  return few(warnings)
}

/** Returns the first warnings of a kind, the last with the number of the others. */
export function few(warnings: readonly Warning[]): readonly Warning[] {
  const rest = warnings.length - LINT_WARNINGS_MAX
  return warnings.slice(0, LINT_WARNINGS_MAX).map((warning, index) => {
    const isLast = rest > 0 && index === LINT_WARNINGS_MAX - 1
    return isLast ? { ...warning, message: `${warning.message}; and ${rest} more of this kind` } : warning
  })
}

export function timesOf(times: number): string {
  return times > 1 ? ` (${times} times)` : ''
}

function messageOf([kind, name, values]: Question, refusal: Refusal, names: readonly string[]): string {
  const value = shown(values.at(-1) ?? '')
  const property = shown(name)
  const comment = COMMENT.test(value) ? '; comments of CSS are /* … */' : ''
  switch (kind) {
    case 'selector':
    case 'nested':
      return `the rule of ${value} has no effect: Chromium does not know this selector${comment}`
    case 'text':
      return `${value} has no effect: it is no CSS${comment}`
    case 'rule':
      if (name === 'page') return `@page ${value.replace(/\{\}$/, '')} has no effect: there is no such page`
      return `@${property} has no effect: Chromium has no such rule${suggestion(name, RULES)}`
    case 'box':
      return `@${property} has no effect: a page has no such box${suggestion(name, BOXES)}; there are ${BOXES.join(', ')}`
    case 'page':
    case 'face':
    case 'declaration':
      if (kind === 'page' && name === 'size') return sizeMessage(value)
      if (refusal.isNameKnown) return `${property}: ${value} has no effect: ${reasonOf(value, refusal)}`
      return `${property} has no effect: Chromium has no such property${suggestion(name, kind === 'face' ? DESCRIPTORS : names)}`
  }
}

const COMMENT = /^\s*\/\/|\s\/\/\s/
function reasonOf(value: string, { isUnitMissing }: Refusal): string {
  if (isUnitMissing) return 'a length needs a unit, such as 12px'
  const [, next] = /\s([a-z-]+)\s*:/i.exec(value) ?? []
  return next === undefined ? 'Chromium does not know this value' : `a ; is missing before ${next}`
}

function sizeMessage(value: string): string {
  const isHigh = /\bauto\b/i.test(value)
  const isTurned = /\d[^]*(?:portrait|landscape)|(?:portrait|landscape)[^]*\d/i.test(value)
  const height = isHigh ? '; a page of html is not as high as its content, but that of react_pdf is' : ''
  const turned = isTurned ? '; lengths have no orientation: write the width first' : ''
  return `size: ${value} has no effect: it is no page size${height}${turned}; write ${PAGE_SIZES} or two lengths, such as 80mm 200mm`
}

const PAGE_SIZES = 'A3, A4, A5, A6, letter, legal or tabloid, also with landscape,'

function shown(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ')
  return line.length > SHOWN_CHARS_MAX ? `${line.slice(0, SHOWN_CHARS_MAX)}…` : line
}

const SHOWN_CHARS_MAX = 60

const RULES = ['container', 'font-face', 'import', 'keyframes', 'layer', 'media', 'page', 'supports']
const DESCRIPTORS = [
  'ascent-override',
  'descent-override',
  'font-display',
  'font-family',
  'font-feature-settings',
  'font-stretch',
  'font-style',
  'font-variation-settings',
  'font-weight',
  'line-gap-override',
  'size-adjust',
  'src',
  'unicode-range',
]

export const BOXES = ['top', 'right', 'bottom', 'left'].flatMap((side) => {
  const places =
    side === 'top' || side === 'bottom'
      ? ['left-corner', 'left', 'center', 'right', 'right-corner']
      : ['top', 'middle', 'bottom']
  return places.map((place) => `${side}-${place}`)
})
