/**
 * Settings as the values of hashes. What comes from Redis was written by us, and is held against its shape all the same: one value
 * that is damaged must not stop a process, nor be served. What repeats over thousands of tenants is kept once.
 */
import type { JsonObject } from '@platen/contract/brand.ts'
import { canonicalJson } from '@platen/contract/canonical-json.ts'
import { keeper } from '@platen/contract/keeper.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { compileValidator, type Validator } from '@platen/contract/schema/validator.ts'
import { type MadeShards, ShardedMap } from '@platen/contract/sharded-map.ts'
import type { ApiKey, KeyHash, Limits, Template, TemplateCode, Tenant, TenantId } from '@platen/contract/tenant.ts'

export const KINDS = ['tenants', 'keys', 'templates'] as const
export type Kind = (typeof KINDS)[number]

/** Values by name, of each kind. */
export type Values = Readonly<Record<Kind, ShardedMap<string, string>>>

/** Nothing of any kind. */
export const NO_VALUES: Values = { tenants: ShardedMap.of(), keys: ShardedMap.of(), templates: ShardedMap.of() }

/**
 * Spells snapshots as values. Equal settings have equal values. What a snapshot has in common with one before is not spelled again:
 * maps of settings, shards of tenants and keys, and single templates, of which each is large. A value that `standing` has as well is
 * that one, so that it is kept once.
 */
export function valueWriter(standing: () => Values): (snapshot: DirectorySnapshot) => Values {
  const textOf = memory<string>()
  const valuesOf = memory<ShardedMap<string, string>>()
  const tenantShards: MadeShards<TenantId, Tenant, string> = new WeakMap()
  const keyShards: MadeShards<KeyHash, ApiKey, string> = new WeakMap()
  const spelling =
    <One extends object>(kind: Kind, spell: (one: One) => string) =>
    (one: One, name: string) => {
      const [text, stands] = [spell(one), standing()[kind].get(name)]
      return stands === text ? stands : text
    }
  const tenantText = spelling('tenants', spellTenant)
  const keyText = spelling('keys', spellKey)
  const templateText = spelling('templates', spellTemplate)
  const named = (template: Template) => {
    const name = `${template.tenant}/${template.code}`
    return [name, textOf(template, () => templateText(template, name))] as const
  }
  return ({ tenants, keys, templates }) => ({
    tenants: valuesOf(tenants, () => sharded(tenants).map(tenantText, tenantShards)),
    keys: valuesOf(keys, () => sharded(keys).map(keyText, keyShards)),
    templates: valuesOf(templates, () =>
      ShardedMap.of(templates.values().flatMap((codes) => codes.values().map(named))),
    ),
  })
}

function sharded<Name extends string, Value>(map: ReadonlyMap<Name, Value>): ShardedMap<Name, Value> {
  return map instanceof ShardedMap ? map : ShardedMap.of(map)
}

function spellTenant({ id: _id, ...value }: Tenant): string {
  return canonicalJson(value)
}

function spellKey({ hash: _hash, ...value }: ApiKey): string {
  return canonicalJson(value)
}

/** The schema as a text of its own: few of them are ever looked at, and as a text it takes a fifth of the memory. */
function spellTemplate({ tenant: _tenant, code: _code, variablesSchema, ...value }: Template): string {
  return canonicalJson({ ...value, variablesSchema: canonicalJson(variablesSchema) })
}

/** What was made of an object, for as long as there is the object. */
function memory<Made>(): (of: object, make: () => Made) => Made {
  const kept = new WeakMap<object, Made>()
  return (of, make) => {
    const found = kept.get(of)
    if (found !== undefined) return found
    const made = make()
    kept.set(of, made)
    return made
  }
}

export interface ValueReader {
  /** Each of them: the setting; undefined where the value is not of its shape. */
  tenant(id: string, text: string): Tenant | undefined
  key(hash: string, text: string): ApiKey | undefined
  template(name: string, text: string): Template | undefined
}

/** Reads values, and keeps what many of them have in common. */
export function valueReader(): ValueReader {
  const fits = { tenant: shaped(TENANT), key: shaped(KEY), template: shaped(TEMPLATE) }
  const limits = keeper<Limits>(KEPT_MAX)
  const names = keeper<string>(KEPT_MAX)
  const nameOf = (text: string) => names(text, () => text)
  return {
    tenant(id, text) {
      const value = parsed(text, fits.tenant)
      if (value === undefined) return undefined
      // Its shape has just been looked at, here and below.
      const tenant = value as unknown as Omit<Tenant, 'id'>
      const shared = limits(JSON.stringify(tenant.limits), () => tenant.limits)
      return { id: nameOf(id) as TenantId, ...tenant, limits: shared }
    },
    key(hash, text) {
      const value = parsed(text, fits.key)
      if (value === undefined || !/^[0-9a-f]{64}$/.test(hash)) return undefined
      const key = value as unknown as Omit<ApiKey, 'hash'>
      return { hash: hash as KeyHash, ...key, tenant: nameOf(key.tenant) as TenantId }
    },
    template(name, text) {
      const value = parsed(text, fits.template)
      const [, tenant, code] = /^([^/]+)\/([^/]+)$/.exec(name) ?? []
      if (value === undefined || tenant === undefined || code === undefined) return undefined
      const { variablesSchema, ...rest } = value as unknown as Omit<Template, 'tenant' | 'code' | 'variablesSchema'> & {
        readonly variablesSchema: string
      }
      if (objectIn(variablesSchema) === undefined) return undefined
      return withSchema({ tenant: nameOf(tenant) as TenantId, code: code as TemplateCode, ...rest }, variablesSchema)
    },
  }
}

/** A template that parses its schema when it is asked for. Who uses it keeps it, and is given the same one for as long. */
function withSchema(template: Omit<Template, 'variablesSchema'>, text: string): Template {
  let last: WeakRef<JsonObject> | undefined
  return {
    ...template,
    get variablesSchema() {
      const schema = last?.deref() ?? objectIn(text) ?? {}
      last = new WeakRef(schema)
      return schema
    },
  }
}

function parsed(text: string, fits: (value: JsonObject) => boolean): JsonObject | undefined {
  const value = objectIn(text)
  return value !== undefined && fits(value) ? value : undefined
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    // JSON.parse gives nothing but Json.
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** Far more than differ at a time. */
const KEPT_MAX = 100_000

function shaped(schema: object): (value: JsonObject) => boolean {
  let faultsOf: Validator | undefined
  return (value) => {
    faultsOf ??= compileValidator(schema)
    return faultsOf(value).length === 0
  }
}

const TEXT = { type: 'string' }
const TEXTS = { type: 'array', items: TEXT }
const NUMBER = { type: 'number' }
const BOOLEAN = { type: 'boolean' }
const DIGEST = { type: 'string', pattern: '^[0-9a-f]{64}$' }

/** Fields beyond those are a newer publisher's, and let be. */
function object(required: Readonly<Record<string, object>>, optional: Readonly<Record<string, object>> = {}): object {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } }
}

const LIMITS = object(
  {
    htmlEngineEnabled: BOOLEAN,
    htmlEngineRenderMultiplier: NUMBER,
    htmlRateLimitPerMinute: NUMBER,
    syncRateLimitPerMinute: NUMBER,
    asyncRateLimitPerMinute: NUMBER,
    renderTimeoutSeconds: NUMBER,
    retentionDays: NUMBER,
    asyncFairShare: NUMBER,
    javascriptEnabled: BOOLEAN,
  },
  {
    rateLimitPerMinute: NUMBER,
    tenantSyncRateLimitPerMinute: NUMBER,
    tenantAsyncRateLimitPerMinute: NUMBER,
    apiKeysMax: NUMBER,
    renderLimitMonthly: NUMBER,
  },
)

const TENANT = object(
  { incarnation: TEXT, limits: LIMITS, suspended: BOOLEAN, storage: object({ bucket: TEXT, prefix: TEXT }) },
  {
    suspendedReason: TEXT,
    webhookAllowCidrs: TEXTS,
    webhookSecrets: { type: 'array', items: object({ sealed: TEXT }, { until: NUMBER }) },
  },
)

const KEY = object({ tenant: TEXT, environment: { enum: ['live', 'test'] }, suspended: BOOLEAN }, { expiresAt: NUMBER })

const ENGINE = { enum: ['react_pdf', 'html'] }

const TEMPLATE = object(
  { name: TEXT, version: NUMBER, variablesSchema: TEXT, digest: DIGEST, engines: { type: 'array', items: ENGINE } },
  { engine: ENGINE },
)
