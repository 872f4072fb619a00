import { expect, test } from 'vitest'
import { type ObjectLocation, pathOf } from './path.ts'

const TENANTS = { group: 'platen.dev', version: 'v1alpha1', plural: 'tenants' }
const SECRETS = { group: '', version: 'v1', plural: 'secrets' }

test.for<[string, ObjectLocation]>([
  ['/apis/platen.dev/v1alpha1/tenants', TENANTS],
  ['/apis/platen.dev/v1alpha1/tenants/acme', { ...TENANTS, name: 'acme' }],
  ['/apis/platen.dev/v1alpha1/tenants/acme/status', { ...TENANTS, name: 'acme', subresource: 'status' }],
  ['/api/v1/secrets', SECRETS],
  ['/api/v1/namespaces/team-a/secrets', { ...SECRETS, namespace: 'team-a' }],
  ['/api/v1/namespaces/team-a/secrets/ci', { ...SECRETS, namespace: 'team-a', name: 'ci' }],
  ['/api/v1/namespaces/..%2Fb/secrets/a%2Fb%3Fc', { ...SECRETS, namespace: '../b', name: 'a/b?c' }],
])('%s', ([path, place]) => {
  expect(pathOf(place)).toBe(path)
})
