/** Data for a preview from a JSON file or from standard input, instead of the template's sample data. */
import { createReadStream } from 'node:fs'
import { addAbortSignal, type Readable } from 'node:stream'
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import { BODY_BYTES_MAX, JSON_DEPTH_MAX } from '@platen/contract/domain/limit.ts'
import type { TemplateResource } from '@platen/contract/domain/resource.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { isDeeperThan } from '@platen/lib/json-depth.ts'
import { documentAt, splitText } from '@platen/settings/manifest/text/yaml-text.ts'
import { type Diagnostic, type Location, UsageError } from '../diagnostic/diagnostic.ts'
import { schemaMismatches } from '../template.ts'

export interface GivenData {
  /** As shown to people. */
  readonly file: string
  readonly text: string
}

/**
 * The function reads the data again at each call. Standard input (`-`) is read only once, and only until `signal` aborts. Throws
 * `UsageError` when the data cannot be read.
 */
export function dataReader(path: string, stdin: Readable, signal: AbortSignal): () => Promise<GivenData> {
  if (path !== '-') return async () => ({ file: path, text: await collect(createReadStream(path), path) })
  let read: Promise<string> | undefined
  return async () => {
    read ??= collect(addAbortSignal(signal, stdin), 'stdin')
    return { file: 'stdin', text: await read }
  }
}

/** Has the limit of a request body. */
async function collect(chunks: Readable, name: string): Promise<string> {
  const read: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of chunks) {
      read.push(chunk)
      bytes += chunk.byteLength
      if (bytes > BODY_BYTES_MAX) throw new UsageError(`the data has more than ${BODY_BYTES_MAX} bytes`)
    }
  } catch (cause) {
    throw isErrno(cause) ? new UsageError(`the data ${name} cannot be read (${cause.code})`, { cause }) : cause
  }
  return Buffer.concat(read).toString()
}

/** The data must be JSON and match the template's schema. Otherwise returns the API's error, with locations. */
export function readData(
  template: TemplateResource,
  { file, text }: GivenData,
): { readonly data: JsonObject } | { readonly diagnostics: readonly Diagnostic[] } {
  const refuse = (message: string, place: Location = { file }) => ({
    diagnostics: [{ ...place, message, isWarning: false }],
  })
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (cause) {
    const { message } = cause instanceof Error ? cause : new Error('it cannot be read')
    return refuse(`is not JSON: ${message}`, syntaxErrorLocation(file, text, message))
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return refuse('is not a JSON object')
  if (isDeeperThan(data, JSON_DEPTH_MAX)) return refuse(`is nested more than ${JSON_DEPTH_MAX} levels deep`)
  // JSON.parse only returns JSON.
  const object = data as JsonObject
  const mismatches = schemaMismatches(template, object)
  if (mismatches.length === 0) return { data: object }
  // JSON is YAML, so the YAML parser can locate its values.
  const document = documentAt(splitText(text))
  const diagnostics = mismatches.map(({ path, message }) => {
    const at = document?.positionOf(path)
    const excerpt = at && { text, firstLine: 1, ...at }
    return { file, ...at, ...(excerpt && { excerpt }), subject: `/data${path}`, message, isWarning: false }
  })
  return { diagnostics }
}

/** V8 reports a position only for some faults: `… in JSON at position 20 (line 3 column 1)`. */
function syntaxErrorLocation(file: string, text: string, message: string): Location {
  const [, line, column] = /\(line (\d+) column (\d+)\)$/.exec(message) ?? []
  if (line === undefined) return { file }
  const at = { line: Number(line), column: Number(column) }
  return { file, ...at, excerpt: { text, firstLine: 1, ...at } }
}
