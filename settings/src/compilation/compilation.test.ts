import { WEBHOOK_SECRET_OVERLAP_MS } from '@platen/contract/domain/limit.ts'
import type { ApiKeyResource, Resource, TemplateResource, Uid } from '@platen/contract/domain/resource.ts'
import type { CheckFault } from '@platen/contract/domain/template-check.ts'
import {
  API_KEYS_MAX,
  DEFAULT_LIMITS,
  type KeyHash,
  TEMPLATES_MAX,
  type TenantId,
} from '@platen/contract/domain/tenant.ts'
import { array, assert, constantFrom, nat, property, record } from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  aKeyHash,
  anApiKeyResource,
  aPlanResource,
  aTemplateResource,
  aTenantResource,
} from '../../../test/fixture/resource.ts'
import type { FoundKey } from '../compile/api-key.ts'
import type { CompileResult } from '../compile/compile-result.ts'
import type { Finding } from '../compile/condition.ts'
import { checkRequestsOf } from '../compile/template.ts'
import { accountErased } from '../compile/tenant/account.ts'
import type { FoundSecret } from '../compile/tenant.ts'
import { openCompilation } from './compilation.ts'
import { type Compiled, compile, NO_PREVIOUS, resultsOf } from './compile.ts'

/** The overlap of a webhook secret lasts four steps. */
const STEP_MS = WEBHOOK_SECRET_OVERLAP_MS / 4
const BROKEN = 'a broken source'

/** One step: a resource is created, changed, recreated or removed; a secret is found or lost; time passes. */
interface Step {
  readonly kind: 'Plan' | 'Tenant' | 'Template' | 'ApiKey'
  readonly name: string
  readonly verb: 'put' | 'renew' | 'remove' | 'find'
  /** Random numbers that choose the values of a spec. */
  readonly dice: readonly number[]
}

const steps = array(
  record<Step>({
    kind: constantFrom('Plan', 'Tenant', 'Template', 'ApiKey'),
    name: constantFrom('one', 'two', 'three', 'four'),
    verb: constantFrom('put', 'put', 'put', 'renew', 'remove', 'find'),
    dice: array(nat(), { minLength: 6, maxLength: 6 }),
  }),
  { minLength: 1, maxLength: 40 },
)

/** A tenant with a template and a key, so that the following steps find something in force. */
const BEGINNING: readonly Step[] = (['Plan', 'Tenant', 'Template', 'ApiKey'] as const).map((kind) => ({
  kind,
  name: 'one',
  verb: 'put',
  dice: [0, 0, kind === 'ApiKey' ? 2 : 0, 0, 0, 0],
}))

function pick<Value>(values: readonly Value[], dice = 0): Value {
  return values[dice % values.length] as Value
}

/** The resources and facts after the steps. */
function openWorld() {
  const resources = new Map<string, Resource>()
  const facts = {
    configMaps: new Map<string, { readonly data: Readonly<Record<string, string>> }>(),
    foundKeys: new Map<Uid, FoundKey>(),
    webhookSecrets: new Map<Uid, FoundSecret>(),
    accountRefusals: new Map<Uid, Finding>(),
    checks: new Map<string, readonly CheckFault[]>(),
  }
  let births = 0
  return {
    facts,
    resources,
    /** Returns the uids that are affected. */
    take({ kind, name, verb, dice }: Step, now: number): readonly Uid[] {
      const place = `${kind} ${name}`
      const before = resources.get(place)
      if (verb === 'remove' || (verb === 'renew' && before !== undefined)) resources.delete(place)
      if (verb === 'find') find(facts, { of: before, dice, now })
      if (verb === 'put' || verb === 'renew') {
        const kept = verb === 'put' ? before?.metadata : undefined
        const uid = kept?.uid ?? (`${place} ${births++}` as Uid)
        const generation = (kept?.generation ?? 0) + 1
        const createdAt = kept?.createdAt ?? pick([0, 1, 2], dice[5])
        const resource = resourceOf(kind, { name, uid, generation, createdAt }, dice)
        resources.set(place, resource)
        if (resource.kind === 'Template')
          for (const [key, { source }] of checkRequestsOf([resource], facts.configMaps))
            facts.checks.set(key, source.reactPdf === BROKEN ? [{ engine: 'react_pdf', message: 'is broken' }] : [])
      }
      const after = resources.get(place)
      return [...new Set([before, after].flatMap((each) => each?.metadata.uid ?? []))]
    },
  }
}

type World = ReturnType<typeof openWorld>

interface Find {
  readonly of: Resource | undefined
  readonly dice: readonly number[]
  readonly now: number
}

function find({ foundKeys, webhookSecrets, accountRefusals }: World['facts'], { of, dice, now }: Find): void {
  if (of?.kind === 'ApiKey') {
    const hash = (digit: number | undefined) => pick(['a', 'b', 'c', 'd'], digit).repeat(64) as KeyHash
    const replaced = { hash: hash(dice[1]), until: now + 2 * STEP_MS }
    const found = pick<FoundKey>(
      [{ hash: hash(dice[0]) }, { hash: hash(dice[0]), replaced }, { fault: 'lost' }],
      dice[2],
    )
    foundKeys.set(of.metadata.uid, found)
  }
  if (of?.kind === 'Tenant') {
    const found = pick<FoundSecret>([{ current: 'sealed A' }, { current: 'sealed B' }, { fault: 'lost' }], dice[0])
    webhookSecrets.set(of.metadata.uid, found)
    if (pick([false, true], dice[1])) accountRefusals.set(of.metadata.uid, accountErased(of.metadata.account, 0))
    else accountRefusals.delete(of.metadata.uid)
  }
}

function resourceOf(
  kind: Step['kind'],
  metadata: Resource['metadata'] & { generation: number },
  dice: readonly number[],
): Resource {
  const tenantRef = { name: pick(['one', 'two', 'three'], dice[0]) }
  switch (kind) {
    case 'Plan':
      return aPlanResource({
        metadata,
        spec: pick([{}, { htmlEngineEnabled: true }, { htmlRateLimitPerMinute: 5 }], dice[0]),
      })
    case 'Tenant': {
      const prefix = pick([undefined, 'a/', 'a/b/', 'a/c/', 'one/', 'two/x/', 'manifest/'], dice[1])
      const overrides = pick(
        [undefined, { retentionDays: 3 }, { htmlRateLimitPerMinute: 5 }, { apiKeysMax: 1 }, { apiKeysMax: 2 }],
        dice[2],
      )
      const accountId = pick([undefined, undefined, 'x', 'y', 'Tenant one 0'], dice[5])
      return aTenantResource({
        metadata,
        spec: {
          ...(accountId !== undefined && { accountId }),
          planRef: { name: pick(['one', 'two'], dice[0]) },
          namespaces: pick([['team'], ['team', 'other'], []], dice[3]),
          suspend: pick([false, true], dice[4]),
          ...(prefix !== undefined && { storage: { prefix } }),
          ...(overrides !== undefined && { overrides }),
        },
      })
    }
    case 'Template': {
      const html = pick([undefined, { template: { inline: '<p>' } }], dice[3])
      return aTemplateResource({
        metadata: { ...metadata, namespace: pick(['team', 'team', 'other'], dice[1]) },
        spec: {
          tenantRef,
          code: pick(['x', 'y'], dice[2]),
          published: pick([true, true, false], dice[4]),
          reactPdf: { source: { inline: pick(['good', 'better', BROKEN, ' '], dice[5]) } },
          ...(html !== undefined && { html }),
        },
      })
    }
    case 'ApiKey': {
      const key = pick([{ sha256: aKeyHash('a') }, { sha256: aKeyHash('b') }, { secretName: 'key' }], dice[2])
      const expiresAt = pick([undefined, 0, 2 * STEP_MS, 9 * STEP_MS], dice[4])
      const spec = {
        tenantRef,
        suspended: pick([false, true], dice[3]),
        ...key,
        ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
      }
      return anApiKeyResource({ metadata: { ...metadata, namespace: pick(['team', 'team', 'other'], dice[1]) }, spec })
    }
  }
}

const OPTIONS = { defaults: DEFAULT_LIMITS, serviceBucket: 'platen' }

function summaryOf(outcomes: readonly CompileResult<Resource, unknown>[]) {
  const summaries = outcomes.map(({ resource, conditions, settings }) => [
    resource.metadata.uid,
    { conditions, settings },
  ])
  return Object.fromEntries(summaries)
}

/** Equal for both, in any order. */
function contentOf({ tenants, keys, templates }: Compiled['snapshot']) {
  return { tenants: new Map(tenants), keys: new Map(keys), templates: new Map(templates) }
}

describe('a compilation', () => {
  test('gives after each change what compiling everything gives', () => {
    assert(
      property(steps, (taken) => {
        const world = openWorld()
        const compilation = openCompilation({ ...OPTIONS, facts: world.facts, previous: NO_PREVIOUS })
        let whole: Compiled | undefined
        let last: ReturnType<typeof summaryOf> = {}
        for (const [at, step] of [...BEGINNING, ...taken].entries()) {
          const now = at * STEP_MS
          const uids = world.take(step, now)
          const byUid = new Map([...world.resources.values()].map((resource) => [resource.metadata.uid, resource]))
          const changes = uids.map((uid) => ({ uid, ...(byUid.has(uid) && { resource: byUid.get(uid) as Resource }) }))
          const { changed, settingsChanged } = compilation.update(changes, now)
          // Everything due has been done, so the next due time is in the future.
          expect(compilation.nextDueAt() ?? Number.POSITIVE_INFINITY).toBeGreaterThan(now)
          const resources = [...byUid.values()]
          whole = compile({ ...OPTIONS, ...world.facts, resources, now, ...(whole && { previous: whole }) })
          const expected = summaryOf(resultsOf(whole))
          expect(
            summaryOf(
              resources.map(({ metadata }) => compilation.resultOf(metadata.uid) as CompileResult<Resource, unknown>),
            ),
          ).toEqual(expected)
          expect(contentOf(compilation.settings())).toEqual(contentOf(whole.snapshot))
          const isDifferent = (name: string) => JSON.stringify(last[name]) !== JSON.stringify(expected[name])
          const different = [...new Set([...Object.keys(last), ...Object.keys(expected)])].filter(isDifferent)
          expect(new Set(changed)).toEqual(new Set(different))
          const isResettled = (name: string) =>
            JSON.stringify(last[name]?.settings) !== JSON.stringify(expected[name]?.settings)
          expect(new Set(settingsChanged)).toEqual(new Set(different.filter(isResettled)))
          last = expected
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('shares what did not change with what was before', () => {
    const world = openWorld()
    const compilation = openCompilation({ ...OPTIONS, facts: world.facts, previous: NO_PREVIOUS })
    for (const step of BEGINNING) world.take(step, 0)
    const all = [...world.resources.values()]
    compilation.update(
      all.map((resource) => ({ uid: resource.metadata.uid, resource })),
      0,
    )
    const before = compilation.settings()
    const key = world.resources.get('ApiKey one')
    if (key?.kind !== 'ApiKey') throw new Error('there is no such key')
    const renamed = { ...key, spec: { ...key.spec, description: 'of nobody in particular' } }
    compilation.update([{ uid: key.metadata.uid, resource: renamed }], 0)
    expect(compilation.settings()).toEqual(before)
    const found = { hash: 'e'.repeat(64) as KeyHash }
    world.facts.foundKeys.set(key.metadata.uid, found)
    compilation.update([{ uid: key.metadata.uid, resource: renamed }], 0)
    const { tenants, keys, templates } = compilation.settings()
    expect([...keys.keys()]).toEqual([found.hash])
    expect(tenants).toBe(before.tenants)
    expect(templates).toBe(before.templates)
  })

  test('compiles of many keys of a tenant none but those that a change concerns', () => {
    const facts = { configMaps: new Map(), checks: new Map(), webhookSecrets: new Map(), foundKeys: new Map() }
    const compilation = openCompilation({ ...OPTIONS, facts, previous: NO_PREVIOUS })
    const keys = Array.from({ length: API_KEYS_MAX + 50 }, (_, i) =>
      anApiKeyResource({
        metadata: { name: `key-${i}`, createdAt: i },
        spec: { sha256: `sha256:${`${i}`.padStart(64, '0')}` },
      }),
    )
    const [first, second, ...others] = keys as [ApiKeyResource, ApiKeyResource, ...ApiKeyResource[]]
    const put = (...resources: readonly Resource[]) =>
      compilation.update(
        resources.map((resource) => ({ uid: resource.metadata.uid, resource })),
        0,
      )
    const outcomes = () => others.map(({ metadata }) => compilation.resultOf(metadata.uid))
    put(aPlanResource(), aTenantResource(), second, ...others)
    const before = outcomes()
    put({ ...second, spec: { ...second.spec, suspend: true } })
    expect(outcomes().filter((outcome, i) => outcome !== before[i])).toEqual([])
    // The oldest key arrives and pushes one key over the limit. Then the oldest is removed, and that key is back.
    const { settingsChanged } = put(first)
    expect([...settingsChanged]).toEqual([first.metadata.uid, keys[API_KEYS_MAX]?.metadata.uid])
    expect(outcomes().filter((outcome, i) => outcome !== before[i])).toHaveLength(1)
    expect(compilation.update([{ uid: first.metadata.uid }], 0).settingsChanged).toEqual(settingsChanged)
    expect(compilation.settings().keys.size).toBe(API_KEYS_MAX)
  })

  test('accepts as many templates of a tenant as it may have, and the next one when one of them goes', () => {
    const checks = new Map<string, readonly []>()
    const facts = { configMaps: new Map(), checks, webhookSecrets: new Map(), foundKeys: new Map() }
    const compilation = openCompilation({ ...OPTIONS, facts, previous: NO_PREVIOUS })
    const templates = Array.from({ length: TEMPLATES_MAX + 1 }, (_, i) =>
      aTemplateResource({ metadata: { name: `template-${i}`, createdAt: i } }),
    )
    for (const key of checkRequestsOf(templates, new Map()).keys()) checks.set(key, [])
    const [first, last] = [templates[0], templates.at(-1)] as [TemplateResource, TemplateResource]
    const put = (...resources: readonly Resource[]) =>
      compilation.update(
        resources.map((resource) => ({ uid: resource.metadata.uid, resource })),
        0,
      )
    const served = () => compilation.settings().templates.get(last.spec.tenantRef.name as TenantId)?.size
    put(aPlanResource(), aTenantResource(), ...templates.slice(0, -2))
    expect(compilation.accepts(last)).toBe(true)
    put(...templates.slice(-2, -1))
    expect([compilation.accepts(last), compilation.accepts(first), served()]).toEqual([false, true, TEMPLATES_MAX])
    put(last)
    expect([compilation.accepts(last), served()]).toEqual([false, TEMPLATES_MAX])
    const { settingsChanged } = compilation.update([{ uid: first.metadata.uid }], 0)
    expect([...settingsChanged].toSorted()).toEqual([first.metadata.uid, last.metadata.uid].toSorted())
    expect([compilation.accepts(last), served()]).toEqual([true, TEMPLATES_MAX])
  })

  test('waits for no overlap of a key that has expired', () => {
    const key = anApiKeyResource({ spec: { secretName: 'key', expiresAt: '1970-01-01T00:00:01Z' } })
    const [hash, last] = ['a'.repeat(64) as KeyHash, 'b'.repeat(64) as KeyHash]
    const foundKeys = new Map([[key.metadata.uid, { hash, replaced: { hash: last, until: 5000 } }]])
    const facts = { configMaps: new Map(), checks: new Map(), webhookSecrets: new Map(), foundKeys }
    const compilation = openCompilation({ ...OPTIONS, facts, previous: NO_PREVIOUS })
    const changes = [aPlanResource(), aTenantResource(), key].map((resource) => ({
      uid: resource.metadata.uid,
      resource,
    }))
    compilation.update(changes, 0)
    expect(compilation.nextDueAt()).toBe(1000)
    compilation.update([], 1000)
    expect(compilation.nextDueAt()).toBeUndefined()
    expect([...compilation.settings().keys.keys()]).toEqual([hash])
  })
})
