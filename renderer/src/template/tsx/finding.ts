/** What a part of the check found in a template, and what several parts ask of the compiler. */
import type TS from 'typescript'
import { DATA, ts } from './compiler.ts'

export interface Finding {
  /** Offset in the text that was compiled. */
  readonly position: number
  readonly message: string
  /** A warning does not refuse the template: it may be meant so, or the code may know better. */
  readonly isWarning?: boolean
}

/** The members of a union, or the type itself. */
export function membersOf(type: TS.Type): readonly TS.Type[] {
  return type.isUnion() ? type.types : [type]
}

/** Whether the schema declares it as an object. */
export function isSchemaObject(type: TS.Type): boolean {
  if (type.isIntersection()) return type.types.every(isSchemaObject)
  const isObject = (type.flags & ts.TypeFlags.Object) !== 0
  return isObject && type.symbol?.declarations?.[0]?.getSourceFile().fileName === DATA
}

/** A number, a text or a flag. */
export function isPrimitive(type: TS.Type): boolean {
  const { NumberLike, StringLike, BooleanLike, BigIntLike } = ts.TypeFlags
  return (type.flags & (NumberLike | StringLike | BooleanLike | BigIntLike)) !== 0
}

/** Whether a value may be none at all: as a prop or style it then counts as absent. */
export function isNothing(type: TS.Type): boolean {
  return (type.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null | ts.TypeFlags.Any)) !== 0
}

/** An expression without brackets and types around it. */
export function bareOf(expression: TS.Expression): TS.Expression {
  let bare = expression
  while (
    ts.isParenthesizedExpression(bare) ||
    ts.isAsExpression(bare) ||
    ts.isSatisfiesExpression(bare) ||
    ts.isNonNullExpression(bare)
  )
    bare = bare.expression
  return bare
}

const SHOWN_CHARS_MAX = 60

/** The source of a node for a message, on one line and not long. */
export function shownText(node: TS.Node): string {
  const text = node.getText().replaceAll(/\s+/g, ' ')
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text
}
