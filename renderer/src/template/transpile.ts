/** TSX as its author wrote it → a script QuickJS can run, line for line. */
import { SourceMap } from 'node:module'
import { ServiceError } from '@platen/contract/error.ts'
import { type Options, transform } from 'sucrase'

/** How the source is called in stack traces and messages. */
export const TEMPLATE_FILE = 'template.tsx'

const OPTIONS: Options = {
  transforms: ['typescript', 'jsx', 'imports'],
  jsxRuntime: 'automatic',
  // The development form hands the line of every element on, so that a wrong prop can be named with its place.
  production: false,
  filePath: TEMPLATE_FILE,
}

/** A transpiled template. Immutable, so one may be kept for any number of renders. */
export interface Program {
  readonly code: string
  /** `template.tsx:12:5` for a place in `code`, both counted from 1. Slow: for error messages. */
  readonly locate: (line: number, column: number) => string
  /** The same for an element, or one of its props, as it stands in the source. */
  readonly find: (spot: ElementPosition) => string
}

/** An element of a template as it comes out of the sandbox: the line is known, the column has to be looked for. */
export interface ElementPosition {
  readonly line: number
  /** What stands behind its `<`, but for a namespace. */
  readonly element?: string | undefined
  readonly prop?: string | undefined
}

/** Strips types and JSX, keeping lines. Throws `ServiceError` with `template_error` and the place when the source does not parse. */
export function transpile(source: string): Program {
  const { code } = transformed(source, OPTIONS)
  return { code, locate: (line, column) => locate(source, line, column), find: (spot) => find(source, spot) }
}

function transformed(source: string, options: Options): ReturnType<typeof transform> {
  try {
    return transform(source, options)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    // sucrase: "Error transforming template.tsx: Unexpected token (3:9)"
    const place = /^(?:Error transforming [^:]*: )?(.*) \((\d+):(\d+)\)$/s.exec(reason)
    const message =
      place === null ? `${TEMPLATE_FILE}: ${reason}` : `${TEMPLATE_FILE}:${place[2]}:${place[3]}: ${place[1]}`
    throw new ServiceError('template_error', message, { cause })
  }
}

/** Lines survive the transform; columns do not, and the map that has them is made only when somebody asks. */
function locate(source: string, line: number, column: number): string {
  const { sourceMap } = transformed(source, { ...OPTIONS, sourceMapOptions: { compiledFilename: TEMPLATE_FILE } })
  if (sourceMap === undefined) return `${TEMPLATE_FILE}:${line}`
  const map = new SourceMap({ sourceRoot: '', sourcesContent: [source], ...sourceMap })
  const entry = map.findEntry(line - 1, column - 1)
  const isSameLine = 'originalLine' in entry && entry.originalLine === line - 1
  return isSameLine ? `${TEMPLATE_FILE}:${line}:${entry.originalColumn + 1}` : `${TEMPLATE_FILE}:${line}`
}

/** A name that can be looked for. One out of a sandbox need not be in the source, and can be longer than any expression may be. */
const NAME = /^[\w$-]{1,100}$/

/** Lines of a source that one element's props are looked for in. */
const PROP_LINES_MAX = 50

/**
 * sucrase hands on the line of an element and no more. It has one place on that line as a rule; of several of a name it is the
 * first that has the prop. An element under another name (`const Box = View`), and a prop that is spread, are not found.
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

/** Where a prop is named in the text of an opening tag and what follows it: before the next tag, and not within a longer name. */
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
