/** Made from `crds/api-key.yaml` by `npx vitest run test/crd.test.ts -u`; do not edit. */
import type { StatusCondition } from './plan.ts'

/** The tenant, the source and the validity of the key. */
export interface ApiKeySpec {
  /** The tenant that this resource belongs to. The tenant must list the namespace of this resource. */
  readonly tenantRef: {
    /** Name of the Tenant. Cannot be changed. */
    readonly name: string
  }
  /** Live for production, or Test for the sandbox, where renders are free. Neither environment sees the renders of the other. Cannot be changed. Default is Live. */
  readonly environment?: 'Live' | 'Test'
  /** Name of the Secret, in the namespace of this resource, that the generated key is written to. Set either secretName or sha256. Cannot be changed. */
  readonly secretName?: string
  /** A key of yours, given as sha256, a colon and the lower-case hexadecimal SHA-256 of the whole key. Set either secretName or sha256. Cannot be changed. */
  readonly sha256?: string
  /** Purpose of the key, for people. */
  readonly description?: string
  /** Time at which the key expires. From then on, requests with it are answered 401. If absent, it never expires. */
  readonly expiresAt?: string
  /** True suspends the key. Requests with it are answered 401. Default is false. */
  readonly suspend?: boolean
  /** Hours for which the previous key stays valid after a rotation. Default is 24. */
  readonly overlapHours?: number
}

/** State of this key, written by the operator. */
export interface ApiKeyStatus {
  /** The generation of the spec that this status describes. It is -1 until the operator has seen the resource. */
  readonly observedGeneration?: number
  /** Short name of the key, the first twelve digits of its SHA-256. */
  readonly keyId?: string
  /** The first characters of the key, to recognise it. */
  readonly prefix?: string
  /** Lower-case hexadecimal SHA-256 of the key in force. */
  readonly sha256?: string
  /** The key before the last rotation, while it is in force. */
  readonly previous?: {
    /** Lower-case hexadecimal SHA-256 of that key. */
    readonly sha256: string
    /** Time at which that key expires. From then on, requests with it are answered 401. */
    readonly until: string
  }
  /** Time at which the key in force expires. From then on, requests with it are answered 401. */
  readonly expiresAt?: string
  /** Value of the annotation platen.dev/rotate of the last completed rotation. */
  readonly rotation?: string
  /** Conditions of the resource. These are Ready, Accepted, Published and Propagated, and Reconciling or Stalled while the resource is not as declared. Propagated is True when every connected API process enforces this generation. */
  readonly conditions?: readonly StatusCondition[]
}

/** Validates a spec as Kubernetes does, except for rules between its fields. */
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
    environment: { type: 'string', enum: ['Live', 'Test'] },
    secretName: {
      type: 'string',
      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
      maxLength: 253,
    },
    sha256: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' },
    description: { type: 'string', maxLength: 500 },
    expiresAt: { type: 'string', pattern: '^[0-9-]{10}T[0-9:]{6}[0-5][0-9][0-9.:Z+-]*$', format: 'date-time' },
    suspend: { type: 'boolean' },
    overlapHours: { type: 'integer', minimum: 0, maximum: 720 },
  },
} as const

/** The default of each field that has one. Kubernetes fills them in; everybody else takes them from here. */
export const apiKeySpecDefaults = {
  environment: 'Live',
  suspend: false,
  overlapHours: 24,
} as const
