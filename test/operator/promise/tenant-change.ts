/** A tenant that is changed, removed, and declared again, with its plan there or not. */
import { tenantReference, tenantSpec } from './declaration.ts'
import type { TenantModel } from './model.ts'
import { type Change, removeUntilGone, type Scene } from './scene.ts'

/** All of a tenant that is served. Without a plan it is never propagated, whatever is in force of it. */
export function tenantChanges(scene: Scene, tenant: TenantModel): readonly Change[] {
  const { model, nextRate, nextTag } = scene
  const removal = removeTenant(scene, tenant)
  if (!model.plan.isDeclared) return [removal]
  const { suspendedReason, asyncRate } = tenant
  return [
    patchTenant(scene, tenant, { isOpen: false }),
    patchTenant(scene, tenant, { suspendedReason: suspendedReason === undefined ? nextTag() : undefined }),
    patchTenant(scene, tenant, { asyncRate: asyncRate === undefined ? nextRate() : undefined }),
    removal,
  ]
}

export function patchTenant(
  { model, resources }: Scene,
  tenant: TenantModel,
  change: Partial<Pick<TenantModel, 'isOpen' | 'suspendedReason' | 'asyncRate'>>,
): Change {
  return {
    what: `tenant ${Object.keys(change).join()}`,
    name: tenant.name,
    async make(signal) {
      Object.assign(tenant, change)
      const written = await resources.patch(tenantReference(tenant), tenantSpec(model, tenant))
      await resources.untilPropagated(tenantReference(tenant), written, signal)
    },
  }
}

export function removeTenant(scene: Scene, tenant: TenantModel): Change {
  return {
    what: 'tenant removed',
    name: tenant.name,
    make(signal) {
      Object.assign(tenant, { isDeclared: false, limits: undefined })
      return removeUntilGone(scene, tenantReference(tenant), signal)
    },
  }
}

/** Without a plan it is not served, as it was not before: all there is to wait for is that it says so. */
export function declareTenant({ model, resources }: Scene, tenant: TenantModel): Change {
  const { isDeclared: hasPlan, limits } = model.plan
  const reference = tenantReference(tenant)
  return {
    what: hasPlan ? 'tenant declared' : 'tenant declared without a plan',
    name: tenant.name,
    isUnpromised: !hasPlan,
    async make(signal) {
      Object.assign(tenant, { isDeclared: true, limits: hasPlan ? limits : undefined })
      const written = await resources.create(reference, tenantSpec(model, tenant))
      if (hasPlan) return resources.untilPropagated(reference, written, signal)
      return resources.untilStatus(
        reference,
        ({ conditions = [] }) => conditions.some(({ reason }) => reason === 'PlanNotFound'),
        signal,
      )
    },
  }
}
