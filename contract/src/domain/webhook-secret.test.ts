import { describe, expect, test } from 'vitest'
import { WEBHOOK_SECRET_OVERLAP_MS as OVERLAP, WEBHOOK_SECRETS_MAX } from './limit.ts'
import type { WebhookSecret } from './tenant.ts'
import {
  inForce,
  isWebhookSecret,
  openWebhookSecret,
  sealWebhookSecret,
  signingSecretsOf,
  withCurrentSecret,
} from './webhook-secret.ts'

const KEY = Buffer.alloc(32, 7)
const HOUR = 3_600_000

/** The secrets of a tenant after these rotations, given as hours and secrets. */
function after(...rotations: readonly (readonly [hour: number, secret: string])[]): readonly WebhookSecret[] {
  return rotations.reduce<readonly WebhookSecret[]>(
    (before, [hour, secret]) =>
      withCurrentSecret(before, sealWebhookSecret(secret, { account: 'uid', keys: [KEY] }), hour * HOUR) ?? before,
    [],
  )
}

const signing = (webhookSecrets: readonly WebhookSecret[], hour: number) =>
  signingSecretsOf({ account: 'uid', webhookSecrets }, [KEY], hour * HOUR)

describe('a tenant’s secrets', () => {
  test('are one at first', () => {
    expect(signing(after([0, 'A']), 0)).toEqual({ oldest: 'A', all: ['A'] })
  })

  test('are both over a rotation, until its overlap ends', () => {
    const secrets = after([0, 'A'], [100, 'B'])
    expect(signing(secrets, 100)).toEqual({ oldest: 'A', all: ['B', 'A'] })
    const end = 100 * HOUR + OVERLAP
    const at = (now: number) => signingSecretsOf({ account: 'uid', webhookSecrets: secrets }, [KEY], now)
    expect(at(end - 1)).toEqual({ oldest: 'A', all: ['B', 'A'] })
    expect(at(end)).toEqual({ oldest: 'B', all: ['B'] })
  })

  test('stay as they are when the same is found again', () => {
    const secrets = after([0, 'A'], [1, 'B'])
    expect(after([0, 'A'], [1, 'B'], [2, 'B'], [3, 'B'])).toEqual(secrets)
  })

  test('each keep their own overlap when rotations follow each other', () => {
    const secrets = after([0, 'A'], [1, 'B'], [3, 'C'])
    expect(signing(secrets, 3)).toEqual({ oldest: 'A', all: ['C', 'B', 'A'] })
    expect(signing(secrets, 25)).toEqual({ oldest: 'B', all: ['C', 'B'] })
    expect(signing(secrets, 27)).toEqual({ oldest: 'C', all: ['C'] })
  })

  test('go back without a receiver noticing, when a rotation is undone', () => {
    const secrets = after([0, 'A'], [1, 'B'], [2, 'A'])
    for (const hour of [2, 20, 25]) expect(signing(secrets, hour)).toEqual({ oldest: 'A', all: ['A', 'B'] })
    expect(signing(secrets, 26)).toEqual({ oldest: 'A', all: ['A'] })
  })

  test('forget one whose overlap has ended, which is new when it comes back', () => {
    expect(after([0, 'A'], [1, 'B'], [25, 'B'])).toEqual(after([1, 'B']))
    expect(signing(after([0, 'A'], [1, 'B'], [30, 'A']), 31)).toEqual({ oldest: 'B', all: ['A', 'B'] })
  })

  test('are no more than may be: the next one waits until an overlap ends', () => {
    const names = Array.from({ length: WEBHOOK_SECRETS_MAX }, (_, at) => `S${at}`)
    const full = after(...names.map((name, at) => [at, name] as const))
    expect(signing(full, 8)?.all).toEqual(names.toReversed())
    const sealed = sealWebhookSecret('one more', { account: 'uid', keys: [KEY] })
    expect(withCurrentSecret(full, sealed, 8 * HOUR)).toBeUndefined()
    expect(withCurrentSecret(full, sealed, OVERLAP + HOUR - 1)).toBeUndefined()
    const next = withCurrentSecret(full, sealed, OVERLAP + HOUR) ?? []
    expect(signing(next, 25)?.all).toEqual(['one more', ...names.slice(1).toReversed()])
  })

  test('in a full list may be gone back to', () => {
    const names = Array.from({ length: WEBHOOK_SECRETS_MAX }, (_, at) => [at, `S${at}`] as const)
    expect(signing(after(...names, [8, 'S3']), 8)?.all[0]).toBe('S3')
  })
})

describe('what signs', () => {
  const [sealed = { sealed: '' }] = after([0, 'A'])

  test('is nothing where there is no secret, or none that opens', () => {
    expect(signingSecretsOf({ account: 'uid' }, [KEY], 0)).toBeUndefined()
    expect(signingSecretsOf({ account: 'another uid', webhookSecrets: [sealed] }, [KEY], 0)).toBeUndefined()
    expect(signingSecretsOf({ account: 'uid', webhookSecrets: [sealed] }, [Buffer.alloc(32, 8)], 0)).toBeUndefined()
    expect(signing([{ sealed: 'v1.damaged' }], 0)).toBeUndefined()
  })

  test('leaves out what does not open', () => {
    expect(signing([{ sealed: 'v1.damaged', until: HOUR }, sealed], 0)).toEqual({ oldest: 'A', all: ['A'] })
  })

  test('is sealed for one life of a tenant', () => {
    expect(openWebhookSecret(sealed.sealed, { account: 'uid', keys: [KEY] })).toBe('A')
    expect(openWebhookSecret(sealed.sealed, { account: 'another uid', keys: [KEY] })).toBeUndefined()
  })

  test('is in force up to its end', () => {
    const secrets = [{ sealed: 'a', until: 5 }, { sealed: 'b' }]
    expect([4, 5].map((now) => inForce(secrets, now).length)).toEqual([2, 1])
  })
})

test.for([
  ['24 letters', 'a'.repeat(24), true],
  ['23', 'a'.repeat(23), false],
  ['512', 'a'.repeat(512), true],
  ['513', 'a'.repeat(513), false],
  ['every printable one', Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)).join(''), true],
  ['none', '', false],
  ['a space', `${'a'.repeat(24)} b`, false],
  ['a line end', `${'a'.repeat(24)}\n`, false],
  ['a tab', `${'a'.repeat(24)}\t`, false],
  ['DEL', `${'a'.repeat(24)}\x7f`, false],
  ['NUL', `${'a'.repeat(24)}\0`, false],
  ['an accent', `${'a'.repeat(24)}é`, false],
] as const)('a secret of %s', ([, text, isSecret]) => {
  expect(isWebhookSecret(text)).toBe(isSecret)
})
