/**
 * Decides which of TypeScript's diagnostics an author sees. Most are no faults at run time: templates are written without types, and
 * JavaScript allows more than types do. Pure.
 */
import { suggestion } from '@platen/lib/suggestion.ts'
import type TS from 'typescript'
import { type CompiledTemplate, DATA, ts } from './compiler.ts'
import { type Finding, isPrimitive, isSchemaObject, membersOf, shownText } from './finding.ts'

/** `>` and `}` in the text of an element: the transpiler accepts them. */
const TOLERATED = new Set([1381, 1382])

/** The first one breaks the rest of the file, so later ones say little. */
const SYNTAX_FAULTS_MAX = 1

export function syntaxFindings({ program, file }: CompiledTemplate): readonly Finding[] {
  const found = program.getSyntacticDiagnostics(file).filter(({ code }) => !TOLERATED.has(code))
  return found.slice(0, SYNTAX_FAULTS_MAX).map((each) => ({ position: each.start, message: plainText(each) }))
}

/** "Cannot find name", also with a suggestion or the name of a package or library; and a type used as a value. */
const UNKNOWN_NAME = new Set([2304, 2552, 2580, 2581, 2582, 2583, 2584, 2591, 2592, 2593, 2693, 2867, 2868, 18004])
const NOT_CALLABLE = 2349
const NO_OVERLAP = 2367
/** "Object is possibly null or undefined", also with a name. */
const MAYBE_ABSENT = new Set([2531, 2532, 2533, 18047, 18048, 18049])

/** For a program with loose nulls. */
export function typeFindings(compiled: CompiledTemplate): readonly Finding[] {
  const { program, file } = compiled
  const guarded = guardedNames(file)
  return program.getSemanticDiagnostics(file).flatMap((each): readonly Finding[] => {
    const { code, start, length } = each
    if (start === undefined) return []
    const node = nodeAt(file, start, start + (length ?? 0))
    if (UNKNOWN_NAME.has(code)) return nameFindings(node, guarded)
    if (code === NOT_CALLABLE) return callFindings(node, compiled)
    if (code !== NO_OVERLAP) return []
    return [
      { position: start, message: `this comparison always has the same result: ${overlapOf(each)}`, isWarning: true },
    ]
  })
}

/** Variables that the schema does not require, but whose fields are read. For a program with strict nulls. */
export function absenceFindings({ program, file, checker }: CompiledTemplate): readonly Finding[] {
  const found = program.getSemanticDiagnostics(file).filter(({ code }) => MAYBE_ABSENT.has(code))
  return found.flatMap(({ start = 0, length = 0 }): readonly Finding[] => {
    const node = nodeAt(file, start, start + length)
    const { parent } = node
    const isOwner =
      (ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent)) && parent.expression === node
    const declaration = checker.getSymbolAtLocation(node)?.declarations?.[0]
    const isVariable = declaration?.getSourceFile().fileName === DATA
    if (!isOwner || !isVariable || isAskedFor(node)) return []
    const message = `${shownText(node)} may be absent: variablesSchema does not require it`
    return [{ position: start, message, isWarning: true }]
  })
}

/** A condition around the node mentions it, even if the compiler does not understand that: `data.rows?.length > 0 && data.rows.map`. */
function isAskedFor(node: TS.Node): boolean {
  const text = plainChain(node)
  for (let inner = node; !ts.isSourceFile(inner.parent); inner = inner.parent) {
    const condition = conditionOf(inner.parent)
    if (condition !== undefined && condition !== inner && plainChain(condition).includes(text)) return true
  }
  return false
}

/** The source of an expression without optional chaining. */
function plainChain(node: TS.Node): string {
  return node.getText().replaceAll('?.', '.').replaceAll('.[', '[')
}

function conditionOf(node: TS.Node): TS.Node | undefined {
  if (ts.isConditionalExpression(node)) return node.condition
  if (ts.isIfStatement(node)) return node.expression
  return ts.isBinaryExpression(node) ? node.left : undefined
}

function nameFindings(node: TS.Node, guarded: ReadonlySet<string>): readonly Finding[] {
  // Types are removed before the template runs.
  if (!ts.isIdentifier(node) || ts.isPartOfTypeNode(node) || guarded.has(node.text)) return []
  return [{ position: node.getStart(), message: `${node.text} is not defined${suggestion(node.text, namesIn(node))}` }]
}

/** Names that the code tests with `typeof`, like libraries for several runtimes. */
function guardedNames(file: TS.SourceFile): ReadonlySet<string> {
  const names = new Set<string>()
  const visit = (node: TS.Node): void => {
    if (ts.isTypeOfExpression(node) && ts.isIdentifier(node.expression)) names.add(node.expression.text)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return names
}

function namesIn(node: TS.Node): ReadonlySet<string> {
  const names = new Set<string>()
  const visit = (each: TS.Node): void => {
    const isNaming =
      ts.isVariableDeclaration(each) ||
      ts.isFunctionDeclaration(each) ||
      ts.isParameter(each) ||
      ts.isBindingElement(each) ||
      ts.isImportSpecifier(each) ||
      ts.isImportClause(each)
    if (isNaming && each.name !== undefined && ts.isIdentifier(each.name)) names.add(each.name.text)
    ts.forEachChild(each, visit)
  }
  visit(node.getSourceFile())
  return names
}

function callFindings(node: TS.Node, { checker }: CompiledTemplate): readonly Finding[] {
  const type = checker.getNonNullableType(checker.getTypeAtLocation(node))
  const members = membersOf(type)
  if (!members.every((member) => isPrimitive(member) || isSchemaObject(member))) return []
  const what = members.every(isSchemaObject)
    ? 'an object'
    : `a ${checker.typeToString(checker.getBaseTypeOfLiteralType(type))}`
  const called = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node ? node.parent : node
  return [{ position: node.getStart(), message: `${shownText(called)} is not a function: it is ${what}` }]
}

function overlapOf(diagnostic: TS.Diagnostic): string {
  const [, one = '', other = ''] = /the types '(.*)' and '(.*)' have no overlap/s.exec(textOf(diagnostic)) ?? []
  return `${one} is never ${other}`
}

/** TypeScript's message in our style: no full stop, no quotes around names. */
function plainText(diagnostic: TS.Diagnostic): string {
  const text = textOf(diagnostic)
    .replaceAll(/'([^']*)'/g, '$1')
    .replace(/\.$/, '')
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`.replace(/^jSX/, 'JSX')
}

function textOf({ messageText }: TS.Diagnostic): string {
  return ts.flattenDiagnosticMessageText(messageText, '; ')
}

/** The innermost node that contains the whole range. */
function nodeAt(file: TS.SourceFile, start: number, end: number): TS.Node {
  let node: TS.Node = file
  for (;;) {
    const inner: TS.Node | undefined = ts.forEachChild(node, (child) =>
      child.getStart() <= start && end <= child.end ? child : undefined,
    )
    if (inner === undefined) return node
    node = inner
  }
}
