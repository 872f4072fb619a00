/** Readers of a body: complete and bounded, or line by line as it arrives. */
import { readBounded } from '@platen/contract/read-bounded.ts'

/** The body or line is longer than the limit. */
export class TooLargeError extends Error {
  override readonly name = 'TooLargeError'
}

/** Reads the whole body. Throws `TooLargeError`, and what the source throws. */
export async function readWhole(source: AsyncIterable<Buffer>, bytesMax: number): Promise<string> {
  const bytes = await readBounded(source, bytesMax)
  if (bytes === undefined) throw new TooLargeError(`more than ${bytesMax} bytes`)
  return bytes.toString()
}

const NEWLINE = 10

/**
 * Yields each line as soon as it is complete, without empty lines. Yields also a last line that was cut off before its newline. Throws
 * `TooLargeError`, and what the source throws.
 */
export async function* linesOf(source: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<string> {
  let begun: Buffer[] = []
  let bytes = 0
  for await (const chunk of source) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      begun.push(chunk.subarray(from, end))
      from = end + 1
      const line = Buffer.concat(begun).toString()
      begun = []
      bytes = 0
      if (line !== '') yield line
    }
    if (from === chunk.length) continue
    begun.push(chunk.subarray(from))
    bytes += chunk.length - from
    if (bytes > bytesMax) throw new TooLargeError(`a line of more than ${bytesMax} bytes`)
  }
  if (bytes > 0) yield Buffer.concat(begun).toString()
}
