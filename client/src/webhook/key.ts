/** The keys of signatures. */
import { edgeFaultOf } from '../fault.ts'

/** The runtimes have the same key object, but different names for its type. */
type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/**
 * Imports the keys. A key is the text of the secret as it was issued, in any format. Rejects with `TypeError` if there is none, or if it has
 * a line end, as it has from a file. Blanks may belong to it.
 */
export async function keysOf(
  secret: string | readonly string[],
  usage: 'sign' | 'verify',
): Promise<readonly [HmacKey, ...HmacKey[]]> {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const [first, ...others] = await Promise.all(
    secrets.map((text) => {
      // An empty secret would accept a delivery from anybody who knows that it is empty.
      if (typeof text !== 'string' || text === '') throw new TypeError('no webhook secret was given')
      const fault = edgeFaultOf(text)
      if (fault !== undefined && /[\r\n\uFEFF]/.test(text)) throw new TypeError(`the webhook secret has ${fault}`)
      return crypto.subtle.importKey('raw', new TextEncoder().encode(text), algorithm, false, [usage])
    }),
  )
  if (first === undefined) throw new TypeError('no webhook secret was given')
  return [first, ...others]
}
