/** Resources as people apply them. A test names what it is about, and takes the rest as it comes. */
import { API_VERSION } from '@platen/operator/reconcile/resource-view.ts'
import { type Manifest, TEAM } from './rig.ts'

export interface Applied extends Manifest {
  readonly spec: Readonly<Record<string, unknown>>
}

type Spec = Applied['spec']

export function aPlan(name: string, spec: Spec = {}): Applied {
  return { apiVersion: API_VERSION, kind: 'Plan', metadata: { name }, spec }
}

/** Of `PLAN`, for the team's namespace. */
export function aTenant(name: string, spec: Spec = {}): Applied {
  const given = { planRef: { name: PLAN }, namespaces: [TEAM], ...spec }
  return { apiVersion: API_VERSION, kind: 'Tenant', metadata: { name }, spec: given }
}

/** With an html source, where it is given no other. */
export function aTemplate(name: string, tenant: string, spec: Spec = {}): Applied {
  const source = 'html' in spec || 'reactPdf' in spec ? {} : { html: { template: { inline: '<h1>{{ number }}</h1>' } } }
  const engine = 'reactPdf' in spec ? {} : { engine: 'Html' }
  return { ...inTeam('Template', name), spec: { tenantRef: { name: tenant }, ...engine, ...source, ...spec } }
}

/** Generated into the Secret `<name>-key`, unless it is given by its hash. */
export function anApiKey(name: string, tenant: string, spec: Spec = {}): Applied {
  const source = 'sha256' in spec || 'secretName' in spec ? {} : { secretName: `${name}-key` }
  return { ...inTeam('ApiKey', name), spec: { tenantRef: { name: tenant }, ...source, ...spec } }
}

/** Of the team's namespace. */
export function anErasure(name: string, tenant: string, spec: Spec): Applied {
  return { ...inTeam('Erasure', name), spec: { tenantRef: { name: tenant }, ...spec } }
}

export function aConfigMap(name: string, data: Readonly<Record<string, string>>) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: TEAM }, data }
}

export function inNamespace(resource: Applied, namespace: string): Applied {
  return { ...resource, metadata: { ...resource.metadata, namespace } }
}

export function annotated(resource: Applied, annotations: Readonly<Record<string, string>>): Applied {
  return { ...resource, metadata: { ...resource.metadata, annotations } }
}

/** The plan of tenants that say nothing of one: it has html. */
export const PLAN = 'basic'

function inTeam(kind: string, name: string): Pick<Applied, 'apiVersion' | 'kind' | 'metadata'> {
  return { apiVersion: API_VERSION, kind, metadata: { name, namespace: TEAM } }
}
