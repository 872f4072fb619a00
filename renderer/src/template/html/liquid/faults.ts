/**
 * Checks a parsed Liquid source against `variablesSchema`: its paths, filters and comparisons. Reports only what is wrong for all data of
 * the schema. Nothing is filled, so branches that the sample data do not reach are checked, too.
 */
import type { JsonObject } from '@platen/lib/brand.ts'
import {
  CaptureTag,
  CaseTag,
  EchoTag,
  ForTag,
  Output,
  TablerowTag,
  type Template,
  type Token,
  TypeGuards,
} from 'liquidjs'
import { isOnly, kindWords, type ValueKind } from '../filter/value-kind.ts'
import { compare, typeOf } from './expression.ts'
import { type Context, TEXT, textOf, typeOfToken, type Variables } from './path.ts'
import { openSchemaReader, type Schema } from './schema.ts'
import { walkLiquid } from './walk.ts'

export interface SourceFault {
  /** Line and column of the source, from 1. */
  readonly position: readonly number[]
  readonly message: string
}

/** Faults reported for one source. An author mends these first. */
const FAULTS_MAX = 10

/** `root` is the schema of the data. The faults are in the order of the source. */
export function openLiquidCheck(root: JsonObject): (templates: readonly Template[]) => readonly SourceFault[] {
  const reader = openSchemaReader(root)
  return (templates) => {
    const faults: SourceFault[] = []
    const report = (token: Token, message: string) => {
      if (faults.length < FAULTS_MAX) faults.push({ position: token.getPosition(), message })
    }
    const variables = { locals: localsOf(templates), assigned: new Map<string, Schema>() }
    const context = { root, reader, report, ...variables, depth: 0 }
    walkLiquid<Schema>(templates, (template, scope) =>
      faults.length < FAULTS_MAX ? visit(context, template, scope) : undefined,
    )
    return faults
  }
}

function localsOf(templates: readonly Template[]): ReadonlyMap<string, number> {
  const locals = new Map<string, number>()
  walkLiquid(templates, (template) => {
    for (const { content } of template.localScope?.() ?? []) locals.set(content, (locals.get(content) ?? 0) + 1)
    return undefined
  })
  return locals
}

/** Returns the variables inside the template. */
function visit(context: Context, template: Template, scope: Variables): Variables {
  const { token } = template
  const isCode = TypeGuards.isOutputToken(token) || (TypeGuards.isTagToken(token) && token.name !== '#')
  if (isCode && ENDS_IN_PIPE.test(token.getText()))
    context.report(token, `${textOf(token)}: the name of a filter is missing after |`)
  if (template instanceof ForTag || template instanceof TablerowTag) return visitLoop(context, template, scope)
  const schemas = Array.from(template.arguments?.() ?? [], (argument) =>
    'filters' in argument
      ? typeOf(context, { initial: argument.initial, filters: argument.filters, token }, scope)
      : typeOfToken(context, argument, scope),
  )
  if (template instanceof CaseTag) visitCase(context, template, schemas)
  if (template instanceof Output || template instanceof EchoTag) visitOutput(context, template.token, schemas)
  for (const { content } of template.localScope?.() ?? []) {
    const isSetHere = context.locals.get(content) === 1 && context.reader.property(context.root, content) === false
    if (isSetHere) context.assigned.set(content, template instanceof CaptureTag ? TEXT : (schemas[0] ?? true))
  }
  return scope
}

const ENDS_IN_PIPE = /\|\s*(?:-?[%}]\})?$/

function visitLoop(context: Context, template: ForTag | TablerowTag, scope: Variables): Variables {
  const { collection, variable } = template
  const schema = typeOfToken(context, collection, scope)
  const kinds = context.reader.kinds(schema)
  if (kinds.size > 0 && kinds.isSubsetOf(NOT_LOOPED))
    context.report(collection, `${textOf(collection)} is ${kindWords(kinds)}: there is nothing to loop over`)
  const { hash } = template instanceof ForTag ? template.hash : template.args
  const modified = { name: 'continue', value: true, outer: scope }
  for (const argument of Object.values(hash)) typeOfToken(context, argument, modified)
  const loop = template instanceof ForTag ? FORLOOP : TABLEROWLOOP
  const value = isOnly(kinds, 'array') ? context.reader.items(schema) : true
  return { name: variable, value, outer: { ...loop, outer: scope } }
}

const NOT_LOOPED = new Set<ValueKind>(['number', 'boolean', 'null'])

function dropOf(names: string): Schema {
  const properties = Object.fromEntries(names.split(' ').map((name) => [name, true]))
  return { type: 'object', properties, additionalProperties: false }
}

const LOOP_FIELDS = 'first index index0 last length name rindex rindex0'
const FORLOOP = { name: 'forloop', value: dropOf(LOOP_FIELDS) }
const TABLEROWLOOP = { name: 'tablerowloop', value: dropOf(`${LOOP_FIELDS} col col0 col_first col_last row`) }

function visitCase(context: Context, { value, branches }: CaseTag, [schema = true]: readonly Schema[]): void {
  const [token] = value.initial.postfix
  if (token === undefined || value.filters.length > 0 || value.initial.postfix.length > 1) return
  for (const literal of branches.flatMap(({ values }) => values)) compare(context, { token, schema }, literal)
}

/** A list prints its items. An object prints as `[object Object]`. */
function visitOutput({ reader, report }: Context, token: Token, [schema = true]: readonly Schema[]): void {
  if (isOnly(reader.kinds(schema), 'object')) report(token, `${textOf(token)} is an object: print one of its fields`)
}
