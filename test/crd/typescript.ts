/** Prints a JSON Schema as TypeScript, formatted as the rest of the code. */

const WIDTH_MAX = 120

/** A JSON Schema. The keywords by name say what a type is. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly [keyword: string]: unknown
}

/** The name of a type that is declared elsewhere; undefined for a schema that has none. */
export type NameOf = (schema: Schema) => string | undefined

export function declarationOf(name: string, schema: Schema, nameOf: NameOf): string {
  // Its own name is what is declared.
  const type = typeOf(schema, (inner) => (inner === schema ? undefined : nameOf(inner)), '')
  const comment = commentOf(schema, '')
  if (schema.properties !== undefined) return `${comment}export interface ${name} ${type}\n\n`
  const line = `export type ${name} = ${type}`
  const members = type.split(' | ').map((member) => `\n  | ${member}`)
  return `${comment}${line.length <= WIDTH_MAX ? line : `export type ${name} =${members.join('')}`}\n\n`
}

function commentOf({ description = '' }: Schema, indent: string): string {
  return description === '' ? '' : `${indent}/** ${description} */\n`
}

function typeOf(schema: Schema, nameOf: NameOf, indent: string): string {
  const name = nameOf(schema)
  if (name !== undefined) return name
  if (schema.anyOf !== undefined) return schema.anyOf.map((one) => typeOf(one, nameOf, indent)).join(' | ')
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const])
  if (values.length > 0) return values.map((value) => quote(String(value))).join(' | ')
  return [schema.type]
    .flat()
    .map((type) => plainTypeOf(type, schema, { nameOf, indent }))
    .join(' | ')
}

function plainTypeOf(
  type: string | undefined,
  schema: Schema,
  { nameOf, indent }: { readonly nameOf: NameOf; readonly indent: string },
): string {
  switch (type) {
    case 'object':
      return membersOf(schema, nameOf, indent)
    case 'array': {
      const item = typeOf(schema.items ?? {}, nameOf, indent)
      return item.includes('|') && !item.startsWith('{') ? `readonly (${item})[]` : `readonly ${item}[]`
    }
    case 'integer':
      return 'number'
    case 'string':
    case 'number':
    case 'boolean':
      return type
    case undefined:
    default:
      throw new Error(`no type is known for ${JSON.stringify(schema)}`)
  }
}

function membersOf({ properties = {}, required = [] }: Schema, nameOf: NameOf, indent: string): string {
  const inner = `${indent}  `
  const members = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '' : '?'
    return { comment: commentOf(field, inner), text: `readonly ${name}${mark}: ${typeOf(field, nameOf, inner)}` }
  })
  const flat = `{ ${members.map(({ text }) => text).join('; ')} }`
  const isFlat = indent !== '' && flat.length < WIDTH_MAX / 2 && members.every(({ comment }) => comment === '')
  if (isFlat) return flat
  return `{\n${members.map(({ comment, text }) => `${comment}${inner}${text}\n`).join('')}${indent}}`
}

export function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

/** Equal for schemas that differ only in what they say to people of themselves. */
export function shapeOf(schema: Schema): string {
  return JSON.stringify({ ...schema, description: undefined })
}
