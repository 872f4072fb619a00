/**
 * The line breaking class of a character, by UAX #14 (https://www.unicode.org/reports/tr14/). The classes of western text are below. A
 * library has all others, and is loaded for the first text that needs it: most documents never do.
 */
import { createRequire } from 'node:module'

const NAMES =
  'AL AI AK AP AS B2 BA BB BK CB CJ CL CM CP CR EB EM EX GL H2 H3 HH HL HY ID IN IS JL JT JV LF NL NS NU OP PO PR QU RI SA SG SP SY VF VI WJ XX ZW ZWJ'.split(
    ' ',
  )

export function classOf(name: string): number {
  return NAMES.indexOf(name)
}

export function classes(names: string): Uint8Array {
  const set = new Uint8Array(NAMES.length)
  for (const name of names.split(' ')) set[classOf(name)] = 1
  return set
}

/** Code points in hexadecimal, single or as a range from first to last. All others are letters. */
const WESTERN: Readonly<Record<string, string>> = {
  CM: '0-8 e-1f 7f-84 86-9f',
  BA: '9 7c ad 2012-2013 2027',
  LF: 'a',
  BK: 'b-c',
  CR: 'd',
  SP: '20',
  EX: '21 3f',
  QU: '22 27 ab bb 2018-2019 201b-201d 201f',
  PR: '24 2b 5c a3-a5 b1 20ac',
  PO: '25 a2 b0 2030',
  OP: '28 5b 7b a1 bf 201a 201e',
  CP: '29 5d',
  IS: '2c 2e 3a-3b',
  HY: '2d',
  HH: '2010',
  SY: '2f',
  NU: '30-39',
  CL: '7d',
  NL: '85',
  GL: 'a0 2011',
  BB: 'b4',
  B2: '2014',
  IN: '2024-2026',
}

/** Basic Latin to Latin Extended-B. */
const WESTERN_MAX = 0x250

const western = westernTable()
const punctuation = new Map(
  listed()
    .filter(([codePoint]) => codePoint >= WESTERN_MAX)
    .concat([
      [0x2015, 0],
      [0x2020, 0],
      [0x2021, 0],
      [0x2022, 0],
    ]),
)

function westernTable(): Uint8Array {
  const table = new Uint8Array(WESTERN_MAX)
  for (const [codePoint, type] of listed()) if (codePoint < WESTERN_MAX) table[codePoint] = type
  return table
}

function listed(): [codePoint: number, type: number][] {
  return Object.entries(WESTERN).flatMap(([name, ranges]) =>
    ranges.split(' ').flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map((end) => Number.parseInt(end, 16))
      return Array.from({ length: last - first + 1 }, (_, at): [number, number] => [first + at, classOf(name)])
    }),
  )
}

interface Table {
  get(codePoint: number): number
}

interface Library {
  readonly classes: Table
  /** Indexed by the library's number of a class: our number. */
  readonly numbers: Uint8Array
  readonly isWide: Table
}

const require = createRequire(import.meta.url)

function loadLibrary(): Library {
  const { LineBreak, names } = require('@cto.af/linebreak/lib/LineBreak.js') as {
    LineBreak: Table
    names: Readonly<Record<string, number>>
  }
  const { EastAsianWidth } = require('@cto.af/linebreak/lib/EastAsianWidth.js') as { EastAsianWidth: Table }
  const numbers = new Uint8Array(NAMES.length)
  for (const [name, number] of Object.entries(names)) numbers[number] = NAMES.indexOf(resolved(name))
  return { classes: LineBreak, numbers, isWide: EastAsianWidth }
}

/** LB1, for classes that it resolves without context. Small kana and long vowels begin no line, as in books. */
function resolved(name: string): string {
  if (['AI', 'SG', 'XX'].includes(name)) return 'AL'
  return name === 'CJ' ? 'NS' : name
}

/** Shared by all texts of the process: it is only data. */
let loaded: Library | undefined

function library(): Library {
  loaded ??= loadLibrary()
  return loaded
}

/** Characters of scripts whose words only a dictionary knows have the class SA. */
export function classAt(codePoint: number): number {
  if (codePoint < WESTERN_MAX) return western[codePoint] ?? 0
  const known = punctuation.get(codePoint)
  if (known !== undefined) return known
  const { classes: table, numbers } = library()
  return numbers[table.get(codePoint)] ?? 0
}

/** Whether East Asian typography sets the character as wide as an ideograph. */
export function isEastAsian(codePoint: number): boolean {
  return codePoint >= 0x1100 && library().isWide.get(codePoint) > 0
}
