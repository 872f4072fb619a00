/** References of a `variablesSchema` to parts of itself: `#/$defs/line`. Pure. */
import type { Json, JsonObject } from '@platen/lib/brand.ts'

/** The part of the schema that a JSON pointer (RFC 6901) in a reference names. Undefined if there is none. */
export function referencedPart(root: JsonObject, reference: string): Json | undefined {
  let target: Json | undefined = root
  for (const part of reference.split('/').slice(1)) {
    const name = decodedPart(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined
    target = (target as { readonly [key: string]: Json })[name]
  }
  return target
}

/** A part of a reference without the escapes of addresses, or as it is if they are wrong. */
export function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
