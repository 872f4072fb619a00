/**
 * Replaces the type of the component's parameter by that of the schema: authors rarely write one, or write what they hope for. Positions
 * are mapped back. Pure.
 */
import type TS from 'typescript'
import { ts } from './compiler.ts'
import { COMPONENT_PROPS } from './declaration.ts'
import { bareOf } from './finding.ts'

interface Annotated {
  readonly text: string
  readonly positionBefore: (position: number) => number
}

interface Change {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Changes nothing if no component is found. */
export function annotate(file: TS.SourceFile): Annotated {
  const component = componentOf(file)
  const changes = component === undefined ? [] : changesOf(component)
  const parts: string[] = []
  let end = 0
  for (const change of changes) {
    parts.push(file.text.slice(end, change.start), change.text)
    end = change.end
  }
  parts.push(file.text.slice(end))
  return { text: parts.join(''), positionBefore: (position) => positionBefore(position, changes) }
}

function positionBefore(position: number, changes: readonly Change[]): number {
  let shift = 0
  for (const { start, end, text } of changes) {
    const at = start + shift
    if (position < at) break
    if (position < at + text.length) return start
    shift += text.length - (end - start)
  }
  return position - shift
}

type Component = TS.FunctionDeclaration | TS.FunctionExpression | TS.ArrowFunction

/** The default export: the function itself, its name, or a call such as `memo(Invoice)`. */
export function componentOf(file: TS.SourceFile): Component | undefined {
  for (const statement of file.statements) {
    if (ts.isExportAssignment(statement)) return functionOf(statement.expression, file)
    if (ts.isFunctionDeclaration(statement) && isDefault(statement)) return statement
    const named = ts.isExportDeclaration(statement) ? defaultNameOf(statement) : undefined
    if (named !== undefined) return declared(named, file)
  }
  return undefined
}

function isDefault({ modifiers }: TS.FunctionDeclaration): boolean {
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword) === true
}

/** `Invoice` in `export { Invoice as default }`. */
function defaultNameOf({ exportClause, moduleSpecifier }: TS.ExportDeclaration): string | undefined {
  if (moduleSpecifier !== undefined || exportClause === undefined || !ts.isNamedExports(exportClause)) return undefined
  const found = exportClause.elements.find(({ name }) => name.text === 'default')
  return found?.propertyName?.text
}

function functionOf(expression: TS.Expression, file: TS.SourceFile, depth = 0): Component | undefined {
  const bare = bareOf(expression)
  if (ts.isArrowFunction(bare) || ts.isFunctionExpression(bare)) return bare
  if (depth > CALLS_MAX) return undefined
  if (ts.isIdentifier(bare)) return declared(bare.text, file, depth + 1)
  const first = ts.isCallExpression(bare) ? bare.arguments[0] : undefined
  return first === undefined ? undefined : functionOf(first, file, depth + 1)
}

/** Names and calls that are followed from the export to the function. */
const CALLS_MAX = 5

function declared(name: string, file: TS.SourceFile, depth = 0): Component | undefined {
  for (const statement of file.statements) {
    if (ts.isFunctionDeclaration(statement) && statement.name?.text === name) return statement
    const declarations = ts.isVariableStatement(statement) ? statement.declarationList.declarations : []
    const found = declarations.find((each) => ts.isIdentifier(each.name) && each.name.text === name)
    if (found?.initializer !== undefined) return functionOf(found.initializer, file, depth)
  }
  return undefined
}

function changesOf(component: Component): readonly Change[] {
  const parameter = component.parameters[0]
  if (parameter === undefined || component.body === undefined || parameter.dotDotDotToken !== undefined) return []
  const { name, type, questionToken } = parameter
  const start = (questionToken ?? name).end
  const change = { start, end: type?.end ?? start, text: `: ${COMPONENT_PROPS}` }
  const isBare = !component.getChildren().some(({ kind }) => kind === ts.SyntaxKind.OpenParenToken)
  if (!isBare) return [change]
  // `data => …` takes a type only in brackets.
  return [
    { start: name.getStart(), end: name.getStart(), text: '(' },
    { ...change, text: `${change.text})` },
  ]
}
