/**
 * How the lines of a text wrap, by its styles and language. A text's `hyphenationCallback` is all that react-pdf passes on to the line
 * breaker and the search for syllables. So the wrapping is that function.
 */
import { type Hyphenate, hyphenatorOf } from './html/hyphenation.ts'

type Hyphens = 'none' | 'manual' | 'auto'
type OverflowWrap = 'normal' | 'anywhere' | 'break-word'

/** Splits a word. An empty part marks each place for a hyphen. */
type Wrapping = ((word: string) => string[]) & {
  /** A word that is wider than its line breaks at any letter. */
  readonly isBrokenAnywhere: boolean
}

export interface WrappingStyle {
  readonly hyphens?: Hyphens | undefined
  readonly overflowWrap?: OverflowWrap | undefined
  /** A tag such as `de` or `pt-BR`. */
  readonly language?: string | undefined
}

export function wrappingStyleOf(props: Readonly<Record<string, unknown>>, inherited: WrappingStyle): WrappingStyle {
  const { hyphens, overflowWrap } = (props['style'] ?? {}) as WrappingStyle
  const language = [props['lang'], props['language']].find((tag) => typeof tag === 'string')
  if (language === undefined && hyphens === undefined && overflowWrap === undefined) return inherited
  return {
    language: language ?? inherited.language,
    hyphens: hyphens ?? inherited.hyphens,
    overflowWrap: overflowWrap ?? inherited.overflowWrap,
  }
}

const SOFT_HYPHEN = '\u00ad'

export const PLAIN_WRAPPING = openWrapping({})

export function wrappingOf(style: WrappingStyle): Wrapping {
  const { hyphens, overflowWrap } = style
  return hyphens === undefined && overflowWrap === undefined ? PLAIN_WRAPPING : openWrapping(style)
}

function openWrapping({ hyphens = 'manual', overflowWrap = 'anywhere', language }: WrappingStyle): Wrapping {
  const hyphenate = hyphens === 'auto' ? hyphenatorOf(language) : undefined
  return Object.assign((word: string) => partsOf(word, hyphens, hyphenate), {
    isBrokenAnywhere: overflowWrap !== 'normal',
  })
}

/** Parts of a word. react-pdf passes each as an argument. No word has so many. */
const PARTS_MAX = 10_000

/** An author's soft hyphens win over the patterns. */
function partsOf(word: string, hyphens: Hyphens, hyphenate: Hyphenate | undefined): string[] {
  if (!word.includes(SOFT_HYPHEN)) return hyphenate === undefined ? [word] : marked(hyphenate(word))
  const parts = word.split(SOFT_HYPHEN)
  return hyphens === 'none' ? [parts.join('')] : marked(parts)
}

function marked(parts: readonly string[]): string[] {
  if (parts.length > PARTS_MAX) return [parts.join('')]
  return parts.flatMap((part, at) => (at === 0 ? [part] : ['', part]))
}

/** `callback` is that of layout options. Only our own functions can be there. */
export function isBrokenAnywhere(callback: unknown): boolean {
  return typeof callback !== 'function' || !('isBrokenAnywhere' in callback) || callback.isBrokenAnywhere === true
}
