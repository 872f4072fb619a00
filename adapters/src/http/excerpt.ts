import { WEBHOOK_EXCERPT_BYTES_MAX } from './limit.ts'

/**
 * Returns the beginning of a receiver's response, to be shown to people, as text of at most `WEBHOOK_EXCERPT_BYTES_MAX` bytes. Reads UTF-8,
 * and removes control characters except tab and newline. Undefined when nothing is left, when the body is compressed, or when it is binary
 * (contains a zero byte).
 */
export function excerptOf(body: Uint8Array, contentEncoding: string | undefined): string | undefined {
  if (body.length === 0) return undefined
  const isPlain = contentEncoding === undefined || /^\s*identity\s*$/i.test(contentEncoding)
  if (!isPlain || body.subarray(0, WEBHOOK_EXCERPT_BYTES_MAX).includes(0)) return undefined
  const text = beginningOf(body).replace(CONTROLS, '')
  // The replacement of a broken byte is longer than the byte, so the text is cut again.
  const excerpt = beginningOf(Buffer.from(text))
  return excerpt === '' ? undefined : excerpt
}

const CONTROLS = /[^\P{Cc}\t\n]/gu
const UTF8 = new TextDecoder()

function beginningOf(bytes: Uint8Array): string {
  if (bytes.length <= WEBHOOK_EXCERPT_BYTES_MAX) return UTF8.decode(bytes)
  // In stream mode the decoder leaves out a character that is cut in two.
  return new TextDecoder().decode(bytes.subarray(0, WEBHOOK_EXCERPT_BYTES_MAX), { stream: true })
}
