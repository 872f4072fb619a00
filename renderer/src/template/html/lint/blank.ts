/** Takes Liquid out of a source, in place: what is left is HTML with the lines and columns of the source. Pure. */
import { Tokenizer, TokenKind } from 'liquidjs'

/** Where a branch of a block begins or ends, such as that of `if`. */
interface Mark {
  readonly at: number
  readonly kind: 'begin' | 'next' | 'end'
}

export interface Blanked {
  /** Letters in place of outputs, and blanks in place of tags. */
  readonly text: string
  /** Where Liquid was, in order. */
  readonly spans: readonly Span[]
  readonly marks: readonly Mark[]
  /** Whether it prints HTML that is not escaped. */
  readonly isRaw: boolean
}

interface Span {
  readonly begin: number
  readonly end: number
}

/** Begins another branch of the block that it is in. */
const NEXT = new Set(['else', 'elsif', 'when'])

/** Throws if the source is not Liquid. */
export function blankLiquid(source: string): Blanked {
  const tokens = new Tokenizer(source).readTopLevelTokens()
  const names = new Set(tokens.map(nameOf))
  const parts: string[] = []
  const spans: Span[] = []
  const marks: Mark[] = []
  let [comments, isRaw] = [0, false]
  for (const token of tokens) {
    const { begin, end, kind } = token
    const name = nameOf(token)
    if (name === 'endcomment') comments -= 1
    const isText = kind === TokenKind.HTML && comments === 0
    const filler = kind === TokenKind.Output && comments === 0 ? 'x' : ' '
    parts.push(isText ? source.slice(begin, end) : filler.repeat(end - begin))
    if (!isText) spans.push({ begin, end })
    isRaw ||= filler === 'x' && PRINTS_RAW.test(source.slice(begin, end))
    const mark = comments > 0 ? undefined : markOf(name, names)
    if (mark !== undefined) marks.push({ at: begin, kind: mark })
    if (name === 'comment') comments += 1
  }
  return { text: parts.join(''), spans, marks, isRaw }
}

const PRINTS_RAW = /\|\s*raw\b/

/** Of a tag; '' of what is none. */
function nameOf(token: object): string {
  return 'name' in token ? String(token.name) : ''
}

/** These have no branches: one is not printed, and the other always. */
const WHOLE = new Set(['comment', 'endcomment', 'raw', 'endraw'])

function markOf(name: string, names: ReadonlySet<string>): Mark['kind'] | undefined {
  if (WHOLE.has(name)) return undefined
  if (NEXT.has(name)) return 'next'
  if (names.has(`end${name}`)) return 'begin'
  return name.startsWith('end') && names.has(name.slice('end'.length)) ? 'end' : undefined
}

/** Whether any Liquid was between two places. */
export function overlaps(spans: readonly Span[], begin: number, end: number): boolean {
  let [low, high] = [0, spans.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((spans[middle]?.end ?? 0) <= begin) low = middle + 1
    else high = middle
  }
  return (spans[low]?.begin ?? end) < end
}
