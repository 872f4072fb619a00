/** What of a receiver's answer is shown: the beginning of its body, where people can read it. Pure. */
import { WEBHOOK_EXCERPT_BYTES_MAX } from '@platen/contract/webhook-limit.ts'

/**
 * The beginning of a body as text of at most `WEBHOOK_EXCERPT_BYTES_MAX` bytes, read as UTF-8 and without control characters other
 * than tab and newline. Undefined where nothing is left, where it is compressed, and where it is binary: where it holds a zero byte.
 */
export function excerptOf(body: Uint8Array, contentEncoding: string | undefined): string | undefined {
  const isPlain = contentEncoding === undefined || /^\s*identity\s*$/i.test(contentEncoding)
  if (!isPlain || body.subarray(0, WEBHOOK_EXCERPT_BYTES_MAX).includes(0)) return undefined
  const text = beginningOf(body).replace(CONTROLS, '')
  // What replaces a broken byte is longer than it.
  const excerpt = beginningOf(Buffer.from(text))
  return excerpt === '' ? undefined : excerpt
}

const CONTROLS = /[^\P{Cc}\t\n]/gu
const UTF8 = new TextDecoder()

function beginningOf(bytes: Uint8Array): string {
  if (bytes.length <= WEBHOOK_EXCERPT_BYTES_MAX) return UTF8.decode(bytes)
  // As if more were to come, so that a character that is cut in two is left out.
  return new TextDecoder().decode(bytes.subarray(0, WEBHOOK_EXCERPT_BYTES_MAX), { stream: true })
}
