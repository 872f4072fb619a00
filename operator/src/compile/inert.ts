/** Fields that are checked and kept, and change nothing yet: better said than found out. A field leaves this file when it has an effect. */
import type { ApiKeyResource, Resource, TenantResource } from '@platen/contract/resource.ts'

/** The fields of a resource that ask for what the service does not do yet, as paths below `spec`. */
export function inertFieldsOf(resource: Resource): readonly string[] {
  return Object.entries(asked(resource)).flatMap(([field, isAsked]) => (isAsked ? [field] : []))
}

function asked(resource: Resource): Readonly<Record<string, boolean>> {
  switch (resource.kind) {
    case 'Plan':
    case 'Template':
      return {}
    case 'Tenant':
      return ofTenant(resource)
    case 'ApiKey':
      return ofApiKey(resource)
  }
}

function ofTenant({ spec }: TenantResource) {
  return {
    'webhooks.allowCidrs': isFilled(spec.webhooks?.allowCidrs),
    webhookSecretRef: spec.webhookSecretRef !== undefined,
    deletionPolicy: spec.deletionPolicy === 'Delete',
  }
}

function ofApiKey({ spec }: ApiKeyResource) {
  return { overlapHours: spec.overlapHours !== undefined }
}

function isFilled(list: readonly unknown[] | undefined): boolean {
  return list !== undefined && list.length > 0
}
