/** Schemas of the OpenAPI document, as tables for people. */
import { type Html, html, joined, prose } from './html.ts'

/** The parts of a schema that are shown. Patterns are not: descriptions say what they mean. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly (string | number)[]
  readonly const?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
}

export function anchorOf(name: string): string {
  return `schema-${name}`
}

/** The meaning of a schema is described where it is used. */
export function schemaSection([name, schema]: readonly [string, Schema]): Html {
  const rows = rowsOf(schema)
  return html`<article id="${anchorOf(name)}">
<h3><a class="self" href="#${anchorOf(name)}">${name}</a></h3>
${rows.length > 0 ? table(['field', 'type', 'meaning'], rows) : html`<p>${typeOf(schema)}</p>`}
</article>`
}

export function table(head: readonly string[], rows: readonly (readonly Html[])[]): Html {
  return html`<div class="wide"><table>
<thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>\n`)}</tbody>
</table></div>`
}

/** A row for each field, and for each field of a field without a named schema. */
function rowsOf({ properties = {}, required = [] }: Schema, before = ''): readonly (readonly Html[])[] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    [nameOf(`${before}${name}`, required.includes(name)), typeOf(schema), prose(schema.description)],
    ...rowsOf(schema, `${before}${name}.`),
  ])
}

export function nameOf(name: string, isRequired: boolean): Html {
  return html`<code>${name}</code>${isRequired ? html` <span class="required">required</span>` : undefined}`
}

/** Named schemas are links to their sections. */
export function typeOf(schema: Schema): Html {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace('#/components/schemas/', '')
    return html`<a href="#${anchorOf(name)}">${name}</a>`
  }
  if (schema.anyOf !== undefined) return joined(schema.anyOf.map(typeOf), ' or ')
  if (schema.const !== undefined) return html`<code>${schema.const}</code>`
  if (schema.enum !== undefined) {
    const values = joined(
      schema.enum.map((value) => html`<code>${value}</code>`),
      ', ',
    )
    return html`${values}${limitsOf(schema)}`
  }
  if (schema.items !== undefined) return html`list of ${typeOf(schema.items)}${limitsOf(schema)}`
  return html`${schema.format === 'binary' ? 'bytes' : schema.type}${limitsOf(schema)}`
}

function limitsOf(schema: Schema): Html | undefined {
  const { minimum, maximum, maxLength, maxItems, maxProperties, format, additionalProperties } = schema
  const words = [
    format === undefined || format === 'binary' ? undefined : format,
    minimum !== undefined && maximum !== undefined ? `${minimum} to ${maximum}` : undefined,
    minimum !== undefined && maximum === undefined ? `from ${minimum}` : undefined,
    minimum === undefined && maximum !== undefined ? `up to ${maximum}` : undefined,
    maxLength === undefined ? undefined : `up to ${maxLength} characters`,
    maxItems === undefined ? undefined : `up to ${maxItems}`,
    maxProperties === undefined ? undefined : `up to ${maxProperties} fields`,
    typeof additionalProperties === 'object' ? `of ${additionalProperties.type}` : undefined,
    schema.default === undefined ? undefined : `default ${JSON.stringify(schema.default)}`,
  ].filter((word) => word !== undefined)
  return words.length === 0 ? undefined : html`<span class="limits"> ${words.join(', ')}</span>`
}
