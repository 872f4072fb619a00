import { expect, test } from 'vitest'
import { anApiKeyResource, aPlanResource, aTemplateResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { inertFieldsOf } from './inert.ts'

const template = { inline: '<p>' }

test.for([
  [
    'a tenant that wants webhooks and a clean exit',
    aTenantResource({
      spec: {
        webhooks: { allowCidrs: ['10.0.0.0/8'] },
        webhookSecretRef: { namespace: 'a', name: 'a', key: 'a' },
        deletionPolicy: 'Delete',
      },
    }),
    ['webhooks.allowCidrs', 'webhookSecretRef', 'deletionPolicy'],
  ],
  ['a key with an overlap', anApiKeyResource({ spec: { overlapHours: 0 } }), ['overlapHours']],
] as const)('%s asks for what there is not yet', ([, resource, fields]) => {
  expect(inertFieldsOf(resource)).toEqual(fields)
})

test.for([
  aPlanResource(),
  aTenantResource({ spec: { webhooks: { allowCidrs: [] }, deletionPolicy: 'Retain' } }),
  aTemplateResource({ spec: { html: { template }, egress: { allowedHosts: ['a.example'] } } }),
  anApiKeyResource(),
])('what a $kind says about defaults, or what has an effect, asks for nothing', (resource) => {
  expect(inertFieldsOf(resource)).toEqual([])
})
