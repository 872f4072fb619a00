import { suggestion } from '@platen/lib/suggestion.ts'
import { type Token, TypeGuards } from 'liquidjs'
import { kindWords, type ValueKind } from '../filter/value-kind.ts'
import { anyOf, type Schema, type SchemaReader } from './schema.ts'
import type { Scope } from './walk.ts'

export type Variables = Scope<Schema> | undefined

export interface Context {
  readonly root: Schema
  readonly reader: SchemaReader
  readonly report: (token: Token, message: string) => void
  /** How often the source sets a variable. */
  readonly locals: ReadonlyMap<string, number>
  /** Locals that exactly one tag sets, and that share no name with a field of the data. Known after that tag was visited. */
  readonly assigned: Map<string, Schema>
  /** Nesting of brackets in an expression. */
  readonly depth: number
}

export const TEXT: Schema = { type: 'string' }
export const NUMBER: Schema = { type: 'number' }

/** Deeper brackets are not followed. */
const DEPTH_MAX = 50

/** Reports a path that no data can have. True if nothing is known. */
export function typeOfToken(outer: Context, token: Token | undefined, scope: Variables): Schema {
  const context = { ...outer, depth: outer.depth + 1 }
  if (context.depth > DEPTH_MAX) return true
  if (TypeGuards.isQuotedToken(token) || TypeGuards.isNumberToken(token)) return { const: token.content }
  if (TypeGuards.isRangeToken(token)) {
    for (const end of [token.lhs, token.rhs]) typeOfToken(context, end, scope)
    return { type: 'array', items: NUMBER }
  }
  if (!TypeGuards.isPropertyAccessToken(token)) return true
  const keys = token.props.map((part) => {
    if (isLiteral(part) || TypeGuards.isWordToken(part)) return part.content
    typeOfToken(context, part, scope)
    return undefined
  })
  // A range or a string has no names.
  if (token.variable !== undefined) return true
  const [name, ...fields] = keys
  let schema = typeof name === 'string' ? variable(context, { name, token }, scope) : true
  let owner = String(name ?? '')
  for (const key of fields) {
    schema = typeOfField(context, schema, { key, token, owner })
    owner += typeof key === 'string' ? `.${key}` : `[${key ?? '…'}]`
  }
  return schema
}

function variable(context: Context, { name, token }: { name: string; token: Token }, scope: Variables): Schema {
  const { root, reader, locals, assigned, report } = context
  for (let each = scope; each !== undefined; each = each.outer) if (each.name === name) return each.value
  if (name === 'options') return true
  if (locals.has(name)) return assigned.get(name) ?? true
  const found = read(reader, root, name)
  if (found !== undefined) return found
  const known = [...reader.names(root), ...locals.keys(), ...namesIn(scope)]
  report(token, `there is no variable ${shortened(name)} in variablesSchema${suggestion(name, known)}`)
  return true
}

/** Reads a key as Liquid does. Undefined if there never is a value. An undefined `key` is known only with the data. */
function read(reader: SchemaReader, schema: Schema, key: string | number | undefined): Schema | undefined {
  if (key === undefined) return true
  const kinds = reader.kinds(schema)
  const found: Schema[] = []
  if (kinds.has('object')) found.push(reader.property(schema, String(key)))
  if (kinds.has('array') && /^(?:-?\d+|first|last)$/.test(String(key))) found.push(reader.items(schema))
  if (kinds.has('string') && typeof key === 'number') found.push(TEXT)
  if (key === 'size' && (['object', 'array', 'string'] as const).some((kind) => kinds.has(kind))) found.push(NUMBER)
  const value = anyOf(found)
  return value === false ? undefined : value
}

interface Field {
  readonly key: string | number | undefined
  /** The name of the parent in messages. */
  readonly owner: string
  readonly token: Token
}

/** The schema of a field or an item. Reports one that can never exist. */
export function typeOfField({ reader, report }: Context, schema: Schema, { key, owner, token }: Field): Schema {
  const [name, kinds] = [shortened(String(key)), reader.kinds(schema)]
  // A schema without any value is not the source's fault.
  const found = kinds.size === 0 ? true : read(reader, schema, key)
  if (found !== undefined) return found
  const isObject = kinds.has('object')
  const why = isObject ? `has no field ${name}` : `is ${kindWords(kinds)} and has no ${name}`
  const near = isObject ? suggestion(name, reader.names(schema)) : ''
  report(token, `${shortened(owner)} ${why}${near}${hintFor(owner, name, kinds)}`)
  return true
}

function hintFor(owner: string, name: string, kinds: ReadonlySet<ValueKind>): string {
  if (owner === 'forloop' && name === 'parentloop')
    return '; write {% assign outer = forloop.index %} before the inner loop'
  if (kinds.has('object')) return ''
  if (name === 'length') return `; write ${shortened(owner)}.size`
  return kinds.has('array') ? '; use {% for %} or an index' : ''
}

export function isLiteral(token: Token | undefined): token is Token & { readonly content: string | number } {
  return TypeGuards.isQuotedToken(token) || TypeGuards.isNumberToken(token)
}

function namesIn(scope: Variables): readonly string[] {
  const names = ['options']
  for (let each = scope; each !== undefined && names.length < NAMES_MAX; each = each.outer) names.push(each.name)
  return names
}

const NAMES_MAX = 50

export function textOf(token: Token): string {
  return shortened(token.getText().replaceAll(/\s+/g, ' '))
}

const TEXT_CHARS_MAX = 60

export function shortened(text: string): string {
  return text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX)}…` : text
}
