import { WEBHOOK_SECRET_OVERLAP_MS as OVERLAP } from '@platen/contract/domain/limit.ts'
import type { Uid } from '@platen/contract/domain/resource.ts'
import { newWebhookSecret } from '@platen/contract/domain/webhook-secret.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { seededIds } from '../../../test/fixture/memory/ids.ts'
import { aTenantResource, aWrittenSecret } from '../../../test/fixture/resource.ts'
import type { ClusterSecret } from './cluster-secret.ts'
import { decideWebhookSecret, type WebhookSecretDecisionInput } from './decide-webhook-secret.ts'
import type { RotationRequest } from './rotation.ts'

const ids = seededIds('webhooks')
const resource = aTenantResource()
const place = { namespace: 'platen-system', name: 'acme-webhook' }

function look(fields: Partial<WebhookSecretDecisionInput>): WebhookSecretDecisionInput {
  const makeSecret = () => newWebhookSecret('acme', ids)
  return { resource, place, secret: undefined, status: {}, asked: undefined, now: 0, makeSecret, ...fields }
}

/** Decides, and applies the decision. */
function settled(fields: Partial<WebhookSecretDecisionInput>) {
  const verdict = decideWebhookSecret(look(fields))
  const secret = verdict.write === undefined ? fields.secret : aWrittenSecret(fields.secret, verdict.write)
  if (secret === undefined) throw new Error('no Secret was there, and none was written')
  return { verdict, secret, status: verdict.status, current: secret.data['secret'] ?? '' }
}

function asked(at: Instant): RotationRequest {
  return { at, text: new Date(at).toISOString() }
}

function withData(secret: ClusterSecret, data: object): ClusterSecret {
  return { ...secret, data: { ...secret.data, ...data } }
}

const first = settled({})
const { current } = first
const known = { secret: first.secret, status: first.status }

describe('the webhook secret of a tenant', () => {
  test('is made where there never was one', () => {
    expect(first.secret.data).toEqual({ secret: expect.stringMatching(/^acme_webhook_/), tenant: 'acme' })
    expect(first.verdict).toMatchObject({ found: { current }, status: { webhookSecret: place }, isNew: true })
    expect(first.secret.owners).toMatchObject([{ kind: 'Tenant', name: 'acme', uid: resource.metadata.uid }])
  })

  test('is found again, whether its maker could tell of it or not', () => {
    const found = { found: { current }, status: { webhookSecret: place }, isNew: false, repaired: [] }
    expect(decideWebhookSecret(look(known))).toEqual(found)
    expect(decideWebhookSecret(look({ secret: first.secret }))).toEqual(found)
  })

  test('is not made again where it is gone, before somebody asks for it', () => {
    const hint = 'restore it, or request a new one with the annotation platen.dev/rotate-webhook-secret on Tenant acme'
    expect(decideWebhookSecret(look({ status: first.status }))).toEqual({
      found: { fault: `Secret platen-system/acme-webhook is gone: ${hint}` },
      status: first.status,
      isNew: false,
      repaired: [],
    })
    const made = settled({ status: first.status, asked: asked(7) })
    expect(made.current).not.toBe(current)
    expect(made.verdict).toMatchObject({ isNew: true, status: { rotation: asked(7).text } })
  })

  test('is made where the last one was referenced', () => {
    const status = { webhookSecret: { namespace: 'a', name: 'b' }, rotation: asked(7).text }
    const made = settled({ status, asked: asked(7) })
    expect(made.verdict).toMatchObject({ isNew: true, status: { webhookSecret: place, rotation: asked(7).text } })
  })

  test('counts as it is edited by hand', () => {
    const secret = withData(first.secret, { secret: 'x'.repeat(24) })
    expect(decideWebhookSecret(look({ ...known, secret }))).toMatchObject({ found: { current: 'x'.repeat(24) } })
  })

  test.for(['short', `${'x'.repeat(24)}\n`, undefined])(
    'is none when it is edited to %j, and is not quoted',
    (text) => {
      const secret = withData(first.secret, { secret: text })
      const { found, isNew } = decideWebhookSecret(look({ ...known, secret }))
      expect({ found, isNew }).toEqual({
        found: {
          fault:
            'Secret platen-system/acme-webhook does not have 24 to 512 printable ASCII characters without spaces or line ends in its key secret: restore it, or request a new one with the annotation platen.dev/rotate-webhook-secret on Tenant acme',
        },
        isNew: false,
      })
    },
  )

  test.for([
    ['tenant', withData(first.secret, { tenant: 'other' }), ['data.tenant']],
    ['its owner', { ...first.secret, owners: [] }, ['ownerReferences']],
  ] as const)('is repaired, whatever else was changed: %s', ([, secret, repaired]) => {
    const step = settled({ ...known, secret })
    expect(step.verdict).toMatchObject({ found: { current }, repaired, isNew: false })
    expect(step.secret).toEqual(first.secret)
  })

  test('is never that of somebody else', () => {
    const secret = { ...first.secret, type: 'Opaque', owners: [] }
    for (const status of [{}, first.status])
      expect(decideWebhookSecret(look({ secret, status, asked: asked(7) }))).toEqual({
        found: {
          fault: 'Secret platen-system/acme-webhook does not belong to Tenant acme: remove it',
          reason: 'SecretTaken',
        },
        status,
        isNew: false,
        repaired: [],
      })
  })

  test('is a new one for a tenant created again under the name', () => {
    const heir = { ...resource, metadata: { ...resource.metadata, uid: 'heir' as Uid } }
    const made = settled({ secret: first.secret, resource: heir })
    expect(made.current).not.toBe(current)
    expect(made.verdict.found).toEqual({ current: made.current })
    expect(made.secret.owners.map(({ uid }) => uid)).toEqual(['heir'])
  })

  test('stays away from one of a tenant before it, where its own is gone', () => {
    const owners = first.secret.owners.map((owner) => ({ ...owner, uid: 'older' }))
    expect(decideWebhookSecret(look({ ...known, secret: { ...first.secret, owners } })).found).toMatchObject({
      fault: expect.stringContaining('belongs to an earlier Tenant of the same name'),
    })
  })
})

describe('a rotation', () => {
  const rotated = settled({ ...known, asked: asked(7), now: 1000 })

  test('makes a new one, and keeps the last for the overlap', () => {
    expect(rotated.current).not.toBe(current)
    expect(rotated.verdict).toMatchObject({
      found: { current: rotated.current, replaced: current },
      status: { webhookSecret: place, rotation: asked(7).text },
      isNew: true,
      retryAt: 1000 + OVERLAP,
    })
  })

  test.for([
    ['was written', rotated.status],
    ['was not written', first.status],
  ] as const)('is served once, where the status %s', ([, status]) => {
    const again = decideWebhookSecret(look({ secret: rotated.secret, status, asked: asked(7), now: 2000 }))
    expect(again).toEqual({ ...rotated.verdict, write: undefined, isNew: false })
  })

  test('is over when its overlap is', () => {
    const over = settled({ ...rotated, asked: asked(7), now: 1000 + OVERLAP })
    expect(over.verdict).toMatchObject({ found: { current: rotated.current }, isNew: false, repaired: [] })
    expect(over.verdict.found).not.toHaveProperty('replaced')
    expect(over.secret.data).toEqual({ secret: rotated.current, tenant: 'acme' })
    expect(settled({ ...over, asked: asked(7), now: 1000 + OVERLAP }).verdict).not.toHaveProperty('write')
  })

  test('keeps no last one that is unsound', () => {
    const next = settled({ ...known, secret: withData(first.secret, { secret: 'short' }), asked: asked(7) })
    expect(next.verdict.found).toEqual({ current: next.current })
    expect(next.secret.data).not.toHaveProperty('previousSecret')
  })

  test('of an immutable Secret waits until somebody removes it', () => {
    const secret = { ...first.secret, isImmutable: true }
    const verdict = decideWebhookSecret(look({ ...known, secret, asked: asked(7) }))
    expect(verdict).toMatchObject({ found: { fault: expect.stringContaining('is immutable') } })
    expect(verdict).not.toHaveProperty('write')
  })
})
