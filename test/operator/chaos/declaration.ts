/** What a sequence may declare, right and wrong. */
import { createHash } from 'node:crypto'
import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import type { KubeAnswer } from '../../topology/server/kube.ts'
import type { Reference } from '../rig/resources.ts'
import { TEAM } from '../rig/rig.ts'
import { type ChaosRig, STRANGE_TEAM } from './rig.ts'

/** One resource that there may be, and what it may say. */
export interface Declaration {
  readonly reference: Reference
  readonly sound: object
  /** Right or wrong, by chance; what is absent of it is null, so that it takes the place of what was there. */
  readonly specs: (chance: Chance) => object
  /** Which key an ApiKey is for, where nobody else has it. */
  readonly hash?: KeyHash
  /** The tenant of an ApiKey. The other ApiKey that may have the same key is of another tenant. */
  readonly tenant?: string
  /** Is something made for it, into a Secret? */
  readonly hasSecret?: boolean
}

/** One of several, by chance. */
export type Chance = <T>(first: T, ...others: readonly T[]) => T

/** A number that stands in limits only where they contradict each other, and so is never to be in force. */
export const BAD_RATE = 666
/** A text that stands in sources only where they do not compile. */
export const BROKEN = 'broken <'

const CONTRADICTION = { htmlEngineEnabled: true, htmlEngineRenderMultiplier: 100, renderLimitMonthly: 10 }
const GOOD_SOURCE = "import { Document } from '@react-pdf/renderer'; export default () => <Document />"
const BROKEN_SOURCE = `export default () => ${BROKEN}`

export function declarationsOf(name: string): readonly Declaration[] {
  const [a, b] = [`${name}-a`, `${name}-b`]
  const taken = hashFor(`${name} taken`)
  return [
    planOf(name),
    tenantOf(a, name),
    tenantOf(b, name),
    templateOf(`${name}-x`, { tenant: a, sequence: name }),
    templateOf(`${name}-y`, { tenant: a, sequence: name }),
    templateOf(`${name}-z`, { tenant: a, sequence: name, namespace: STRANGE_TEAM }),
    broughtKey(`${name}-k`, { tenant: a, hash: hashFor(`${name} k`) }),
    broughtKey(`${name}-l`, { tenant: b, hash: hashFor(`${name} l`) }),
    broughtKey(`${name}-s`, { tenant: a, hash: hashFor(`${name} s`), namespace: STRANGE_TEAM }),
    keyOf(`${name}-m`, { tenant: a, source: { sha256: `sha256:${taken}` } }),
    keyOf(`${name}-n`, { tenant: b, source: { sha256: `sha256:${taken}` } }),
    generatedKey(`${name}-g`, { tenant: a }),
    generatedKey(`${name}-h`, { tenant: b }),
  ]
}

function planOf(name: string): Declaration {
  const sound = { htmlEngineEnabled: true, asyncRateLimitPerMinute: 100 }
  const none = { htmlEngineEnabled: null, htmlEngineRenderMultiplier: null, renderLimitMonthly: null }
  return {
    reference: { kind: 'Plan', name },
    sound,
    specs: (chance) =>
      chance(
        { ...none, ...sound, asyncRateLimitPerMinute: chance(1, 2, 3, 4) },
        { ...none, asyncRateLimitPerMinute: chance(5, 6, 7, 8) },
        { ...CONTRADICTION, asyncRateLimitPerMinute: BAD_RATE },
      ),
  }
}

function tenantOf(name: string, plan: string): Declaration {
  const sound = { planRef: { name: plan }, namespaces: [TEAM] }
  const none = {
    htmlEngineEnabled: null,
    htmlEngineRenderMultiplier: null,
    renderLimitMonthly: null,
    htmlRateLimitPerMinute: null,
  }
  return {
    reference: { kind: 'Tenant', name },
    sound,
    hasSecret: true,
    specs: (chance) => ({
      planRef: { name: chance(plan, plan, plan, plan, `${plan}-none`) },
      namespaces: chance<readonly string[]>([TEAM], [TEAM], [TEAM, STRANGE_TEAM], [STRANGE_TEAM], []),
      suspend: chance(false, false, true),
      storage: chance<object | null>(null, null, { prefix: `${plan}-shared/` }, { prefix: `${name}-own/` }),
      overrides: chance<object | null>(
        null,
        { ...none, syncRateLimitPerMinute: chance(1, 2, 3) },
        { ...none, ...CONTRADICTION, syncRateLimitPerMinute: BAD_RATE },
        // Of no use without html in the plan.
        { ...none, htmlRateLimitPerMinute: 5, syncRateLimitPerMinute: 4 },
      ),
    }),
  }
}

interface TemplateParts {
  readonly tenant: string
  readonly sequence: string
  readonly namespace?: string
}

function templateOf(name: string, { tenant, sequence, namespace }: TemplateParts): Declaration {
  const fixed = { tenantRef: { name: tenant } }
  const inline = (text: string) => ({ source: { inline: text, configMapKeyRef: null } })
  const map = (key: string) => ({ source: { inline: null, configMapKeyRef: { name: sequence, key } } })
  return {
    reference: inTeam('Template', name, namespace),
    sound: { ...fixed, reactPdf: inline(GOOD_SOURCE) },
    specs: (chance) => ({
      ...fixed,
      name: chance(null, 'One', 'Two', 'Three'),
      code: chance(null, null, `${sequence}-taken`),
      published: chance(true, true, true, false),
      variablesSchema: chance<object | null>(null, { type: 'object', required: ['a'] }, { type: 'no type' }),
      reactPdf: chance<object>(inline(GOOD_SOURCE), inline(BROKEN_SOURCE), map('good'), map('none')),
    }),
  }
}

interface KeyParts {
  readonly tenant: string
  readonly hash: KeyHash
  readonly namespace?: string
}

function broughtKey(name: string, { hash, ...parts }: KeyParts): Declaration {
  return { ...keyOf(name, { ...parts, source: { sha256: `sha256:${hash}` } }), hash }
}

function generatedKey(name: string, { tenant }: Pick<KeyParts, 'tenant'>): Declaration {
  const { specs, ...declaration } = keyOf(name, { tenant, source: { secretName: name } })
  return {
    ...declaration,
    hasSecret: true,
    specs: (chance) => ({ ...specs(chance), overlapHours: chance(null, 0, 1) }),
  }
}

function keyOf(
  name: string,
  { tenant, source, namespace }: Omit<KeyParts, 'hash'> & { readonly source: object },
): Declaration {
  const sound = { tenantRef: { name: tenant }, ...source }
  return {
    reference: inTeam('ApiKey', name, namespace),
    sound,
    tenant,
    specs: (chance) => ({
      ...sound,
      suspend: chance(false, true),
      expiresAt: chance(null, null, '2020-01-01T00:00:00Z', '2090-01-01T00:00:00Z'),
    }),
  }
}

/** Puts one of the sequence's name, with a source in it that is there, broken or missing; or takes it away. */
export async function putConfigMap({ rig }: ChaosRig, name: string, chance: Chance): Promise<void> {
  const collection = `/api/v1/namespaces/${TEAM}/configmaps`
  const ask = async (call: { method: string; path: string; body?: object; type?: string }): Promise<KubeAnswer> => {
    const answer = await rig.kube.request(call)
    if (answer.status >= 300 && answer.status !== 404) throw new Error(`${answer.status}`)
    return answer
  }
  const data = chance<object | undefined>({ good: GOOD_SOURCE }, { good: BROKEN_SOURCE }, { other: '' }, undefined)
  const path = `${collection}/${name}`
  if (data === undefined) return void (await ask({ method: 'DELETE', path }))
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { good: null, other: null, ...data } }
  const { status } = await ask({ method: 'PATCH', path, body, type: 'application/merge-patch+json' })
  if (status === 404) await ask({ method: 'POST', path: collection, body: { ...body, data } })
}

function hashFor(name: string): KeyHash {
  // Lower-case hex SHA-256 is what the type means.
  return createHash('sha256').update(name).digest('hex') as KeyHash
}

function inTeam(kind: 'Template' | 'ApiKey', name: string, namespace = TEAM): Reference {
  return { kind, namespace, name }
}
