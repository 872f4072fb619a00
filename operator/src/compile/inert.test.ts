import { expect, test } from 'vitest'
import { anApiKeyResource, aPlanResource, aTemplateResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { inertFieldsOf } from './inert.ts'

const template = { inline: '<p>' }

test.for([
  ['a plan with page JavaScript', aPlanResource({ spec: { javascriptEnabled: true } }), ['javascriptEnabled']],
  [
    'a tenant that wants webhooks and a clean exit',
    aTenantResource({
      spec: {
        overrides: { javascriptEnabled: true },
        webhooks: { allowCidrs: ['10.0.0.0/8'] },
        webhookSecretRef: { namespace: 'a', name: 'a', key: 'a' },
        deletionPolicy: 'Delete',
      },
    }),
    ['overrides.javascriptEnabled', 'webhooks.allowCidrs', 'webhookSecretRef', 'deletionPolicy'],
  ],
  [
    'a template with files, hosts and page JavaScript',
    aTemplateResource({
      spec: {
        html: { template, javascript: true },
        assets: [{ name: 'a', inline: 'QUJD' }],
        fonts: [{ family: 'a', asset: 'a' }],
        egress: { allowedHosts: ['a.example'] },
      },
    }),
    ['html.javascript', 'assets', 'fonts', 'egress.allowedHosts'],
  ],
  ['a key with an overlap', anApiKeyResource({ spec: { overlapHours: 0 } }), ['overlapHours']],
] as const)('%s asks for what there is not yet', ([, resource, fields]) => {
  expect(inertFieldsOf(resource)).toEqual(fields)
})

test.for([
  aPlanResource({ spec: { javascriptEnabled: false } }),
  aTenantResource({ spec: { webhooks: { allowCidrs: [] }, deletionPolicy: 'Retain' } }),
  aTemplateResource({ spec: { html: { template, javascript: false }, assets: [], fonts: [], egress: {} } }),
  anApiKeyResource(),
])('what a $kind says about defaults asks for nothing', (resource) => {
  expect(inertFieldsOf(resource)).toEqual([])
})
