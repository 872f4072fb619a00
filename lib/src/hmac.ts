import { createHmac, createSecretKey, type Hmac } from 'node:crypto'

/** Given the bytes of a key, Node first takes four times as long to find out that they are no key object. */
export function hmacSha256(key: Uint8Array): Hmac {
  return createHmac('sha256', createSecretKey(key))
}
