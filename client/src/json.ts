/** JSON of which nothing is known yet. */

/** The value of a JSON text; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A field of what may be no object at all. */
export function fieldOf(value: unknown, name: string): unknown {
  // Whatever an object has under the name is as unknown as the object was.
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined
}
