import { createHmac, createSecretKey, type Hmac, hash } from 'node:crypto'

/** Begins an HMAC-SHA256. Given the bytes of a key, Node first takes four times as long to find out that they are no key object. */
export function hmacSha256(key: Uint8Array): Hmac {
  return createHmac('sha256', createSecretKey(key))
}

/** Bytes of a block of SHA-256. */
const BLOCK_BYTES = 64
const DIGEST_BYTES = 32

/**
 * The HMAC-SHA256 of a text in UTF-8, as RFC 2104 defines it: two hashes. Node's `createHmac` makes an object for each code, which the
 * garbage collector has to finalize. A webhook needs two codes.
 */
export function hmacSha256Of(key: Uint8Array, text: string): Buffer {
  const block = key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key
  const inner = Buffer.allocUnsafe(BLOCK_BYTES + Buffer.byteLength(text))
  const outer = Buffer.allocUnsafe(BLOCK_BYTES + DIGEST_BYTES)
  for (let at = 0; at < BLOCK_BYTES; at += 1) {
    const byte = block[at] ?? 0
    inner[at] = byte ^ 0x36
    outer[at] = byte ^ 0x5c
  }
  inner.write(text, BLOCK_BYTES)
  outer.set(hash('sha256', inner, 'buffer'), BLOCK_BYTES)
  return hash('sha256', outer, 'buffer')
}
