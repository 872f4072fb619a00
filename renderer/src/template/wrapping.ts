/**
 * How the lines of a text wrap: what its styles and its language ask for. react-pdf hands a text's `hyphenationCallback` to the line
 * breaker and to the step that finds syllables, and nothing else that we could choose. So the wrapping is that function.
 */
import { type Hyphenate, hyphenatorOf } from './html/hyphenation.ts'

type Hyphens = 'none' | 'manual' | 'auto'
type OverflowWrap = 'normal' | 'anywhere' | 'break-word'

/** The parts of a word. An empty part stands for each place where the word may be hyphenated. */
type Wrapping = ((word: string) => string[]) & {
  /** Whether a word that is wider than its line breaks at any letter. */
  readonly isBrokenAnywhere: boolean
}

export interface WrappingStyle {
  readonly hyphens?: Hyphens | undefined
  readonly overflowWrap?: OverflowWrap | undefined
  /** The language of the text, such as `de` or `pt-BR`. */
  readonly language?: string | undefined
}

/** What the props of an element say of it, and what it inherits. */
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

/** The wrapping of texts without a style. */
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

/** Parts of a word, which react-pdf passes on as so many arguments. No word has as many. */
const PARTS_MAX = 10_000

/** An author who marks a word knows it better than a dictionary. */
function partsOf(word: string, hyphens: Hyphens, hyphenate: Hyphenate | undefined): string[] {
  if (!word.includes(SOFT_HYPHEN)) return hyphenate === undefined ? [word] : marked(hyphenate(word))
  const parts = word.split(SOFT_HYPHEN)
  return hyphens === 'none' ? [parts.join('')] : marked(parts)
}

function marked(parts: readonly string[]): string[] {
  if (parts.length > PARTS_MAX) return [parts.join('')]
  return parts.flatMap((part, at) => (at === 0 ? [part] : ['', part]))
}

/** The wrapping of layout options. Other functions than ours cannot come there. */
export function isBrokenAnywhere(callback: unknown): boolean {
  return typeof callback !== 'function' || !('isBrokenAnywhere' in callback) || callback.isBrokenAnywhere === true
}
