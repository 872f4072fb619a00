/** Content addresses. Equal content gives equal bytes and an equal digest, whatever the order of fields. */
import { hash } from 'node:crypto'

/**
 * JSON without white space and with the fields of every object sorted by UTF-16 code units (RFC 8785). The input must be JSON, nested no
 * deeper than `JSON_DEPTH_MAX`.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  // Collecting the parts in lists takes twice the time, and sample data may have half a million parts.
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === '' ? '' : ','}${canonicalJson(item ?? null)}`
    return `[${text}]`
  }
  // The input is JSON, so this is an object.
  const fields = value as Readonly<Record<string, unknown>>
  for (const name of Object.keys(fields).sort()) {
    if (fields[name] === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(fields[name])}`
  }
  return `{${text}}`
}

/** Lower-case hex. A text is hashed in UTF-8. */
export function sha256(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex')
}
