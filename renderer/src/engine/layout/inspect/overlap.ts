/**
 * Finds what is drawn over the text of a page: other text, boxes and images. Goes through the page from top to bottom and compares only
 * marks at the same height. Pure.
 */
import { isOpaque } from './color.ts'
import type { LayoutNode } from './layout-node.ts'
import type { Rectangle } from './rectangle.ts'
import { type InkedLine, letterSpans, type Span } from './text-ink.ts'
import type { Spot } from './warning-list.ts'

export type Mark = TextMark | Cover

interface TextMark extends InkedLine {
  readonly kind: 'text'
  readonly owner: LayoutNode
  readonly spot: Spot
}

interface Cover {
  readonly kind: 'box' | 'image'
  readonly core: Rectangle
  readonly spot: Spot
}

interface Overlap {
  readonly under: TextMark
  readonly over: Mark
}

/**
 * Yields overlaps among the marks of a page, which are in drawing order: for each mark at most one, with a mark that is above or beside it.
 * `budget.comparisons` is how many comparisons are left; at 0 the rest of the document is skipped.
 */
export function* overlaps(marks: readonly Mark[], budget: { comparisons: number }): Generator<Overlap> {
  const order = new Map(marks.map((mark, at) => [mark, at] as const))
  const spans = new Map<Mark, readonly Span[]>()
  const spansOf = (mark: Mark): readonly Span[] => {
    const found = spans.get(mark) ?? (mark.kind === 'text' ? letterSpans(mark) : [[mark.core.left, mark.core.right]])
    spans.set(mark, found)
    budget.comparisons -= found.length
    return found
  }
  let open: Mark[] = []
  for (const mark of marks.toSorted((one, other) => one.core.top - other.core.top)) {
    budget.comparisons -= open.length
    open = open.filter(({ core }) => core.bottom > mark.core.top)
    for (const other of open) {
      if (budget.comparisons < 0) return
      const isLater = (order.get(mark) ?? 0) > (order.get(other) ?? 0)
      const [under, over] = isLater ? [other, mark] : [mark, other]
      if (under.kind !== 'text' || !mayCover(under, over)) continue
      if (sharedLength(spansOf(under), spansOf(over)) < smallerSize(under, over) * SHARED_WIDTH) continue
      yield { under, over }
      break
    }
    open.push(mark)
  }
}

/** Whether two marks share much of their rectangles, and not on purpose. */
function mayCover(under: TextMark, over: Mark): boolean {
  const size = smallerSize(under, over)
  const [width, height] = shared(under.core, over.core)
  if (width < size * SHARED_WIDTH || height < size * SHARED_HEIGHT) return false
  return over.kind !== 'text' || (under.owner !== over.owner && !isBackdrop(under, over))
}

function smallerSize(under: TextMark, over: Mark): number {
  return over.kind === 'text' ? Math.min(under.fontSize, over.fontSize) : under.fontSize
}

/** Shares of the smaller font size that make an overlap: about half a letter, and half of its height. */
const SHARED_WIDTH = 0.3
const SHARED_HEIGHT = 0.25

/** Whether one of two texts was drawn over the other on purpose: a word across the page, a shadow, a text in a pale colour. */
function isBackdrop(under: TextMark, over: TextMark): boolean {
  const [small, large] = under.fontSize < over.fontSize ? [under, over] : [over, under]
  if (large.fontSize >= small.fontSize * BACKDROP_RATIO || under.line.string === over.line.string) return true
  return [under, over].some(({ line }) => line.runs?.some(({ attributes }) => !isOpaque(attributes?.color ?? 'black')))
}

const BACKDROP_RATIO = 2.5

/** Width and height of the intersection. Negative ones are distances. */
function shared(one: Rectangle, other: Rectangle): readonly [number, number] {
  return [
    Math.min(one.right, other.right) - Math.max(one.left, other.left),
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top),
  ]
}

function sharedLength(one: readonly Span[], other: readonly Span[]): number {
  let length = 0
  let [at, otherAt] = [0, 0]
  for (let [span, second] = [one[0], other[0]]; span && second; span = one[at], second = other[otherAt]) {
    length += Math.max(0, Math.min(span[1], second[1]) - Math.max(span[0], second[0]))
    if (span[1] < second[1]) at += 1
    else otherAt += 1
  }
  return length
}
