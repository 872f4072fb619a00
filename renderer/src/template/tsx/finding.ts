/** What a part of the check finds in a template, and helpers of several parts. */
import type TS from 'typescript'
import { DATA, ts } from './compiler.ts'

export interface Finding {
  /** Offset in the text that was compiled. */
  readonly position: number
  readonly message: string
  /** A warning does not refuse the template: the author may mean it. */
  readonly isWarning?: boolean
}

export function membersOf(type: TS.Type): readonly TS.Type[] {
  return type.isUnion() ? type.types : [type]
}

export function isSchemaObject(type: TS.Type): boolean {
  if (type.isIntersection()) return type.types.every(isSchemaObject)
  const isObject = (type.flags & ts.TypeFlags.Object) !== 0
  return isObject && type.symbol?.declarations?.[0]?.getSourceFile().fileName === DATA
}

export function isPrimitive(type: TS.Type): boolean {
  const { NumberLike, StringLike, BooleanLike, BigIntLike } = ts.TypeFlags
  return (type.flags & (NumberLike | StringLike | BooleanLike | BigIntLike)) !== 0
}

/** A prop or style of this type may count as absent. */
export function isNothing(type: TS.Type): boolean {
  return (type.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null | ts.TypeFlags.Any)) !== 0
}

/** Removes brackets and types around an expression. */
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

/** For a message: on one line, shortened. */
export function shownText(node: TS.Node): string {
  const text = node.getText().replaceAll(/\s+/g, ' ')
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text
}
