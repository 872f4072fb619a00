/**
 * Parses the text of one manifest file to documents and faults. Pure. A fault in one document does not affect the others. It has its
 * position as a person reads the file: file, line, field.
 */

import { JSON_DEPTH_MAX } from '@platen/contract/domain/limit.ts'
import { NAMESPACE_DEFAULT } from '@platen/contract/domain/resource.ts'
import type { ResourceManifest } from '@platen/contract/domain/resource-spec.ts'
import type { ReadResource } from '@platen/contract/schema/resource/reader.ts'
import type { Json, JsonObject } from '@platen/lib/brand.ts'
import type { Document, LineCounter } from 'yaml'
import { MANIFEST_DOCUMENTS_MAX } from '../limit.ts'
import { type Position, parsePart, positionAt, positionOf, splitText } from './yaml-text.ts'

/** How often YAML aliases may multiply what they refer to: the default of `yaml`, which stops a billion laughs attack. */
const MANIFEST_ALIASES_MAX = 100

/** Of one document with its aliases expanded: far above any real one, and quick to walk. */
const MANIFEST_NODES_MAX = 1_000_000

/** Valid. `place` is unique: `Template team-acme/invoice`. */
export interface ManifestDocument {
  readonly file: string
  readonly line: number
  readonly place: string
  readonly written: ResourceManifest
}

export interface ManifestFault {
  readonly file: string
  readonly line?: number
  readonly column?: number
  /** The resource, if it could be read. */
  readonly place?: string
  /** JSON pointer into the document. */
  readonly path?: string
  readonly message: string
}

export interface ParsedFile {
  readonly documents: readonly ManifestDocument[]
  readonly faults: readonly ManifestFault[]
  /** Places of refused documents. */
  readonly refused: ReadonlySet<string>
  /** Whether the place of a faulty document could not be read. It may be any of the missing ones. */
  readonly hasUnknown: boolean
  /** For the next time the file is parsed. */
  readonly parts: ParsedParts
}

export interface FileToParse {
  readonly text: string
  /** The name in faults. */
  readonly file: string
  readonly read: ReadResource
  /** Results of the previous version of the file. Unchanged parts are not parsed again: of ten thousand tenants, few change at a time. */
  readonly known?: ParsedParts
}

/** By the text from the start of one document to the start of the next. */
export type ParsedParts = ReadonlyMap<string, readonly DocumentResult[]>

/** Never throws. */
export function parseManifests({ text, file, read, known }: FileToParse): ParsedFile {
  const documents: ManifestDocument[] = []
  const faults: ManifestFault[] = []
  const refused = new Set<string>()
  let hasUnknown = false
  const parts = new Map<string, readonly DocumentResult[]>()
  const split = splitText(text)
  const isTooLong = split.length > MANIFEST_DOCUMENTS_MAX
  for (const { part, linesBefore } of isTooLong ? [] : split) {
    const results = parts.get(part) ?? known?.get(part) ?? readPart(part, read)
    parts.set(part, results)
    for (const result of results) {
      if ('written' in result) {
        const { written, line } = result
        documents.push({ file, line: linesBefore + line, place: placeOf(written), written })
        continue
      }
      for (const { line, ...fault } of result.faults) faults.push({ file, line: linesBefore + line, ...fault })
      if (result.place === undefined) hasUnknown = true
      else refused.add(result.place)
    }
  }
  if (documents.length > 0 || faults.length > 0) return { documents, faults, refused, hasUnknown, parts }
  const message = isTooLong
    ? `contains more than ${MANIFEST_DOCUMENTS_MAX} documents`
    : // A writer may have truncated the file and not filled it yet.
      'contains no document: remove it if that is intended'
  return { documents, faults: [{ file, message }], refused, hasUnknown: true, parts }
}

export function readPart(part: string, read: ReadResource): readonly DocumentResult[] {
  const { documents, lines } = parsePart(part)
  return documents.map((document) => readDocument(document, lines, read))
}

type Fault = Omit<ManifestFault, 'file' | 'line' | 'column'> & Position
/** Lines are counted from the start of the part. */
export type DocumentResult =
  | { readonly written: ResourceManifest; readonly line: number }
  | { readonly faults: readonly Fault[]; readonly place?: string }

function readDocument(document: Document, lines: LineCounter, read: ReadResource): DocumentResult {
  const start = positionOf(document, '', lines)
  const [broken] = [...document.errors, ...document.warnings]
  // Only the first error, because the others follow from it. The rest of its message quotes the file, which may hold a secret.
  if (broken !== undefined) {
    const message = broken.message.split(/ at line \d|\n/, 1)[0] ?? 'is not YAML'
    return { faults: [{ ...positionAt(broken.pos[0], lines), message }] }
  }
  const value = valueOf(document)
  if ('fault' in value) return { faults: [{ ...start, message: value.fault }] }
  const result = read(value.json)
  if ('written' in result) return { written: result.written, line: start.line }
  const place = claimedPlace(value.json)
  const faults = result.faults.map(({ path, message }) => ({
    ...positionOf(document, path, lines),
    ...(place !== undefined && { place }),
    path,
    message,
  }))
  return { faults, ...(place !== undefined && { place }) }
}

function valueOf(document: Document): { readonly json: JsonObject } | { readonly fault: string } {
  try {
    return jsonObject(document.toJS({ maxAliasCount: MANIFEST_ALIASES_MAX }))
  } catch (cause) {
    return { fault: cause instanceof Error ? cause.message : 'cannot be read' }
  }
}

/** Refuses YAML values that JSON does not have and a manifest cannot mean: bytes, infinity, cycles. */
function jsonObject(value: unknown): { readonly json: JsonObject } | { readonly fault: string } {
  const rest: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }]
  for (let nodes = 1, node = rest.pop(); node !== undefined; nodes++, node = rest.pop()) {
    if (nodes > MANIFEST_NODES_MAX) return { fault: `contains more than ${MANIFEST_NODES_MAX} values` }
    if (node.depth > JSON_DEPTH_MAX) return { fault: `is nested more than ${JSON_DEPTH_MAX} levels deep` }
    if (isScalarJson(node.value)) continue
    if (!Array.isArray(node.value) && !isPlainObject(node.value))
      return { fault: 'contains a value that JSON does not have' }
    if (Object.hasOwn(node.value, '__proto__')) return { fault: 'has a field named __proto__' }
    for (const child of Object.values(node.value)) rest.push({ value: child, depth: node.depth + 1 })
  }
  if (!isPlainObject(value)) return { fault: 'is not a mapping of apiVersion, kind, metadata and spec' }
  // Every value in it was checked to be JSON.
  return { json: value as JsonObject }
}

function isScalarJson(value: unknown): value is Json {
  return value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value)
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function placeOf({ kind, metadata }: ResourceManifest): string {
  return spellPlace(kind, metadata.name, metadata.namespace)
}

const CLUSTER_KINDS = ['Plan', 'Tenant']
const NAMESPACED_KINDS = ['Template', 'ApiKey', 'ConfigMap', 'Secret']

/** The place of a refused document, if its kind and name can be read. */
function claimedPlace({ kind, metadata }: JsonObject): string | undefined {
  if (typeof kind !== 'string' || !isPlainObject(metadata)) return undefined
  const { name, namespace } = metadata
  const isKnown = CLUSTER_KINDS.includes(kind) || NAMESPACED_KINDS.includes(kind)
  if (!isKnown || typeof name !== 'string') return undefined
  return spellPlace(kind, name, typeof namespace === 'string' ? namespace : undefined)
}

function spellPlace(kind: string, name: string, namespace = NAMESPACE_DEFAULT): string {
  return CLUSTER_KINDS.includes(kind) ? `${kind} ${name}` : `${kind} ${namespace}/${name}`
}
