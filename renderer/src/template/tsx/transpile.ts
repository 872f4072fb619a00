/** Transpiles an author's TSX into a script that QuickJS can run, line for line. */
import { SourceMap } from 'node:module'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { type Options, transform } from 'sucrase'

export const TEMPLATE_FILE = 'template.tsx'

const OPTIONS: Options = {
  transforms: ['typescript', 'jsx', 'imports'],
  jsxRuntime: 'automatic',
  // QuickJS knows the current language. A replacement of `?.` would report an error with another name and place.
  disableESTransforms: true,
  // Development mode passes on the line of every element, so that an error about a prop can name its position.
  production: false,
  filePath: TEMPLATE_FILE,
}

/** Immutable, so it may be cached for any number of renders. */
export interface Program {
  readonly code: string
  /** Returns `template.tsx:12:5` for a position in `code`. Line and column count from 1. Slow: only for error messages. */
  readonly locate: (line: number, column: number) => string
  readonly find: (spot: ElementPosition) => string
}

/** An element as the sandbox reports it. Its column must be searched. */
export interface ElementPosition {
  readonly line: number
  /** The name after its `<`, without the namespace. */
  readonly element?: string | undefined
  readonly prop?: string | undefined
}

/** Keeps lines. Throws `ServiceError` with `template_error` and the position if the source does not parse. */
export function transpile(source: string): Program {
  const { code } = transformed(source, OPTIONS)
  return { code, locate: (line, column) => locate(source, line, column), find: (spot) => find(source, spot) }
}

function transformed(source: string, options: Options): ReturnType<typeof transform> {
  try {
    return transform(source, options)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    // Sucrase's form: "Error transforming template.tsx: Unexpected token (3:9)"
    const place = /^(?:Error transforming [^:]*: )?(.*) \((\d+):(\d+)\)$/s.exec(reason)
    const message =
      place === null ? `${TEMPLATE_FILE}: ${reason}` : `${TEMPLATE_FILE}:${place[2]}:${place[3]}: ${place[1]}`
    throw new ServiceError('template_error', message, { cause })
  }
}

/** The transform keeps lines but not columns. The source map with the columns is made only here. */
function locate(source: string, line: number, column: number): string {
  const { sourceMap } = transformed(source, { ...OPTIONS, sourceMapOptions: { compiledFilename: TEMPLATE_FILE } })
  if (sourceMap === undefined) return `${TEMPLATE_FILE}:${line}`
  const map = new SourceMap({ sourceRoot: '', sourcesContent: [source], ...sourceMap })
  const entry = map.findEntry(line - 1, column - 1)
  const isSameLine = 'originalLine' in entry && entry.originalLine === line - 1
  return isSameLine ? `${TEMPLATE_FILE}:${line}:${entry.originalColumn + 1}` : `${TEMPLATE_FILE}:${line}`
}

/** A name that can be searched for. A name from a sandbox may not be in the source, and may be too long for a regular expression. */
const NAME = /^[\w$-]{1,100}$/

const PROP_LINES_MAX = 50

/**
 * Sucrase passes on only the line of an element. If the line has several elements of that name, the first one with the prop counts. An
 * element under another name (`const Box = View`) and a spread prop are not found.
 */
function find(source: string, { line, element, prop }: ElementPosition): string {
  const lines = source.split('\n').slice(line - 1, line - 1 + PROP_LINES_MAX)
  const names = element === undefined || !NAME.test(element) ? '' : element
  const tags =
    names === ''
      ? []
      : [...(lines[0] ?? '').matchAll(new RegExp(`<(?:[\\w$]+\\.)*${names.replaceAll('$', '\\$')}(?![\\w$.])`, 'g'))]
  const text = lines.join('\n')
  const spans = tags.map(({ index }, at) => ({ index, end: tags[at + 1]?.index ?? text.length }))
  for (const { index, end } of prop === undefined ? [] : spans) {
    const place = propIn(text.slice(index, end), prop ?? '')
    if (place !== undefined) return positionText(line, text.slice(0, index + place))
  }
  const first = spans[0]
  return first === undefined ? `${TEMPLATE_FILE}:${line}` : positionText(line, text.slice(0, first.index))
}

/** The offset of a prop's name in `text`, which begins with a tag. Stops at the next tag, and ignores longer names. */
function propIn(text: string, prop: string): number | undefined {
  if (!NAME.test(prop)) return undefined
  const tag = /^<[^<]*/.exec(text)?.[0] ?? ''
  const found = new RegExp(`\\s${prop.replaceAll('$', '\\$')}(?=[\\s=/>])`).exec(tag)
  return found === null ? undefined : found.index + 1
}

function positionText(line: number, before: string): string {
  const rows = before.split('\n')
  return `${TEMPLATE_FILE}:${line + rows.length - 1}:${(rows.at(-1) ?? '').length + 1}`
}
