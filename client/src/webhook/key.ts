import { edgeFaultOf } from '../fault.ts'

/** Runtimes have the same key object, but different names for its type. */
type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/**
 * A key is the text of the secret as issued, in any format; it may have blanks. Rejects with `TypeError` if there is none, or if it has a
 * line end, as from a file.
 */
export async function keysOf(
  secret: string | readonly string[],
  usage: 'sign' | 'verify',
): Promise<readonly [HmacKey, ...HmacKey[]]> {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const [first, ...others] = await Promise.all(
    secrets.map((text) => {
      // Anybody who guesses that the secret is empty could sign with it.
      if (typeof text !== 'string' || text === '') throw new TypeError('no webhook secret was given')
      const fault = edgeFaultOf(text)
      if (fault !== undefined && /[\r\n\uFEFF]/.test(text)) throw new TypeError(`the webhook secret has ${fault}`)
      return crypto.subtle.importKey('raw', new TextEncoder().encode(text), algorithm, false, [usage])
    }),
  )
  if (first === undefined) throw new TypeError('no webhook secret was given')
  return [first, ...others]
}
