/** A PDF in the pieces in which it arrived. Joining large ones takes as long as sending them, and as much memory again. */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

type Pieces = readonly Uint8Array[]

export function byteLengthOf(pieces: Pieces): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
}

export function bodyOf(pieces: Pieces): Uint8Array | Readable {
  const [first, ...others] = pieces
  return first !== undefined && others.length === 0 ? first : Readable.from(pieces, { objectMode: false })
}

/**
 * Frees the memory of pieces that nobody else reads, once the system has all bytes of the answer. V8 counts this memory: without this, a
 * few large answers cause a collection of the whole heap. After a broken connection V8 frees it, because a write may still refer to it.
 */
export function freeOnceSent(pieces: Pieces, response: ServerResponse): void {
  const { socket } = response
  response.once('finish', () => {
    if (socket?.destroyed !== false) return
    for (const { buffer, byteLength } of pieces) {
      // A larger buffer may contain other replies.
      if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
    }
  })
}
