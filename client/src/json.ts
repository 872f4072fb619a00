/** Reads JSON of unknown shape. */

/** Parses a JSON text. Returns undefined when it is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns a field of a value that may not be an object. */
export function fieldOf(value: unknown, name: string): unknown {
  // The field is as unknown as the object.
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined
}
