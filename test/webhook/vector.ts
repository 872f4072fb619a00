/**
 * Deliveries and the signatures they must carry, as data. Everyone who signs or verifies here is held against them, and some of
 * those are none of ours. `python3 test/webhook/sign.py test/webhook/vector.json --write && npm run fix` writes the signatures of
 * what was added or changed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const VECTOR_FILE = join(import.meta.dirname, 'vector.json')

export interface Vector {
  readonly name: string
  readonly secret: string
  /** The secret from before a rotation, while both sign. */
  readonly previous?: string
  readonly id: string
  /** Unix seconds. */
  readonly timestamp: number
  readonly body: string
  readonly headers: {
    readonly 'x-service-timestamp': string
    readonly 'x-service-delivery': string
    readonly 'x-service-signature': string
    readonly 'webhook-id': string
    readonly 'webhook-timestamp': string
    readonly 'webhook-signature': string
  }
}

/** As the file has them, whose body is told in pieces. */
interface Written extends Pick<Vector, 'name' | 'secret' | 'previous' | 'id' | 'timestamp'> {
  readonly body: readonly (string | { readonly repeat: string; readonly times: number })[]
  readonly service_signature: string
  readonly webhook_signature: string
}

export function readVectors(): readonly Vector[] {
  // The file is ours; what of it were wrong would fit no signature.
  const { vectors } = JSON.parse(readFileSync(VECTOR_FILE, 'utf8')) as { vectors: readonly Written[] }
  return vectors.map(({ body, service_signature, webhook_signature, ...about }) => ({
    ...about,
    body: body.map((piece) => (typeof piece === 'string' ? piece : piece.repeat.repeat(piece.times))).join(''),
    headers: {
      'x-service-timestamp': `${about.timestamp}`,
      'x-service-delivery': about.id,
      'x-service-signature': service_signature,
      'webhook-id': about.id,
      'webhook-timestamp': `${about.timestamp}`,
      'webhook-signature': webhook_signature,
    },
  }))
}
