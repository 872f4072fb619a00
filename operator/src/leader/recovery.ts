/** What was in force when an operator begins, by what Redis holds and by what the statuses tell. Pure. */
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { TemplateResource, TenantResource, Uid } from '@platen/contract/resource.ts'
import {
  DEFAULT_LIMITS,
  type Limits,
  type Template,
  type TemplateDigest,
  type Tenant,
  type TenantId,
} from '@platen/contract/tenant.ts'
import { settingsOf } from '@platen/settings/compile/template.ts'
import { storageOf } from '@platen/settings/compile/tenant.ts'
import type { CompilationOptions } from '../compilation/state.ts'
import { unpackStatus } from '../reconcile/packed-status.ts'
import type { ResourceView } from '../reconcile/resource-view.ts'
import { isConditionTrue, type Status } from '../reconcile/status.ts'

interface RecoveryInput {
  readonly views: readonly ResourceView[]
  /** What Redis holds; empty where it was emptied. */
  readonly published: DirectorySnapshot
  readonly serviceBucket: string
}

/** Keys are left out: their hashes are found in statuses and Secrets, and plans: what tenants had of them they have. */
export function previousSettings({ views, published, serviceBucket }: RecoveryInput): CompilationOptions['previous'] {
  const tenants = new Map<Uid, { readonly settings: Tenant }>()
  const templates = new Map<Uid, { readonly settings: Template }>()
  for (const { resource, status } of views) {
    const { uid } = resource.metadata
    if (resource.kind === 'Tenant') {
      const told = unpackStatus(status)
      const settings = publishedTenant(resource, published) ?? tenantFromStatus(resource, told, serviceBucket)
      if (settings !== undefined) tenants.set(uid, { settings })
    }
    if (resource.kind === 'Template') {
      const told = unpackStatus(status)
      const settings = publishedTemplate(resource, told, published) ?? templateFromStatus(resource, told)
      if (settings !== undefined) templates.set(uid, { settings })
    }
  }
  return { plans: new Map(), tenants, templates, apiKeys: new Map() }
}

function publishedTenant({ metadata }: TenantResource, { tenants }: DirectorySnapshot): Tenant | undefined {
  const tenant = tenants.get(metadata.name as TenantId)
  return tenant?.incarnation === metadata.uid ? tenant : undefined
}

/**
 * Its limits outlive its plan, and Redis. Its PDFs go where it asks for, if it was granted that: where they went else nobody knows
 * any more, and it is better not served than into somebody else's folder.
 */
function tenantFromStatus(resource: TenantResource, status: Status, serviceBucket: string): Tenant | undefined {
  const { effective, published } = status
  const { name, uid, generation } = resource.metadata
  if (effective === undefined || published === undefined || !isConditionTrue(status, 'Accepted', generation))
    return undefined
  const limits: Limits = { ...DEFAULT_LIMITS, ...effective }
  const storage = storageOf(resource, serviceBucket)
  return { id: name as TenantId, incarnation: uid, limits, suspended: resource.spec.suspended ?? false, storage }
}

/** Under whichever code: it may ask for another by now that it was refused. The digest is of the code, too. */
function publishedTemplate(
  { spec }: TemplateResource,
  { digest }: Status,
  { templates }: DirectorySnapshot,
): Template | undefined {
  const own = templates.get(spec.tenantRef.name as TenantId)?.values() ?? []
  return [...own].find((template) => template.digest === digest)
}

/** Where Redis has it no more: what this generation came to, which its status tells by the digest of its source. */
function templateFromStatus(resource: TemplateResource, status: Status): Template | undefined {
  const { digest } = status
  const { generation } = resource.metadata
  const isOfNow = isConditionTrue(status, 'Accepted', generation) && isConditionTrue(status, 'Compiled', generation)
  // We wrote it.
  return digest !== undefined && isOfNow ? settingsOf(resource, digest as TemplateDigest) : undefined
}
