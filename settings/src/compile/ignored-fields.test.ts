import { expect, test } from 'vitest'
import { anApiKeyResource, aPlanResource, aTemplateResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { ignoredFieldsOf } from './ignored-fields.ts'

const template = { inline: '<p>' }
const webhookSecretRef = { namespace: 'a', name: 'a', key: 'a' }

test.for([
  [
    'a tenant that wants to rotate what is not its own',
    aTenantResource({ metadata: { rotateWebhookSecretAt: 5 }, spec: { webhookSecretRef } }),
    [
      '/metadata/annotations/platen.dev~1rotate-webhook-secret has no effect with webhookSecretRef: the secret rotates when the value in the Secret changes',
    ],
  ],
  ['a key with an overlap', anApiKeyResource({ spec: { overlapHours: 0 } }), ['/spec/overlapHours has no effect yet']],
] as const)('%s asks for what there is not', ([, resource, fields]) => {
  expect(ignoredFieldsOf(resource).map(({ path, message }) => `${path} ${message}`)).toEqual(fields)
})

test.for([
  aPlanResource(),
  aTenantResource({ spec: { webhooks: { allowCidrs: ['10.0.0.0/8'] }, webhookSecretRef, deletionPolicy: 'Delete' } }),
  aTenantResource({ metadata: { rotateWebhookSecretAt: 5 } }),
  aTemplateResource({ spec: { html: { template }, egress: { allowedHosts: ['a.example'] } } }),
  anApiKeyResource(),
])('what a $kind says about defaults, or what has an effect, asks for nothing', (resource) => {
  expect(ignoredFieldsOf(resource)).toEqual([])
})
