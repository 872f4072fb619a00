/** Blanks the Liquid of a source, so that HTML with the same lines and columns is left. Pure. */
import { Tokenizer, TokenKind } from 'liquidjs'

/** Where a branch of a block such as `if` begins or ends. */
interface Mark {
  readonly at: number
  readonly kind: 'begin' | 'next' | 'end'
}

export interface Blanked {
  /** Letters in place of outputs, and blanks in place of tags. */
  readonly text: string
  /** Where Liquid was, in the order of the source. */
  readonly spans: readonly Span[]
  readonly marks: readonly Mark[]
  /** It prints HTML that is not escaped. */
  readonly isRaw: boolean
}

interface Span {
  readonly begin: number
  readonly end: number
}

/** These begin another branch of their block. */
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

/** '' if the token is not a tag. */
function nameOf(token: object): string {
  return 'name' in token ? String(token.name) : ''
}

/** These have no branches: a comment is never printed, and `raw` always. */
const WHOLE = new Set(['comment', 'endcomment', 'raw', 'endraw'])

function markOf(name: string, names: ReadonlySet<string>): Mark['kind'] | undefined {
  if (WHOLE.has(name)) return undefined
  if (NEXT.has(name)) return 'next'
  if (names.has(`end${name}`)) return 'begin'
  return name.startsWith('end') && names.has(name.slice('end'.length)) ? 'end' : undefined
}

export function overlaps(spans: readonly Span[], begin: number, end: number): boolean {
  let [low, high] = [0, spans.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((spans[middle]?.end ?? 0) <= begin) low = middle + 1
    else high = middle
  }
  return (spans[low]?.begin ?? end) < end
}
