/** The text of a manifest file: its documents, and the position of each of their values. */
import { type Document, isAlias, isCollection, isNode, isScalar, LineCounter, parseAllDocuments } from 'yaml'

/** From 1; columns are UTF-16 code units, as in editors and JavaScript. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** From one document marker to the next; usually one document. */
export interface TextPart {
  readonly part: string
  readonly linesBefore: number
}

/** YAML recognises a document marker at the start of any line. */
export function splitText(text: string): readonly TextPart[] {
  // A directive belongs to the marker after it. In practice there are none.
  const isDirected = /^%/m.test(text)
  let linesBefore = 0
  return (isDirected ? [text] : text.split(/^(?=---(?:\s|$))/m)).map((part) => {
    const before = linesBefore
    linesBefore += part.split('\n').length - 1
    return { part, linesBefore: before }
  })
}

/** Every non-empty document of a part, including its errors. Lines are counted from the start of the part. */
export function parsePart(part: string): { readonly documents: readonly Document[]; readonly lines: LineCounter } {
  const lines = new LineCounter()
  const parsed = parseAllDocuments(part, { lineCounter: lines, uniqueKeys: true, logLevel: 'error' })
  // The parser returns a text without documents as an empty list with extra properties.
  const documents = (Array.isArray(parsed) ? parsed : []).filter(
    (document) => document.errors.length > 0 || !isEmpty(document),
  )
  return { documents, lines }
}

/** Between two `---` there may be nothing, or comments. */
function isEmpty({ contents }: Document): boolean {
  return contents === null || (isScalar(contents) && contents.value === null)
}

/** The position of the value at a JSON pointer, else of the nearest one around it, else of the document. */
export function positionOf(document: Document, pointer: string, lines: LineCounter): Position {
  const [nearest] = nodesAt(document, pointer).reverse()
  return positionAt((nearest?.range ?? document.range)?.[0] ?? 0, lines)
}

export function positionAt(offset: number, lines: LineCounter): Position {
  const { line, col } = lines.linePos(offset)
  return { line, column: col }
}

/** The existing nodes along a pointer, starting with the document's contents. */
function nodesAt(document: Document, pointer: string) {
  const nodes = [document.contents].filter(isNode)
  for (const segment of segmentsOf(pointer)) {
    const last = nodes.at(-1)
    const parent = isAlias(last) ? last.resolve(document) : last
    const child: unknown = isCollection(parent) ? parent.get(segment, true) : undefined
    if (!isNode(child)) break
    nodes.push(child)
  }
  return nodes
}

function segmentsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Positions are those in the file. */
export interface DocumentText {
  /** The part of the file that contains the document. */
  readonly text: string
  readonly firstLine: number
  /** The position of the value at a JSON pointer, or else of the nearest one around it. */
  positionOf(pointer: string): Position
  /**
   * The position of a place inside the text at a pointer. Undefined if that text is not written line for line: folded, quoted, or absent.
   */
  positionInside(pointer: string, inside: Position): Position | undefined
}

/** The document that begins at this line of the file, or the first one. */
export function documentAt(parts: readonly TextPart[], line?: number): DocumentText | undefined {
  const found = line === undefined ? parts[0] : partAt(parts, line)
  if (found === undefined) return undefined
  const { part, linesBefore } = found
  const { documents, lines } = parsePart(part)
  const document = documents.find((candidate) => {
    return line === undefined || positionOf(candidate, '', lines).line + linesBefore === line
  })
  if (document === undefined) return undefined
  const inFile = ({ line, column }: Position) => ({ line: linesBefore + line, column })
  return {
    text: part,
    firstLine: linesBefore + 1,
    positionOf: (pointer) => inFile(positionOf(document, pointer, lines)),
    positionInside(pointer, inside) {
      const position = insideLiteral({ document, part, lines }, pointer, inside)
      return position && inFile(position)
    },
  }
}

/** The part that contains a line of the file. */
export function partAt(parts: readonly TextPart[], line: number): TextPart | undefined {
  return parts.findLast(({ linesBefore }) => linesBefore < line)
}

interface ParsedDocument {
  readonly document: Document
  readonly part: string
  readonly lines: LineCounter
}

/** A literal block begins on the line after its `|`, and each of its lines is a line of the value, indented. */
function insideLiteral(
  { document, part, lines }: ParsedDocument,
  pointer: string,
  inside: Position,
): Position | undefined {
  const nodes = nodesAt(document, pointer)
  const last = nodes.length > segmentsOf(pointer).length ? nodes.at(-1) : undefined
  const node = isAlias(last) ? last.resolve(document) : last
  if (!isScalar(node) || node.type !== 'BLOCK_LITERAL' || typeof node.value !== 'string' || !node.range)
    return undefined
  const line = positionAt(node.range[0], lines).line + inside.line
  const written = lineOf(part, line, lines)
  const values = node.value.replace(/\n$/, '').split('\n')
  const value = values[inside.line - 1]?.replace(/\r$/, '')
  // If the two differ in more than indentation, this is not the line.
  if (value === undefined || !written.endsWith(value)) return undefined
  return { line, column: written.length - value.length + inside.column }
}

function lineOf(part: string, line: number, { lineStarts }: LineCounter): string {
  return part.slice(lineStarts[line - 1], lineStarts[line]).replace(/\r?\n$/, '')
}
