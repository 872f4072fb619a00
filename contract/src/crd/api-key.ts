/** Made from `crds/api-key.yaml` by `npx vitest run test/crd.test.ts -u`; do not edit. */
import type { StatusCondition } from './plan.ts'

/** Whose key it is, where it comes from, and how long it is good. */
export interface ApiKeySpec {
  /** The tenant it belongs to, which must list the namespace of this resource. */
  readonly tenantRef: {
    /** Name of the Tenant. Cannot be changed. */
    readonly name: string
  }
  /** Either live, or test for the sandbox, whose renders are free; neither sees the renders of the other. Cannot be changed. If absent, live. */
  readonly environment?: 'live' | 'test'
  /** Name of the Secret, beside this resource, into which the key is generated; this or sha256. Cannot be changed. */
  readonly secretName?: string
  /** A key that is brought along, as sha256 and a colon and the lower-case hexadecimal SHA-256 of the whole of it; this or secretName. Cannot be changed. */
  readonly sha256?: string
  /** For people to read. */
  readonly description?: string
  /** From then on the key is answered 401. Never if absent. */
  readonly expiresAt?: string
  /** Is the key answered 401? False if absent. */
  readonly suspended?: boolean
  /** How long the last key lives on after a rotation. 24 if absent. */
  readonly overlapHours?: number
}

/** What the operator did about this key. */
export interface ApiKeyStatus {
  /** The generation of the spec that this status is about. */
  readonly observedGeneration?: number
  /** Name of the key in logs and answers. */
  readonly keyId?: string
  /** The first characters of the key, to recognise it by. */
  readonly prefix?: string
  /** Lower-case hexadecimal SHA-256 of the key in force. */
  readonly sha256?: string
  /** The key from before the last rotation, as long as it is in force. */
  readonly previous?: {
    /** Lower-case hexadecimal SHA-256 of it. */
    readonly sha256: string
    /** From then on it is answered 401. */
    readonly until: string
  }
  /** From then on the key in force is answered 401. */
  readonly expiresAt?: string
  /** The annotation platen.dev/rotate that was carried out last. */
  readonly rotation?: string
  /** Ready, Accepted, Published, and Propagated, which is true when every API pod enforces this generation. */
  readonly conditions?: readonly StatusCondition[]
}

/** What a spec is held against: as Kubernetes does, but for what its fields demand of each other. */
export const apiKeySpecSchema = {
  type: 'object',
  required: ['tenantRef'],
  additionalProperties: false,
  properties: {
    tenantRef: {
      type: 'object',
      required: ['name'],
      additionalProperties: false,
      properties: { name: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 } },
    },
    environment: { type: 'string', enum: ['live', 'test'] },
    secretName: {
      type: 'string',
      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
      maxLength: 253,
    },
    sha256: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' },
    description: { type: 'string', maxLength: 500 },
    expiresAt: { type: 'string', pattern: '^[0-9-]{10}T[0-9:]{6}[0-5][0-9][0-9.:Z+-]*$', format: 'date-time' },
    suspended: { type: 'boolean' },
    overlapHours: { type: 'integer', minimum: 0, maximum: 720 },
  },
} as const
