/** References of a `variablesSchema` to parts of itself: `#/$defs/line`. */
import type { Json, JsonObject } from '@platen/lib/brand.ts'

/** `reference` contains a JSON pointer (RFC 6901). Undefined if it points to nothing. */
export function referencedPart(root: JsonObject, reference: string): Json | undefined {
  let target: Json | undefined = root
  for (const part of reference.split('/').slice(1)) {
    const name = decodedPart(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined
    target = (target as { readonly [key: string]: Json })[name]
  }
  return target
}

/** Returns a part as it is if its escapes are wrong. */
export function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
