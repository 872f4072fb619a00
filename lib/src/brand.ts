declare const brand: unique symbol

/** Makes passing a tenant id for a render id a compile error. */
export type Brand<Name extends string> = string & { readonly [brand]: Name }

/** Epoch milliseconds. RFC 3339 on the wire. */
export type Instant = number

/** Whatever `JSON.parse` can return. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** `Array.isArray` alone does not narrow a readonly array. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
