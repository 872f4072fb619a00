/** The headers that say what a delivery is, and prove whose it is. Pure. */
import { createHmac } from 'node:crypto'
import type { Delivery } from '@platen/contract/delivery.ts'
import type { SigningSecrets } from '@platen/contract/webhook-secret.ts'

export interface Signing extends Pick<Delivery, 'id' | 'type' | 'body'> {
  /** Unix seconds of this attempt. */
  readonly timestampS: number
  readonly secrets: SigningSecrets
  /** The word in header names: `service` gives `X-Service-Signature`. */
  readonly brand: string
}

/**
 * The headers of one attempt. Keys are the UTF-8 bytes of the secrets as they were handed out. While a rotation overlaps, the
 * service's own signature, of which there is room for one, is by the secret that receivers have known for the longest time; the one of
 * Standard Webhooks carries all.
 */
export function signatureHeaders({ id, type, body, timestampS, secrets, brand }: Signing): Record<string, string> {
  const prefix = `X-${brand.charAt(0).toUpperCase()}${brand.slice(1)}`
  const standard = secrets.all.map((secret) => `v1,${hmac(secret, `${id}.${timestampS}.${body}`).toString('base64')}`)
  return {
    [`${prefix}-Event`]: type,
    [`${prefix}-Delivery`]: id,
    [`${prefix}-Timestamp`]: `${timestampS}`,
    [`${prefix}-Signature`]: `sha256=${hmac(secrets.oldest, `${timestampS}.${body}`).toString('hex')}`,
    'webhook-id': id,
    'webhook-timestamp': `${timestampS}`,
    'webhook-signature': standard.join(' '),
  }
}

function hmac(secret: string, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest()
}
