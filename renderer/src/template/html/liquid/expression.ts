/** The types of Liquid expressions, and the faults of their operators and filters. */
import type { Json } from '@platen/lib/brand.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import { type Filter, type Token, TypeGuards, type Value } from 'liquidjs'
import { argumentWords, SIGNATURES, type Signature } from '../filter/signature.ts'
import { isOnly, kindWords, type ValueKind } from '../filter/value-kind.ts'
import { openLiteralCheck } from '../filter.ts'
import {
  type Context,
  isLiteral,
  NUMBER,
  shortened,
  TEXT,
  textOf,
  typeOfField,
  typeOfToken,
  type Variables,
} from './path.ts'
import type { Schema } from './schema.ts'

interface Expression {
  readonly initial: Pick<Value['initial'], 'postfix'>
  readonly filters: readonly Pick<Filter, 'name' | 'args'>[]
  /** Where faults are reported. */
  readonly token: Token
}

interface Operand {
  readonly token: Token
  readonly schema: Schema
}

/** The schema after all filters. Reports faults on the way. */
export function typeOf(context: Context, expression: Expression, scope: Variables): Schema {
  const { filters, token } = expression
  let schema = typeOfOperators(context, expression, scope)
  const [first, ...others] = expression.initial.postfix
  const initial = others.length === 0 && isLiteral(first) ? first.content : undefined
  for (const [index, { name, args: given }] of filters.entries()) {
    const args = given.map((arg) => (Array.isArray(arg) ? { name: arg[0], token: arg[1] } : { token: arg }))
    for (const arg of args) typeOfToken(context, arg.token, scope)
    const signature = SIGNATURES.get(name)
    // As for the filter that escapes an output.
    if (signature === undefined) continue
    const call = { name, signature, args, schema, token }
    if (checkCall(context, call)) checkLiterals(context, call, index === 0 ? initial : undefined)
    schema = resultOf(context, call)
  }
  return schema
}

function typeOfOperators(context: Context, { initial, token }: Expression, scope: Variables): Schema {
  const operands: Operand[] = []
  for (const part of initial.postfix) {
    if (!TypeGuards.isOperatorToken(part)) {
      operands.push({ token: part, schema: typeOfToken(context, part, scope) })
      continue
    }
    const right = operands.pop()
    const left = part.operator === 'not' ? undefined : operands.pop()
    const isEquality = part.operator === '==' || part.operator === '!='
    if (isEquality && left !== undefined && right !== undefined) {
      compare(context, left, right.token)
      compare(context, right, left.token)
    }
    operands.push({ token: part, schema: true })
  }
  if (operands.length > 1)
    context.report(token, `${textOf(token)}: an operator or a filter is missing between two values`)
  return operands[0]?.schema ?? true
}

/** Reports a comparison with a literal that has the same result for all data. */
export function compare({ reader, report }: Context, { token, schema }: Operand, literal: Token): void {
  if (!isLiteral(literal) || isLiteral(token)) return
  const value = literal.content
  const [kinds, values] = [reader.kinds(schema), reader.values(schema)]
  // `!= ""` asks whether there is any value. A schema without any value is not the source's fault.
  if (value === '' || kinds.size === 0) return
  const [name, text] = [textOf(token), shortened(JSON.stringify(value))]
  if (!kinds.has(typeof value === 'string' ? 'string' : 'number'))
    return report(literal, `${name} is ${kindWords(kinds)} and never equals ${text}`)
  if (values === undefined || values.includes(value)) return
  const texts = values.filter((each) => typeof each === 'string')
  const near = typeof value === 'string' ? suggestion(value, texts) : ''
  report(literal, `${name} is never ${text}${near}: it is ${listWords(values)}`)
}

const VALUES_NAMED_MAX = 8

function listWords(values: readonly Json[]): string {
  const words = values.slice(0, VALUES_NAMED_MAX).map((value) => shortened(JSON.stringify(value)))
  return `${words.join(', ')}${values.length > VALUES_NAMED_MAX ? ', …' : ''}`
}

interface Call {
  readonly name: string
  readonly signature: Signature
  readonly args: readonly { readonly name?: string | undefined; readonly token: Token | undefined }[]
  /** Schema of the filter's input. */
  readonly schema: Schema
  readonly token: Token
}

/** Returns whether the call has the right form. */
function checkCall({ reader, report }: Context, { name, signature, args, schema, token }: Call): boolean {
  const { takes, named = [] } = signature
  const count = args.filter((arg) => arg.name === undefined).length
  const [least, most] = signature.args
  const stranger = args.find((arg) => arg.name !== undefined && !named.includes(arg.name))?.name
  const isCounted = count >= least && count <= most
  if (stranger !== undefined)
    report(token, `${textOf(token)}: the filter ${name} has no argument ${shortened(stranger)}`)
  else if (!isCounted)
    report(token, `${textOf(token)}: the filter ${name} ${argumentWords(signature.args)}, and here are ${count}`)
  const isJoined = name === 'join' || name === 'array_to_sentence_string'
  if (isJoined && isOnly(reader.kinds(schema), 'array') && isOnly(reader.kinds(reader.items(schema)), 'object'))
    report(token, `${textOf(token)}: the items are objects: write map: "…" before ${name}`)
  const kinds = takes === undefined ? new Set<ValueKind>() : reader.kinds(schema)
  const isTaken = takes === undefined || kinds.size === 0 || !kinds.isDisjointFrom(new Set<ValueKind>(takes.kinds))
  if (!isTaken)
    report(token, `${textOf(token)}: the filter ${name} takes ${takes.words}, and this is ${kindWords(kinds)}`)
  return stranger === undefined && isCounted && isTaken
}

/** Tries a call whose arguments are literals, because that needs no data. */
function checkLiterals({ report }: Context, { name, args, token }: Call, value: string | number | undefined): void {
  const given = args.map((arg) => (isLiteral(arg.token) ? arg.token.content : undefined))
  if (given.includes(undefined)) return
  const fault = faultOfLiterals(name, value, given)
  if (fault !== undefined) report(token, `${textOf(token)}: ${fault}`)
}

const faultOfLiterals = openLiteralCheck()

function resultOf(context: Context, { signature, schema, args: [field], token }: Call): Schema {
  const isList = isOnly(context.reader.kinds(schema), 'array')
  const item = isList ? context.reader.items(schema) : true
  const name = field?.token
  const path = signature.isByField && TypeGuards.isQuotedToken(name) ? name.content.split('.') : []
  const read = (owner: Schema, key: string) =>
    typeOfField(context, owner, { key, token, owner: `${textOf(token)}: an item` })
  const value = path.reduce(read, item)
  switch (signature.gives) {
    case 'text':
      return TEXT
    case 'number':
      return NUMBER
    case 'texts':
      return { type: 'array', items: TEXT }
    case 'list':
      return isList ? schema : true
    case 'item':
      return item
    case 'fields':
      return { type: 'array', items: path.length === 0 ? true : value }
    case undefined:
  }
  return true
}
