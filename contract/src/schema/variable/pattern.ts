/**
 * Regular expressions of tenants, matched in linear time. JavaScript's own engine backtracks, and `^(a+)+$` on forty letters blocks the
 * thread for hours. RE2 does not backtrack, and has no look-around and no back-references.
 *
 * A pattern is ECMAScript with the `u` flag, as in JSON Schema, so it is translated: RE2 spells code points and groups differently, its
 * `\s` matches less, and its `.` matches more.
 */
import { RE2JS } from 're2js'
import { PATTERN_SIZE_MAX } from '../../domain/limit.ts'

interface Pattern {
  /** Matches any part of the text. */
  readonly test: (text: string) => boolean
  /** Worst-case cost of testing a text of so many characters, in steps of about ten nanoseconds. */
  readonly stepsFor: (characters: number) => number
}

/** Instructions that run on one character in the time of one step, as measured. */
const INSTRUCTIONS_PER_STEP = 16
/** Instructions times characters after which RE2's cached states are dropped. They use memory, and the text influences how much. */
const CACHED_WORK_MAX = 100_000

/** `pattern` must be valid ECMAScript. Throws an `Error` if it is too large, or has something that RE2 does not support. */
export function compilePattern(pattern: string): Pattern {
  const regExp = parse(pattern)
  const size = regExp.programSize()
  if (size > PATTERN_SIZE_MAX)
    throw new Error(
      `${quote(pattern)} is too large: it has ${size} instructions; at most ${PATTERN_SIZE_MAX} are allowed`,
    )
  let work = 0
  return {
    test(text) {
      work += size * text.length
      const isFound = regExp.test(text)
      if (work > CACHED_WORK_MAX) {
        regExp.reset()
        work = 0
      }
      return isFound
    },
    stepsFor: (characters) => Math.ceil((size * characters) / INSTRUCTIONS_PER_STEP),
  }
}

/** The start or end of a group, a repetition with its bounds, or another token. A Unicode class is a table of hundreds of ranges. */
const TOKEN =
  /(?<open>\((?:\?(?:<[^>]*>|[^)]?))?)|(?<close>\))|\{(?<least>\d+),?(?<most>\d*)\}|\[(?:\\.|[^\]\\])*\]|\\[ucxpP]\{[^}]*\}|\\.|./gsu
const UNICODE_CLASS = /\\[pP]/g

/**
 * Weight of compiling a valid ECMAScript pattern, in units of about 50 µs. Estimated without compiling, because RE2 expands repetitions
 * before it reports that there are too many.
 */
export function weightOfPattern(pattern: string): number {
  const classes = pattern.match(UNICODE_CLASS)?.length ?? 0
  return PATTERN_WEIGHT + UNICODE_CLASS_WEIGHT * classes + writtenOut(pattern) / INSTRUCTIONS_PER_WEIGHT
}

const PATTERN_WEIGHT = 3
const UNICODE_CLASS_WEIGHT = 4
const INSTRUCTIONS_PER_WEIGHT = 32

/** An upper estimate of the instructions of a pattern, usually close. */
function writtenOut(pattern: string): number {
  /** Sums of the enclosing groups. */
  const outer: number[] = []
  let sum = 0
  let last = 0
  for (const { groups = {}, 0: token } of pattern.matchAll(TOKEN)) {
    if (groups['open'] !== undefined) {
      outer.push(sum)
      sum = 0
      last = 0
      continue
    }
    if (groups['close'] !== undefined) {
      // An empty group is an instruction, too.
      last = Math.max(sum, 1) + 2
      sum = last + (outer.pop() ?? 0)
      continue
    }
    const times = Math.max(Number(groups['least'] ?? 0), Number(groups['most'] ?? 0), 1)
    if (token.startsWith('{')) {
      // Each repetition but the first is optional, which takes an instruction of its own.
      sum += (last + 1) * (times - 1)
      last = (last + 1) * times
      continue
    }
    last = 1
    sum += 1 + token.length / CHARS_PER_INSTRUCTION
  }
  return sum
}

/** Characters of a long class that take as long as one instruction. */
const CHARS_PER_INSTRUCTION = 8

function parse(pattern: string): RE2JS {
  const translated = translate(pattern)
  try {
    return RE2JS.compile(translated)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.replace('error parsing regexp: ', '') : 'it does not parse'
    throw new Error(`${quote(pattern)} is not accepted: ${reason}`, { cause })
  }
}

/** `\s` of ECMAScript; that of RE2 is ASCII only. */
const SPACE = '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const NOT_SPACE =
  '\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}' +
  '\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'

/** A class, or a token with a meaning outside of classes. With the `u` flag a class ends at its first unescaped bracket. */
const PART =
  /\[(?<not>\^?)(?<members>(?:\\.|[^\]\\])*)\]|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\[ucpPk](?:\{[^}]*\}|\w{4}|\w)?|\\.|\.|\(\?<?[=!]|\(\?<|\(\?[a-z-]+:/gsu
/** Tokens with a meaning inside a class. */
const MEMBER = /\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\[ucpP](?:\{[^}]*\}|\w{4}|\w)?|\\.|\[/gsu

/** Throws for what RE2 does not have. */
function translate(pattern: string): string {
  return pattern.replace(PART, (part: string, not: string | undefined, members: string | undefined) => {
    if (members !== undefined) return spellClass(not === '^', members.replace(MEMBER, spellMember))
    if (/^\(\?<?[=!]$|^\\[k1-9]/.test(part))
      throw new Error(
        `${quote(pattern)} is not accepted: look-around and back-references cannot be matched in linear time`,
      )
    if (/^\(\?[a-z-]+:$/.test(part)) throw new Error(`${quote(pattern)} is not taken: no group has flags of its own`)
    switch (part) {
      case '.':
        return '[^\\n\\r\\x{2028}\\x{2029}]'
      case '\\s':
        return `[${SPACE}]`
      case '\\S':
        return `[${NOT_SPACE}]`
      case '(?<':
        return '(?P<'
      default:
        return spellEscape(part)
    }
  })
}

function spellClass(isNegated: boolean, members: string): string {
  // The empty class matches nothing, and its negation everything.
  if (members === '') return isNegated ? '[\\x00-\\x{10ffff}]' : '[^\\x00-\\x{10ffff}]'
  return `[${isNegated ? '^' : ''}${members}]`
}

function spellMember(member: string): string {
  switch (member) {
    case '\\s':
      return SPACE
    case '\\S':
      return NOT_SPACE
    case '\\b':
      return '\\x08'
    case '[':
      return '\\['
    default:
      return spellEscape(member)
  }
}

/** Code points, control characters and Unicode properties are spelled differently in RE2. */
function spellEscape(escape: string): string {
  const [lead = 0, trail] = [...escape.matchAll(/\\u\{?([0-9a-fA-F]+)/g)].map(([, digits = '']) =>
    Number.parseInt(digits, 16),
  )
  if (trail !== undefined) return hex(0x10000 + (lead - 0xd800) * 0x400 + trail - 0xdc00)
  if (escape.startsWith('\\u')) return hex(lead)
  if (escape.startsWith('\\c')) return hex(escape.charCodeAt(2) % 32)
  return escape.replace(/^\\([pP])\{(?:Script|sc|General_Category|gc)=/, '\\$1{')
}

function hex(codePoint: number): string {
  return `\\x{${codePoint.toString(16)}}`
}

const QUOTED_CHARS_MAX = 100

function quote(pattern: string): string {
  const shown = pattern.length > QUOTED_CHARS_MAX ? `${pattern.slice(0, QUOTED_CHARS_MAX)}…` : pattern
  return `the pattern ${JSON.stringify(shown)}`
}
