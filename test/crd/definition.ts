/** The definitions in `crds`, as the tests read them. */
import { parse } from 'yaml'
import { readText } from '../architecture/source-tree.ts'

/** The kinds, and what their files are called here and in the contract. */
export const DEFINITIONS = {
  Plan: 'plan',
  Tenant: 'tenant',
  Template: 'template',
  ApiKey: 'api-key',
  Erasure: 'erasure',
} as const

/** The four kinds of settings, and those that are none. */
export type DefinedKind = keyof typeof DEFINITIONS

/** The keywords of a structural schema that ours have. */
export interface CrdSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly description?: string
  readonly properties?: Readonly<Record<string, CrdSchema>>
  readonly items?: CrdSchema
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  readonly 'x-kubernetes-preserve-unknown-fields'?: true
  readonly 'x-kubernetes-validations'?: readonly {
    readonly rule: string
    readonly message?: string
    readonly fieldPath?: string
  }[]
  readonly [keyword: string]: unknown
}

export interface Definition {
  readonly schema: CrdSchema
  readonly spec: CrdSchema
  readonly status: CrdSchema
}

/** Reads the definition of a kind. Throws where it has no `spec` or no `status`. */
export function readDefinition(kind: DefinedKind, text = readText(`crds/${DEFINITIONS[kind]}.yaml`)): Definition {
  // The API server holds it against the schema of definitions when it is applied, which a test does.
  const crd = parse(text) as {
    readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: CrdSchema } }[] }
  }
  const schema = crd.spec.versions[0]?.schema.openAPIV3Schema
  const { spec, status } = schema?.properties ?? {}
  if (schema === undefined || spec === undefined || status === undefined) throw new Error(`${kind} is half defined`)
  return { schema, spec, status }
}

/** Every field below a schema by its place, as `spec.assets[].name`; a list's items are one. */
export function fieldsOf(schema: CrdSchema, place = ''): readonly (readonly [place: string, schema: CrdSchema])[] {
  const named = Object.entries(schema.properties ?? {}).map(
    ([name, inner]) => [place ? `${place}.${name}` : name, inner] as const,
  )
  const inner = schema.items === undefined ? named : [...named, [`${place}[]`, schema.items] as const]
  return inner.flatMap(([at, field]) => [[at, field] as const, ...fieldsOf(field, at)])
}
