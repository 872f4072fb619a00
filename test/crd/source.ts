/** A definition in TypeScript: the types of a spec and a status, and the JSON Schema that a spec is held against outside Kubernetes. */
import { type CrdSchema, DEFINITIONS, type DefinedKind, fieldsOf, readDefinition } from './definition.ts'
import { definitionText, planLimits } from './made.ts'
import { declarationOf, type NameOf, quote, type Schema, shapeOf } from './typescript.ts'

type Json = string | number | boolean | readonly Json[] | { readonly [name: string]: Json }

const WIDTH_MAX = 120

/** Types that stand in several places, each declared in the module of one kind. */
const SHARED: readonly {
  readonly name: string
  readonly of: DefinedKind
  readonly at: string
  readonly about: string
}[] = [
  { name: 'StatusCondition', of: 'Plan', at: 'status.conditions[]', about: 'One statement of a status.' },
  {
    name: 'ConfigMapReference',
    of: 'Template',
    at: 'spec.reactPdf.source.configMapKeyRef',
    about: 'A key of a ConfigMap.',
  },
  {
    name: 'SourceSpec',
    of: 'Template',
    at: 'spec.reactPdf.source',
    about: 'A text, or a reference to it. Exactly one of them.',
  },
]

/** The module of a kind. Throws for a keyword that it does not know how to say. */
export function sourceOf(kind: DefinedKind): string {
  const { spec, status } = readDefinition(kind, definitionText(kind))
  const shared = SHARED.map((one) => ({ ...one, schema: fieldAt(one.of, one.at) }))
  const nameOf = namesOf(shared)
  const declared = [
    ...shared
      .filter(({ of }) => of === kind)
      .map((one) => declarationOf(one.name, { ...one.schema, description: one.about }, nameOf)),
    declarationOf(`${kind}Spec`, spec, nameOf),
    declarationOf(`${kind}Status`, status, nameOf),
  ].join('')
  const types = [
    `/** Made from \`crds/${DEFINITIONS[kind]}.yaml\` by \`npx vitest run test/crd.test.ts -u\`; do not edit. */\n`,
    ...importsFor(kind, declared),
    '\n',
  ]
  // Only Kubernetes reads it: a folder of manifests refuses the kind.
  if (kind === 'Erasure') return [...types, `${declared.trimEnd()}\n`].join('')
  const schema = kind.charAt(0).toLowerCase() + kind.slice(1)
  return [
    ...types,
    declared,
    `/** Validates a spec as Kubernetes does, except for rules between its fields. */\n`,
    `export const ${schema}SpecSchema = ${literalOf(schemaOf(spec), '')} as const\n\n`,
    `/** The default of each field that has one. Kubernetes fills them in; everybody else takes them from here. */\n`,
    `export const ${schema}SpecDefaults = ${literalOf(defaultsOf(spec) ?? {}, '')} as const\n`,
  ].join('')
}

function fieldAt(kind: DefinedKind, place: string): CrdSchema {
  const [, schema] = fieldsOf(readDefinition(kind).schema).find(([at]) => at === place) ?? []
  if (schema === undefined) throw new Error(`a ${kind} has no ${place}`)
  return schema
}

/** Names what is declared elsewhere. The limits of a tenant are those of a plan, wherever they stand. */
function namesOf(shared: readonly { readonly name: string; readonly schema: CrdSchema }[]): NameOf {
  const names = new Map(shared.map(({ name, schema }) => [shapeOf(schema), name]))
  const limits = Object.keys(planLimits()).join()
  return (schema) => {
    // Kubernetes knows no type of what may have several.
    if (schema.type === undefined) return 'Json'
    if (isFree(schema)) return 'JsonObject'
    return Object.keys(schema.properties ?? {}).join() === limits ? LIMITS : names.get(shapeOf(schema))
  }
}

const LIMITS = "Omit<PlanSpec, 'displayName'>"

function importsFor(kind: DefinedKind, declared: string): readonly string[] {
  const code = declared.replaceAll(/\/\*\*.*\*\//g, '')
  const imported = (names: readonly string[], file: string) => {
    const named = names.filter((name) => new RegExp(`\\b${name}\\b`).test(code))
    return named.length > 0 ? [`import type { ${named.join(', ')} } from '${file}'\n`] : []
  }
  return [
    ...imported(['Json', 'JsonObject'], '@platen/lib/brand.ts'),
    ...imported(kind === 'Plan' ? [] : ['PlanSpec', 'StatusCondition'], './plan.ts'),
  ]
}

function isFree(schema: Schema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true
}

/** Mean the same in both. */
const COMMON = ['type', 'required', 'enum', 'pattern', 'minimum', 'maximum'].concat(
  ['Length', 'Items', 'Properties'].flatMap((what) => [`min${what}`, `max${what}`]),
)
/** Are said in another way, or not at all: what is there for people, for storage and for merging, and rules in CEL. */
const OTHER = ['description', 'properties', 'items', 'format', 'default'].concat(
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

/** The defaults in a schema, as an object of its shape; those of a list are of each item. Undefined if there are none. */
function defaultsOf(schema: CrdSchema): Json | undefined {
  // A definition is YAML, so a default is JSON.
  if ('default' in schema) return schema['default'] as Json
  if (schema.items !== undefined) return defaultsOf(schema.items)
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const value = defaultsOf(field)
    return value === undefined ? [] : [[name, value] as const]
  })
  return fields.length === 0 ? undefined : Object.fromEntries(fields)
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
