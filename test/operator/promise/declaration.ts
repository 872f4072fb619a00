/** Where the resources of a lane are, and what is declared of them. */
import { createHash } from 'node:crypto'
import { hashOfKey } from '@platen/contract/domain/api-key.ts'
import type { Reference } from '../rig/resources.ts'
import { TEAM } from '../rig/rig.ts'
import type { KeyModel, LaneModel, TemplateModel, TenantModel } from './model.ts'

/** A template that stays as it is, and takes any data. */
export const STEADY = 'steady'

/** In the form of our keys; of the same seed the same. */
export function keyText(seed: string): string {
  return `service_live_${createHash('sha256').update(seed).digest('hex')}`
}

export function planReference({ plan }: LaneModel): Reference {
  return { kind: 'Plan', name: plan.name }
}

export function tenantReference({ name }: TenantModel): Reference {
  return { kind: 'Tenant', name }
}

export function templateReference({ name }: Pick<TemplateModel, 'name'>): Reference {
  return { kind: 'Template', namespace: TEAM, name }
}

export function keyReference({ name }: KeyModel): Reference {
  return { kind: 'ApiKey', namespace: TEAM, name }
}

/** Where the operator writes a key that it makes. */
export function secretPlace({ name }: KeyModel) {
  return { namespace: TEAM, name: `${name}-key` }
}

export function planSpec({ plan }: LaneModel): object {
  const { hasHtml, asyncRate } = plan.limits
  return { htmlEngineEnabled: hasHtml, asyncRateLimitPerMinute: asyncRate }
}

/** What is null in it takes away what was there. */
export function tenantSpec({ plan }: LaneModel, { isOpen, suspendedReason, asyncRate }: TenantModel): object {
  return {
    planRef: { name: plan.name },
    namespaces: isOpen ? [TEAM] : [],
    suspend: suspendedReason !== undefined,
    suspendReason: suspendedReason ?? null,
    overrides: asyncRate === undefined ? null : { asyncRateLimitPerMinute: asyncRate },
  }
}

export function templateSpec({ name, template: { name: code, isPublished, tag } }: TenantModel): object {
  return {
    tenantRef: { name },
    code,
    published: isPublished,
    variablesSchema: { type: 'object', required: [tag] },
    reactPdf: {
      source: { inline: "import { Document } from '@react-pdf/renderer'; export default () => <Document />" },
    },
    html: { template: { inline: '<p>' } },
  }
}

export function steadySpec(tenant: TenantModel): object {
  return { ...templateSpec(tenant), code: STEADY, published: true, variablesSchema: { type: 'object' } }
}

export function keySpec({ name }: TenantModel, key: KeyModel): object {
  const { text = '', overlapHours, isSuspended } = key
  const source =
    overlapHours === undefined
      ? { sha256: `sha256:${hashOfKey(text)}` }
      : { secretName: secretPlace(key).name, overlapHours }
  return { tenantRef: { name }, ...source, suspend: isSuspended }
}
