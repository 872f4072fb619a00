/** The values of the chart, as their schema lists them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { CHART } from './helm.ts'

export interface Schema {
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly $ref?: string
}

export interface Value {
  readonly path: string
  readonly fallback: unknown
  readonly description: string
  readonly schema: Schema
}

/** All values, by their paths: what is described is one, whatever it has inside. */
export function valueList(): readonly Value[] {
  // Written by us; readme.test.ts fails where it is none.
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as Root
  const fallbacks: unknown = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'))
  return valuesOf(schema, { of: schema, fallback: fallbacks, path: '' }).filter(({ path }) => path !== 'global')
}

type Root = Schema & { readonly $defs: Readonly<Record<string, Schema>> }

function valuesOf(
  root: Root,
  { of, fallback, path }: { of: Schema; fallback: unknown; path: string },
): readonly Value[] {
  const named = of.$ref === undefined ? undefined : root.$defs[of.$ref.replace('#/$defs/', '')]
  const schema = { ...named, ...of }
  const { properties, description } = schema
  if (description !== undefined) return [{ path, fallback, description, schema }]
  if (properties === undefined) throw new Error(`values.schema.json does not describe ${path}`)
  return Object.entries(properties).flatMap(([name, each]) =>
    valuesOf(root, { of: each, fallback: Object(fallback)[name], path: path === '' ? name : `${path}.${name}` }),
  )
}
