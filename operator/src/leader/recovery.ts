/** Finds the settings in force when an operator starts, from Redis and from the statuses. Pure. */
import { tenantSpecDefaults } from '@platen/contract/domain/crd/tenant.ts'
import type { Resource, TemplateResource, TenantResource, Uid } from '@platen/contract/domain/resource.ts'
import {
  DEFAULT_LIMITS,
  type Limits,
  type Template,
  type TemplateDigest,
  type Tenant,
  type TenantId,
} from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { CompilationOptions } from '@platen/settings/compilation/state.ts'
import { codeOf } from '@platen/settings/compile/source.ts'
import { settingsOf } from '@platen/settings/compile/template.ts'
import { storageOf } from '@platen/settings/compile/tenant.ts'
import { unpackStatus } from '../reconcile/packed-status.ts'
import type { ResourceView } from '../reconcile/resource-view.ts'
import { isConditionTrue, type Status } from '../reconcile/status.ts'

interface RecoveryInput {
  readonly views: readonly ResourceView[]
  /** Empty if Redis lost its content. */
  readonly published: DirectorySnapshot
  readonly serviceBucket: string
}

/**
 * Returns the previous settings of tenants and templates. Leaves out keys: their hashes are in statuses and Secrets. Leaves out plans: the
 * settings of the tenants contain their limits.
 */
export function previousSettings({ views, published, serviceBucket }: RecoveryInput): CompilationOptions['previous'] {
  const tenants = new Map<Uid, { readonly settings: Tenant }>()
  const templates = new Map<Uid, { readonly settings: Template }>()
  const declared = new Map(views.flatMap(({ resource }) => accountEntries(resource)))
  for (const { resource, status } of views) {
    const { uid } = resource.metadata
    if (resource.kind === 'Tenant') {
      const unpacked = unpackStatus(status)
      const settings = publishedTenant(resource, published) ?? tenantFromStatus(resource, unpacked, serviceBucket)
      if (settings !== undefined) tenants.set(uid, { settings })
    }
    if (resource.kind === 'Template') {
      const unpacked = unpackStatus(status)
      const settings =
        publishedTemplate(resource, unpacked, published) ??
        templateFromStatus(resource, unpacked) ??
        templateBeforeLoss(resource, { status: unpacked, published, declared })
      if (settings !== undefined) templates.set(uid, { settings })
    }
  }
  return { plans: new Map(), tenants, templates, apiKeys: new Map() }
}

function accountEntries(resource: Resource): readonly (readonly [string, string])[] {
  return resource.kind === 'Tenant' ? [[resource.metadata.name, resource.metadata.account]] : []
}

function publishedTenant({ metadata }: TenantResource, { tenants }: DirectorySnapshot): Tenant | undefined {
  const tenant = tenants.get(metadata.name as TenantId)
  return tenant?.account === metadata.account ? tenant : undefined
}

/**
 * Rebuilds a tenant from its status, which keeps the limits even when the plan or Redis is gone. Its PDFs go to the storage that its spec
 * names, if that was accepted. Otherwise returns undefined: nobody knows the former storage, and no service is better than a PDF in the
 * folder of another tenant.
 */
function tenantFromStatus(resource: TenantResource, status: Status, serviceBucket: string): Tenant | undefined {
  const { effective, published } = status
  const { name, account, generation } = resource.metadata
  if (effective === undefined || published === undefined || !isConditionTrue(status, 'Accepted', generation))
    return undefined
  const limits: Limits = { ...DEFAULT_LIMITS, ...effective }
  const storage = storageOf(resource, serviceBucket)
  return {
    id: name as TenantId,
    account,
    limits,
    suspended: resource.spec.suspend ?? tenantSpecDefaults.suspend,
    storage,
  }
}

/**
 * Finds the published template by digest, under any code: the spec may now ask for another code, which was refused. The digest also covers
 * the code.
 */
function publishedTemplate(
  { spec }: TemplateResource,
  { digest }: Status,
  { templates }: DirectorySnapshot,
): Template | undefined {
  const own = templates.get(spec.tenantRef.name as TenantId)?.values() ?? []
  return [...own].find((template) => template.digest === digest)
}

/** Rebuilds a template that Redis has lost, if its status is of this generation. The status has the digest of the source. */
function templateFromStatus(resource: TemplateResource, status: Status): Template | undefined {
  const { digest } = status
  const { generation } = resource.metadata
  const isOfNow = isConditionTrue(status, 'Accepted', generation) && isConditionTrue(status, 'Compiled', generation)
  // We wrote this digest.
  return digest !== undefined && isOfNow ? settingsOf(resource, digest as TemplateDigest) : undefined
}

interface BeforeLoss {
  readonly status: Status
  readonly published: DirectorySnapshot
  /** By name of the declared Tenant. */
  readonly declared: ReadonlyMap<string, string>
}

/**
 * Finds what is published under the code of a template that no operator has judged yet. Resources that are applied again after a loss of
 * etcd have no status, and renders go on until they are checked. Requires the account that it was published for: another customer may have
 * the name of the Tenant by now.
 */
function templateBeforeLoss(
  resource: TemplateResource,
  { status, published: { tenants, templates }, declared }: BeforeLoss,
): Template | undefined {
  if (status.observedGeneration !== undefined) return undefined
  const { name } = resource.spec.tenantRef
  // A tenant's id is its resource's name.
  const id = name as TenantId
  return tenants.get(id)?.account === declared.get(name) ? templates.get(id)?.get(codeOf(resource)) : undefined
}
