/**
 * Maps a fault to a line of a YAML file. Checks and engines name a field of a resource, or a line of a template's source, which may be in a
 * ConfigMap in another file. Pure.
 */
import { join } from 'node:path'
import type { TemplateResource } from '@platen/contract/domain/resource.ts'
import type { SourceSpec } from '@platen/contract/domain/resource-spec.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import type { FolderState } from '@platen/settings/manifest/folder.ts'
import type { ManifestDocument, ManifestFault } from '@platen/settings/manifest/text/parse.ts'
import {
  type DocumentText,
  documentAt,
  type Position,
  partAt,
  splitText,
  type TextPart,
} from '@platen/settings/manifest/text/yaml-text.ts'
import type { Location } from './diagnostic.ts'

export interface Locations {
  ofFault(fault: ManifestFault): Location
  /** Finds the field at a JSON pointer in a resource such as `Template team-acme/invoice`. Without an excerpt. */
  ofField(resource: string, pointer: string): Location
  /** The same with an excerpt, for templates only: they contain nothing secret. */
  ofValue(resource: string, pointer: string): Location
  /** Reads the location at the start of a message, such as `template.tsx:12:5: …`. Undefined when there is none. */
  ofSource(template: TemplateResource, message: string): Location | undefined
}

/** File names start with `dir`, so they work from the current directory. */
export function locationsIn({ files, documents }: FolderState, dir: string): Locations {
  const byPlace = new Map(documents.map((document) => [document.place, document]))
  const partsOf = memoized((file) => splitText(files.get(file)?.text ?? ''))
  const textOf = memoized((place) => {
    const document = byPlace.get(place)
    return document && documentAt(partsOf(document.file), document.line)
  })

  const ofField = (place: string, pointer: string): Location => {
    const document = byPlace.get(place)
    if (document === undefined) return { file: dir }
    const position = textOf(place)?.positionOf(pointer) ?? { line: document.line, column: 1 }
    return { file: join(dir, document.file), ...position }
  }
  const ofValue = (place: string, pointer: string): Location => {
    const at = ofField(place, pointer)
    const text = textOf(place)
    return text === undefined ? at : { ...at, excerpt: excerptOf(text, at) }
  }
  return {
    ofFault: (fault) => ofFault(fault, { dir, partsOf }),
    ofField,
    ofValue,
    ofSource(template, message) {
      const named = sourceReferenceIn(message)
      if (named === undefined) return undefined
      const { holder, pointer } = holderOf(template, SOURCES[named.file])
      const text = valueAt(byPlace.get(holder), pointer)
      if (text === undefined || named.line === undefined) return ofField(holder, pointer)
      const { line, column } = withinText(text, { ...named, line: named.line })
      const inFile = textOf(holder)?.positionInside(pointer, { line, column: column ?? firstColumn(text, line) })
      const excerpt = { text, firstLine: inFile === undefined ? 1 : inFile.line - line + 1, line, column }
      return { ...ofField(holder, pointer), ...inFile, excerpt }
    },
  }
}

function memoized<Value>(make: (key: string) => Value): (key: string) => Value {
  const kept = new Map<string, Value>()
  return (key) => {
    const value = kept.get(key) ?? make(key)
    kept.set(key, value)
    return value
  }
}

function excerptOf(
  { text, firstLine }: Pick<DocumentText, 'text' | 'firstLine'>,
  { line = firstLine, column }: Location,
) {
  return { text, firstLine, line: line - firstLine + 1, column }
}

/** The excerpt has no text that may belong to a Secret. */
function ofFault(
  { file, line, column = 1, place }: ManifestFault,
  { dir, partsOf }: { dir: string; partsOf: (file: string) => readonly TextPart[] },
): Location {
  const named = { file: join(dir, file) }
  if (line === undefined) return named
  const found = partAt(partsOf(file), line)
  const isShown = place?.startsWith('Template ') === true || !/secret/i.test(found?.part ?? '')
  if (found === undefined || !isShown) return { ...named, line, column }
  const { part: text, linesBefore } = found
  const excerpt = { text, firstLine: linesBefore + 1, ...withinText(text, { line: line - linesBefore, column }) }
  return { ...named, line, column, excerpt }
}

/** By the name that checks and engines use for a source: its field in the template's spec. */
const SOURCES = {
  'template.tsx': { pointer: '/spec/reactPdf/source', of: ({ reactPdf }) => reactPdf?.source },
  'template.html': { pointer: '/spec/html/template', of: ({ html }) => html?.template },
  'header.html': { pointer: '/spec/html/header', of: ({ html }) => html?.header },
  'footer.html': { pointer: '/spec/html/footer', of: ({ html }) => html?.footer },
} as const satisfies Record<string, Source>

interface Source {
  readonly pointer: string
  readonly of: (spec: TemplateResource['spec']) => SourceSpec | undefined
}

type SourceFile = keyof typeof SOURCES

const HEAD = /^(?<file>(?:template|header|footer)\.(?:tsx|html))(?::(?<line>\d{1,7})(?::(?<column>\d{1,7}))?)?: /

function sourceReferenceIn(message: string): (Partial<Position> & { readonly file: SourceFile }) | undefined {
  const { file, line, column } = HEAD.exec(message)?.groups ?? {}
  const isSource = (name: string | undefined): name is SourceFile => name !== undefined && Object.hasOwn(SOURCES, name)
  if (!isSource(file)) return undefined
  return { file, ...(line && { line: Number(line) }), ...(column && { column: Number(column) }) }
}

/** The resource that contains a source's text, and the pointer to the text. */
function holderOf(template: TemplateResource, { pointer, of }: Source): { holder: string; pointer: string } {
  const ref = of(template.spec)?.configMapKeyRef
  if (ref === undefined) return { holder: labelOf(template), pointer: `${pointer}/inline` }
  // Keys of ConfigMaps contain neither slashes nor tildes, so the pointer needs no escapes.
  return { holder: `ConfigMap ${template.metadata.namespace}/${ref.name}`, pointer: `/data/${ref.key}` }
}

function valueAt(document: ManifestDocument | undefined, pointer: string): string | undefined {
  let value: unknown = document?.written
  for (const segment of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) return undefined
    // A manifest is JSON, and `segment` is its own property.
    value = (value as JsonObject)[segment]
  }
  return typeof value === 'string' ? value : undefined
}

/** Moves a line past the end to the end of the text, because parsers report unclosed parts there. */
function withinText(text: string, { line, column }: Pick<Position, 'line'> & Partial<Position>) {
  const lines = text.trimEnd().split('\n')
  return line <= lines.length ? { line, column } : { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
}

function firstColumn(text: string, line: number): number {
  const written = text.split('\n')[line - 1] ?? ''
  return Math.max(written.search(/\S/), 0) + 1
}
