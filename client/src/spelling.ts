/**
 * The one place where names change their spelling: `renderId` in the client is `render_id` in the service. Names chosen by callers and
 * templates stay as they are. The service's tests compare `FREE_FIELDS` with the OpenAPI document.
 */

/** Fields whose content has names chosen by callers and templates. */
export const FREE_FIELDS = ['data', 'metadata', 'sample', 'variablesSchema'] as const

export type Wire<T> = T extends string
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { [Name in keyof T as WireName<Name>]: Name extends (typeof FREE_FIELDS)[number] ? T[Name] : Wire<T[Name]> }
      : T

type WireName<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Rest extends '' ? '' : WireName<Rest>}`
  : Name

export function toWire<T>(value: T): Wire<T> {
  // The type describes what `respelled` does, which the compiler cannot see.
  return respelled(value, wireNameOf) as Wire<T>
}

export function fromWire<T>(value: Wire<T>): T {
  return respelled(value, nameOf) as T
}

function wireNameOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function nameOf(wireName: string): string {
  return wireName.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

const FREE_NAMES: ReadonlySet<string> = new Set(FREE_FIELDS.flatMap((name) => [name, wireNameOf(name)]))

function respelled(value: unknown, spell: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => respelled(item, spell))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([name, field]: [string, unknown]) => {
    return [spell(name), FREE_NAMES.has(name) ? field : respelled(field, spell)] as const
  })
  return Object.fromEntries(fields)
}
