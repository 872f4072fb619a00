/** Content addresses. Equal content has equal bytes and so an equal digest, in whatever order its fields were written. */
import { createHash } from 'node:crypto'

/** JSON with the fields of every object sorted by UTF-16 code units and without white space, as RFC 8785 has it. Its input is JSON, nested no deeper than `JSON_DEPTH_MAX`. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  // Joined as it goes: lists of their parts take twice the time, and sample data may have half a million.
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === '' ? '' : ','}${canonicalJson(item ?? null)}`
    return `[${text}]`
  }
  // An object of JSON.
  const fields = value as Readonly<Record<string, unknown>>
  for (const name of Object.keys(fields).sort()) {
    if (fields[name] === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(fields[name])}`
  }
  return `{${text}}`
}

/** Lower-case hex SHA-256 of bytes, or of a text in UTF-8. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
