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
}

/** Strips types and JSX, keeping lines. Throws `ServiceError` with `template_error` and the place when the source does not parse. */
export function transpile(source: string): Program {
  const { code } = transformed(source, OPTIONS)
  return { code, locate: (line, column) => locate(source, line, column) }
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
