/** The wire types of the Python client, made from the named schemas of the OpenAPI document. */
import type { Schema } from '../crd/typescript.ts'

const WIDTH_MAX = 120

/** Those that no caller of the client sees. */
const UNUSED = [
  'Liveness',
  'Readiness',
  'OpenApiDocument',
  'TemplateList',
  'RenderPage',
  'DeliveryPage',
  'TestEventRequest',
  'DeliveryList',
  'RenderAccepted',
  'BatchAccepted',
  'ErrorBody',
  'Problem',
  'RenderMode',
]

/** What a method takes as arguments of its own, or sets by itself. */
const ARGUMENTS = ['template', 'data', 'mode', 'async', 'items']

/** The requests of which only the optional fields have a type. */
const FIELDS: Readonly<Record<string, string>> = { RenderRequest: 'RenderFields', BatchRequest: 'BatchFields' }

type Schemas = Readonly<Record<string, Schema>>

export function wireModule(document: { readonly components: { readonly schemas: Schemas } }): string {
  const used = Object.entries(document.components.schemas).filter(([name]) => !UNUSED.includes(name))
  const [classes, aliases] = [used.filter(isObject), used.filter((one) => !isObject(one))]
  const written: string[] = []
  for (const [name, schema] of classes) {
    const fieldsName = FIELDS[name]
    if (fieldsName !== undefined) declare(fieldsName, fieldsOf(schema), written)
    else declare(name, schema, written)
  }
  const named = aliases.map(([name, schema]) => `${name} = ${typeOf(schema, name, written)}\n`)
  return `${HEAD}\n${named.join('\n')}${written.map((text) => `\n\n${text}`).join('')}`
}

function isObject([, { type }]: readonly [string, Schema]): boolean {
  return type === 'object'
}

const HEAD = `"""
The requests and answers of the service, field by field as sent. A newer service may send more fields, and more words of a closed set.

Made from the schemas of the service by \`npx vitest run test/docs.test.ts -u\`; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict
`

function fieldsOf({ properties = {}, required = [], ...rest }: Schema): Schema {
  const isField = (name: string) => !ARGUMENTS.includes(name)
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isField(name))),
    required: required.filter(isField),
    description: 'The optional fields of a request.',
  }
}

/** Adds a class to `written`. Those that a class refers to come first. One whose fields are not all required inherits from one that has those that are: Python 3.10 knows no other way. */
function declare(name: string, schema: Schema, written: string[]): void {
  const { properties = {}, required = [] } = schema
  const fields = Object.entries(properties).map(([field, inner]) => {
    const type = typeOf(inner, `${name}${pascal(field)}`, written)
    return { field, type, isRequired: required.includes(field), comment: commentOf(inner) }
  })
  if (fields.some(({ field }) => KEYWORDS.includes(field))) {
    const entries = fields.map(
      ({ field, type, comment }) => `${comment.replaceAll(/^ /gm, '     ')}        "${field}": ${type},\n`,
    )
    written.push(`${name} = TypedDict(\n    "${name}",\n    {\n${entries.join('')}    },\n)\n`)
    return
  }
  const lines = (isRequired: boolean) =>
    fields
      .filter((each) => each.isRequired === isRequired)
      .map(({ field, type, comment }) => `${comment}    ${field}: ${type}\n`)
      .join('')
  const [always, sometimes] = [lines(true), lines(false)]
  const about = schema.description === undefined ? '' : `    """${schema.description}"""\n\n`
  if (sometimes === '') written.push(`class ${name}(TypedDict):\n${about}${always}`)
  else if (always === '') written.push(`class ${name}(TypedDict, total=False):\n${about}${sometimes}`)
  else {
    written.push(`class _${name}(TypedDict):\n${always}`)
    written.push(`class ${name}(_${name}, total=False):\n${about}${sometimes}`)
  }
}

/** Keywords of Python that are fields. */
const KEYWORDS = ['in']

function typeOf(schema: Schema, name: string, written: string[]): string {
  const { $ref, anyOf, items, properties } = schema
  if (typeof $ref === 'string') return $ref.replace('#/components/schemas/', '')
  if (anyOf !== undefined) return unique(anyOf.map((one) => typeOf(one, name, written)))
  if (schema.enum !== undefined || schema.const !== undefined) return literalOf(schema)
  return unique(
    [schema.type].flat().map((type) => {
      if (type === 'object' && properties !== undefined) {
        declare(name, schema, written)
        return name
      }
      if (type === 'array') return `list[${typeOf(items ?? {}, name.replace(/s$/, ''), written)}]`
      if (type === 'object') return `Mapping[str, ${freeTypeOf(schema, name, written)}]`
      return plainTypeOf(type)
    }),
  )
}

/** What an object has whose keys are free. */
function freeTypeOf({ additionalProperties: values }: Schema, name: string, written: string[]): string {
  return typeof values === 'object' ? typeOf(values, name, written) : 'object'
}

function unique(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

function plainTypeOf(type: string | undefined): string {
  switch (type) {
    case 'string':
      return 'str'
    case 'integer':
      return 'int'
    case 'number':
      return 'float'
    case 'boolean':
      return 'bool'
    case undefined:
    default:
      throw new Error(`no type of Python is known for ${type}`)
  }
}

function literalOf(schema: Schema): string {
  const words = (schema.enum ?? [schema.const]).map((word) => JSON.stringify(word))
  const line = `Literal[${words.join(', ')}]`
  return line.length < WIDTH_MAX - 15 ? line : `Literal[\n${words.map((word) => `    ${word},\n`).join('')}]`
}

/** Above its field, in lines that are short enough. */
function commentOf({ description = '' }: Schema): string {
  const lines: string[] = []
  for (const word of description.split(/\s+/).filter(Boolean)) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length >= WIDTH_MAX) lines.push(`    # ${word}`)
    else lines.push(`${lines.pop()} ${word}`)
  }
  return lines.map((line) => `${line}\n`).join('')
}

function pascal(field: string): string {
  return field.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
