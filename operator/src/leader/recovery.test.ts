import type { Resource } from '@platen/contract/domain/resource.ts'
import {
  DEFAULT_LIMITS,
  type Template,
  type TemplateCode,
  type TemplateDigest,
  type TenantId,
} from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { expect, test } from 'vitest'
import { aTemplateResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { packStatus } from '../reconcile/packed-status.ts'
import type { ResourceView } from '../reconcile/resource-view.ts'
import { previousSettings } from './recovery.ts'

const NOTHING: DirectorySnapshot = { revision: 0, tenants: new Map(), keys: new Map(), templates: new Map() }
const ACME = 'acme' as TenantId

function viewOf(resource: Resource, status: object): ResourceView {
  return { resource, isDeleting: false, finalizers: [], status: packStatus(status), resourceVersion: '1' }
}

function recovered(declared: ResourceView, published = NOTHING, others: readonly ResourceView[] = []) {
  const views = [...others, declared]
  const { tenants, templates } = previousSettings({ views, published, serviceBucket: 'platen' })
  const { uid } = declared.resource.metadata
  return { tenant: tenants.get(uid)?.settings, template: templates.get(uid)?.settings }
}

const effective = { ...DEFAULT_LIMITS, syncRateLimitPerMinute: 7 }
const published = { revision: 1, digest: 'd', at: '2026-01-01T00:00:00Z' }
const accepted = (status: string, observedGeneration: number) => [{ type: 'Accepted', status, observedGeneration }]

test.for([
  { name: 'are kept of the generation that was granted its storage', conditions: accepted('True', 2), isKept: true },
  { name: 'are left where its storage was refused', conditions: accepted('False', 2), isKept: false },
  { name: 'are left where nobody has looked at its storage yet', conditions: accepted('True', 1), isKept: false },
])('the limits a status tells $name', ({ conditions, isKept }) => {
  const resource = aTenantResource({ metadata: { generation: 2 }, spec: { storage: { prefix: 'taken/' } } })
  const { tenant } = recovered(viewOf(resource, { effective, published, conditions }))
  expect(tenant?.limits).toEqual(isKept ? effective : undefined)
})

const [INVOICE, DIGEST] = ['invoice' as TemplateCode, 'a'.repeat(64) as TemplateDigest]
const TEMPLATE: Template = {
  tenant: ACME,
  code: INVOICE,
  name: 'Invoice',
  version: 1,
  engine: 'react_pdf',
  variablesSchema: { type: 'object' },
  digest: DIGEST,
  engines: ['react_pdf'],
}
const PUBLISHED: DirectorySnapshot = { ...NOTHING, templates: new Map([[ACME, new Map([[INVOICE, TEMPLATE]])]]) }

test('a template is known by the digest its status tells, whichever code it asks for by now', () => {
  const resource = aTemplateResource({ spec: { code: 'taken' } })
  expect(recovered(viewOf(resource, { digest: DIGEST }), PUBLISHED).template).toBe(TEMPLATE)
  expect(recovered(viewOf(resource, { digest: 'b'.repeat(64) }), PUBLISHED).template).toBeUndefined()
})

test.for([
  { name: 'is what is published under its code', status: {}, isKept: true },
  { name: 'of another code has nothing of it', status: {}, code: 'letter', isKept: false },
  { name: 'of a new account has nothing of the old one', status: {}, account: 'another', isKept: false },
  { name: 'that was judged has nothing of another resource', status: { observedGeneration: 1 }, isKept: false },
])('a template that is applied again $name', ({ status, code, isKept, ...published }) => {
  const tenant = aTenantResource()
  const { account } = { ...tenant.metadata, ...published }
  const inForce = { id: ACME, account, limits: DEFAULT_LIMITS, suspended: false }
  const storage = { bucket: 'platen', prefix: '' }
  const snapshot = { ...PUBLISHED, tenants: new Map([[ACME, { ...inForce, storage }]]) }
  const resource = aTemplateResource({ spec: { code: code ?? INVOICE } })
  const { template } = recovered(viewOf(resource, status), snapshot, [viewOf(tenant, {})])
  expect(template).toBe(isKept ? TEMPLATE : undefined)
})

test.for([
  {
    name: 'is what its status says about this generation',
    generation: 2,
    conditions: ['Accepted', 'Compiled'],
    isFound: true,
  },
  {
    name: 'of another generation is not known any more',
    generation: 1,
    conditions: ['Accepted', 'Compiled'],
    isFound: false,
  },
  { name: 'that does not compile now is not known any more', generation: 2, conditions: ['Accepted'], isFound: false },
  { name: 'whose code is taken now is not known any more', generation: 2, conditions: ['Compiled'], isFound: false },
])('a template that Redis has lost $name', ({ generation, conditions, isFound }) => {
  const digest = 'd'.repeat(64)
  const resource = aTemplateResource({ metadata: { generation: 2 }, spec: { version: 3 } })
  const status = {
    digest,
    conditions: conditions.map((type) => ({ type, status: 'True', observedGeneration: generation })),
  }
  const expected = { tenant: 'acme', code: 'invoice', version: 3, digest, engines: ['react_pdf'] }
  if (isFound) expect(recovered(viewOf(resource, status)).template).toMatchObject(expected)
  else expect(recovered(viewOf(resource, status)).template).toBeUndefined()
})
