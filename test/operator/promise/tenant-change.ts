/** A tenant that is changed, removed, and declared anew, with its plan there or not. */
import { tenantRefOf, tenantSpec } from './declaration.ts'
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
      const written = await resources.patch(tenantRefOf(tenant), tenantSpec(model, tenant))
      await resources.untilPropagated(tenantRefOf(tenant), written, signal)
    },
  }
}

export function removeTenant(scene: Scene, tenant: TenantModel): Change {
  return {
    what: 'tenant removed',
    name: tenant.name,
    make(signal) {
      Object.assign(tenant, { isDeclared: false, limits: undefined })
      return removeUntilGone(scene, tenantRefOf(tenant), signal)
    },
  }
}

/** Without a plan it is not served, as it was not before: all there is to wait for is that it says so. */
export function declareTenant({ model, resources }: Scene, tenant: TenantModel): Change {
  const { isDeclared: hasPlan, limits } = model.plan
  const ref = tenantRefOf(tenant)
  return {
    what: hasPlan ? 'tenant declared' : 'tenant declared without a plan',
    name: tenant.name,
    isUnpromised: !hasPlan,
    async make(signal) {
      Object.assign(tenant, { isDeclared: true, limits: hasPlan ? limits : undefined })
      const written = await resources.create(ref, tenantSpec(model, tenant))
      if (hasPlan) return resources.untilPropagated(ref, written, signal)
      return resources.untilTold(
        ref,
        ({ conditions = [] }) => conditions.some(({ reason }) => reason === 'PlanNotFound'),
        signal,
      )
    },
  }
}
