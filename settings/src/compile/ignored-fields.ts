/**
 * Fields that are valid and stored but have no effect. They are reported, so that nobody finds out by accident. Remove a field here when it
 * gets an effect.
 */
import type { ApiKeyResource, Resource, TenantResource } from '@platen/contract/domain/resource.ts'
import { ROTATE_POINTER } from '@platen/contract/domain/resource-spec.ts'

interface IgnoredField {
  /** JSON pointer into the manifest. */
  readonly path: string
  /** The rest of a sentence that begins with the field. */
  readonly message: string
}

export function ignoredFieldsOf(resource: Resource): readonly IgnoredField[] {
  switch (resource.kind) {
    case 'Plan':
    case 'Template':
      return []
    case 'Tenant':
      return ofTenant(resource)
    case 'ApiKey':
      return ofApiKey(resource)
  }
}

function ofTenant({ metadata, spec }: TenantResource): readonly IgnoredField[] {
  const isRotatedInVain = spec.webhookSecretRef !== undefined && metadata.rotateWebhookSecretAt !== undefined
  return isRotatedInVain ? [{ path: ROTATE_POINTER, message: WITH_REFERENCE }] : []
}

function ofApiKey({ spec }: ApiKeyResource): readonly IgnoredField[] {
  return spec.overlapHours === undefined ? [] : [{ path: '/spec/overlapHours', message: NOT_YET }]
}

const NOT_YET = 'has no effect yet'
const WITH_REFERENCE = 'has no effect with webhookSecretRef: the secret rotates when the value in the Secret changes'
