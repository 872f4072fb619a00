import type { JsonObject } from '@platen/lib/brand.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import type { ErrorDetail } from '../../domain/error.ts'
import { type Kind, type ResourceManifest, SPEC_SCHEMAS } from '../../domain/resource-spec.ts'
import { compileValidator } from '../validator.ts'
import { brokenRules } from './rule.ts'

const API_VERSION = 'platen.dev/v1alpha1'

/** Kubernetes label names, for tenants and namespaces, and the longer subdomain names. Kubernetes itself checks those of resources. */
const labelName = { type: 'string', maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' } as const
const subdomainName = {
  type: 'string',
  maxLength: 253,
  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
} as const

const strings = { type: 'object', additionalProperties: { type: 'string' } } as const

const clusterMetadata = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: labelName, labels: strings, annotations: strings },
} as const

const namespacedMetadata = {
  ...clusterMetadata,
  properties: { ...clusterMetadata.properties, name: subdomainName, namespace: labelName },
} as const

const SHAPES = {
  Plan: resourceShape(
    'Plan',
    { ...clusterMetadata, properties: { ...clusterMetadata.properties, name: subdomainName } },
    SPEC_SCHEMAS.Plan,
  ),
  Tenant: resourceShape('Tenant', clusterMetadata, SPEC_SCHEMAS.Tenant),
  Template: resourceShape('Template', namespacedMetadata, SPEC_SCHEMAS.Template),
  ApiKey: resourceShape('ApiKey', namespacedMetadata, SPEC_SCHEMAS.ApiKey),
  ConfigMap: coreShape('ConfigMap', { data: strings, binaryData: strings, immutable: { type: 'boolean' } }),
  Secret: coreShape('Secret', {
    data: strings,
    stringData: strings,
    type: { type: 'string' },
    immutable: { type: 'boolean' },
  }),
} as const satisfies Record<Kind | 'ConfigMap' | 'Secret', object>

function resourceShape(kind: Kind, metadata: object, spec: object): object {
  return {
    type: 'object',
    additionalProperties: false,
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    properties: { apiVersion: { enum: [API_VERSION] }, kind: { enum: [kind] }, metadata, spec },
  }
}

function coreShape(kind: 'ConfigMap' | 'Secret', fields: object): object {
  return {
    type: 'object',
    additionalProperties: false,
    required: ['apiVersion', 'kind', 'metadata'],
    properties: { apiVersion: { enum: ['v1'] }, kind: { enum: [kind] }, metadata: namespacedMetadata, ...fields },
  }
}

/** Differs between versions that may read a manifest in different ways. */
export function resourceSchemasDigest(): string {
  return sha256(JSON.stringify(SHAPES))
}

export type ReadResource = (
  value: JsonObject,
) => { readonly written: ResourceManifest } | { readonly faults: readonly ErrorDetail[] }

/** Faults have JSON pointers and never a value. Each schema is compiled once. */
export function resourceReader(): ReadResource {
  const validators = new Map(Object.entries(SHAPES).map(([kind, shape]) => [kind, compileValidator(shape)]))
  return (value) => {
    const kind = value['kind']
    const validate = typeof kind === 'string' ? validators.get(kind) : undefined
    // An Erasure in a folder would stay, and erase again what a later tenant of the same name renders.
    if (kind === 'Erasure')
      return { faults: [{ path: '/kind', message: 'is an order to a cluster, not a setting: use platen erase' }] }
    if (validate === undefined)
      return { faults: [{ path: '/kind', message: `must be one of ${[...validators.keys()].join(', ')}` }] }
    const faults = validate(value)
    if (faults.length > 0) return { faults }
    // The schema of its kind has checked it.
    const written = value as unknown as ResourceManifest
    const broken = brokenRules(written)
    return broken.length > 0 ? { faults: broken } : { written }
  }
}
