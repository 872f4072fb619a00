import { createHmac } from 'node:crypto'
import type { Delivery } from '@platen/contract/domain/delivery.ts'
import { headerPrefix } from '@platen/contract/domain/header-prefix.ts'
import type { SigningSecrets } from '@platen/contract/domain/webhook-secret.ts'

interface Signing extends Pick<Delivery, 'id' | 'type' | 'body'> {
  /** Unix seconds of this attempt. */
  readonly timestampS: number
  readonly secrets: SigningSecrets
  /** The word in header names: `service` gives `X-Service-Signature`. */
  readonly brand: string
}

/**
 * The headers of one attempt. Keys are the UTF-8 bytes of the secrets as they were handed out. The service's own signature header has room
 * for one signature: while a rotation overlaps, it uses the secret that receivers have known the longest. The header of Standard Webhooks
 * has one signature for each secret.
 */
export function signatureHeaders({ id, type, body, timestampS, secrets, brand }: Signing): Record<string, string> {
  const prefix = headerPrefix(brand)
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
