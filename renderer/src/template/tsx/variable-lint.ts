/**
 * Checks each property that a template reads against the schema. TypeScript would refuse too much: a property of one of several variants,
 * or one that code adds to its own object. Here, only what no valid data can have is a fault. Pure.
 */
import { suggestion } from '@platen/lib/suggestion.ts'
import type TS from 'typescript'
import type { CompiledTemplate } from './compiler.ts'
import { ts } from './compiler.ts'
import { type Finding, isPrimitive, isSchemaObject, membersOf, shownText } from './finding.ts'

/** Checks one node, not its children. */
export function variableFindings(node: TS.Node, { checker }: CompiledTemplate): readonly Finding[] {
  const read = readOf(node, checker)
  if (read === undefined || isWritten(node)) return []
  const { name, place, owner, shown } = read
  const members = membersOf(checker.getNonNullableType(owner))
  const position = place.getStart()
  // Methods such as hasOwnProperty.
  if (name in Object.prototype) return []
  if (members.every(isSchemaObject)) {
    const known = members.flatMap((member) => checker.getPropertiesOfType(member).map((property) => property.name))
    if (known.includes(name)) return []
    const hint = suggestion(name, known)
    const isClosed = members.every((member) => checker.getIndexInfosOfType(member).length === 0)
    // An open object may have it. But a name so similar to another one is probably a mistake.
    if (!isClosed && (hint === '' || isMap(members, checker))) return []
    const rule = isClosed ? 'variablesSchema has no such variable' : 'variablesSchema does not list this variable'
    return [{ position, message: `${shown}: ${rule}${hint}`, isWarning: !isClosed }]
  }
  if (!members.every((member) => isPrimitive(member) || checker.isArrayType(member) || checker.isTupleType(member)))
    return []
  if (members.some((member) => checker.getPropertyOfType(checker.getApparentType(member), name) !== undefined))
    return []
  if (/^\d+$/.test(name)) return []
  const known = members.flatMap((member) =>
    checker
      .getApparentType(member)
      .getProperties()
      .map((each) => each.name),
  )
  const hint = suggestion(name, known)
  if (hint === '' && !read.isOfSchema) return []
  const what = checker.typeToString(checker.getBaseTypeOfLiteralType(checker.getNonNullableType(owner)))
  return [{ position, message: `${shown}: ${articleOf(what)} has no ${name}${hint}` }]
}

function articleOf(type: string): string {
  if (type.length > 40 || type.includes('[')) return 'a list'
  return type === 'string' ? 'a text' : `a ${type}`
}

interface Read {
  readonly name: string
  readonly place: TS.Node
  readonly owner: TS.Type
  readonly shown: string
  /** The owner itself is a field of the schema. */
  readonly isOfSchema: boolean
}

/** Handles `data.total`, `data['total']` and `{ total }`. */
function readOf(node: TS.Node, checker: TS.TypeChecker): Read | undefined {
  if (ts.isPropertyAccessExpression(node)) {
    const { expression, name } = node
    return { ...ownerOf(expression, checker), name: name.text, place: name, shown: shownText(node) }
  }
  if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression)) {
    const { expression, argumentExpression: place } = node
    return { ...ownerOf(expression, checker), name: place.text, place, shown: shownText(node) }
  }
  if (!ts.isBindingElement(node) || !ts.isObjectBindingPattern(node.parent)) return undefined
  const place = node.propertyName ?? node.name
  if (node.dotDotDotToken !== undefined || !(ts.isIdentifier(place) || ts.isStringLiteral(place))) return undefined
  // With a default value: the author knows that it may be absent.
  if (node.initializer !== undefined) return undefined
  const owner = checker.getTypeAtLocation(node.parent)
  return { name: place.text, place, owner, shown: place.text, isOfSchema: false }
}

function ownerOf(expression: TS.Expression, checker: TS.TypeChecker): Pick<Read, 'owner' | 'isOfSchema'> {
  const parent = ts.isPropertyAccessExpression(expression)
    ? checker.getTypeAtLocation(expression.expression)
    : undefined
  const isOfSchema = parent !== undefined && membersOf(checker.getNonNullableType(parent)).every(isSchemaObject)
  return { owner: checker.getTypeAtLocation(expression), isOfSchema }
}

/** An object without declared fields. */
function isMap(members: readonly TS.Type[], checker: TS.TypeChecker): boolean {
  return members.some((member) => checker.getPropertiesOfType(member).length === 0)
}

/** Code may add fields to its own objects. */
function isWritten(node: TS.Node): boolean {
  const { parent } = node
  return (
    ts.isBinaryExpression(parent) &&
    parent.left === node &&
    parent.operatorToken.kind >= ts.SyntaxKind.FirstAssignment &&
    parent.operatorToken.kind <= ts.SyntaxKind.LastAssignment
  )
}
