/** Content addresses. Equal content has equal bytes and so an equal digest, in whatever order its fields were written. */
import { createHash } from 'node:crypto'

/** JSON with the fields of every object sorted by UTF-16 code units and without white space, as RFC 8785 has it. Its input is JSON, nested no deeper than `JSON_DEPTH_MAX`. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(',')}}`
}

/** Lower-case hex SHA-256 of bytes, or of a text in UTF-8. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
