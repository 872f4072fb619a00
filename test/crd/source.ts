/** A definition in TypeScript: the types of a spec and a status, and the JSON Schema that a spec is held against outside Kubernetes. */
import { type CrdSchema, DEFINITIONS, readDefinition } from './definition.ts'

type Json = string | number | boolean | readonly Json[] | { readonly [name: string]: Json }

const WIDTH_MAX = 120

/** The module of a kind. Throws for a keyword that it does not know how to say. */
export function sourceOf(kind: keyof typeof DEFINITIONS): string {
  const { spec, status } = readDefinition(kind)
  const types = [`${kind}Spec`, spec, `${kind}Status`, status] as const
  const declared = [interfaceOf(types[0], types[1]), interfaceOf(types[2], types[3])]
  const brands = ['JsonObject', 'Json'].filter((name) => declared.some((text) => new RegExp(`: ${name}\\n`).test(text)))
  const imported = brands.length === 0 ? '' : `import type { ${brands.toSorted().join(', ')} } from '../brand.ts'\n\n`
  const schema = kind.charAt(0).toLowerCase() + kind.slice(1)
  return [
    `/** Made from \`crds/${DEFINITIONS[kind]}.yaml\` by \`npx vitest run test/crd.test.ts -u\`; do not edit. */\n${imported === '' ? '\n' : ''}`,
    imported,
    ...declared,
    `/** What a spec is held against: as Kubernetes does, but for what its fields demand of each other. */\n`,
    `export const ${schema}SpecSchema = ${literalOf(schemaOf(spec), '')} as const\n`,
  ].join('')
}

function interfaceOf(name: string, schema: CrdSchema): string {
  return `${commentOf(schema, '')}export interface ${name} ${membersOf(schema, '')}\n\n`
}

function commentOf({ description = '' }: CrdSchema, indent: string): string {
  return description === '' ? '' : `${indent}/** ${description} */\n`
}

function membersOf({ properties = {}, required = [] }: CrdSchema, indent: string): string {
  const inner = `${indent}  `
  const members = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '' : '?'
    return `${commentOf(field, inner)}${inner}readonly ${name}${mark}: ${typeOf(field, inner)}\n`
  })
  return `{\n${members.join('')}${indent}}`
}

function typeOf(schema: CrdSchema, indent: string): string {
  // Kubernetes knows no type of what may have several.
  if (schema.type === undefined) return 'Json'
  switch (schema.type) {
    case 'object':
      return isFree(schema) ? 'JsonObject' : membersOf(schema, indent)
    case 'array': {
      const item = typeOf(schema.items ?? {}, indent)
      return item.includes('|') && !item.startsWith('{') ? `readonly (${item})[]` : `readonly ${item}[]`
    }
    case 'string':
      return schema.enum?.map((value) => quote(String(value))).join(' | ') ?? 'string'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
  }
}

function isFree(schema: CrdSchema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true
}

/** Mean the same in both. */
const COMMON = ['type', 'required', 'enum', 'pattern', 'minimum', 'maximum'].concat(
  ['Length', 'Items', 'Properties'].flatMap((what) => [`min${what}`, `max${what}`]),
)
/** Are said in another way, or not at all: what is there for people, for storage and for merging, and rules in CEL. */
const OTHER = ['description', 'properties', 'items', 'format'].concat(
  ['list-type', 'list-map-keys', 'preserve-unknown-fields', 'validations'].map((name) => `x-kubernetes-${name}`),
)

function schemaOf(schema: CrdSchema): Json {
  if (schema.type === undefined) return {}
  const unknown = Object.keys(schema).filter((keyword) => !COMMON.includes(keyword) && !OTHER.includes(keyword))
  if (unknown.length > 0) throw new Error(`no JSON Schema is known for ${unknown.join(', ')}`)
  const isClosed = schema.type === 'object' && !isFree(schema)
  const properties = Object.entries(schema.properties ?? {}).map(([name, field]) => [name, schemaOf(field)] as const)
  return {
    // It is JSON: it came out of YAML.
    ...(Object.fromEntries(COMMON.flatMap((name) => (name in schema ? [[name, schema[name]]] : []))) as Record<
      string,
      Json
    >),
    ...(schema.format === 'date-time' && { format: schema.format }),
    ...(schema['x-kubernetes-list-type'] === 'set' && { uniqueItems: true }),
    ...(isClosed && { additionalProperties: false }),
    ...(schema.items !== undefined && { items: schemaOf(schema.items) }),
    ...(isClosed && { properties: Object.fromEntries(properties) }),
  }
}

/** A value as it is formatted here: in one line where it fits behind what stands before it. */
function literalOf(value: Json, indent: string, before = 0): string {
  const flat = flatLiteralOf(value)
  if (indent.length + before + flat.length + 1 <= WIDTH_MAX && indent !== '') return flat
  const inner = `${indent}  `
  if (isList(value)) return `[\n${value.map((item) => `${inner}${literalOf(item, inner)},\n`).join('')}${indent}]`
  if (typeof value !== 'object') return `\n${inner}${flat}`
  const members = Object.entries(value).map(
    ([name, item]) => `${inner}${name}:${spaced(literalOf(item, inner, name.length + 2))},\n`,
  )
  return `{\n${members.join('')}${indent}}`
}

/** A value behind its name, or below it. */
function spaced(literal: string): string {
  return literal.startsWith('\n') ? literal : ` ${literal}`
}

function flatLiteralOf(value: Json): string {
  if (typeof value === 'string') return quote(value)
  if (isList(value)) return `[${value.map(flatLiteralOf).join(', ')}]`
  if (typeof value !== 'object') return String(value)
  const members = Object.entries(value).map(([name, item]) => `${name}: ${flatLiteralOf(item)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
