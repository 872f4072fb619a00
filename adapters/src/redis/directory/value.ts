/**
 * Settings as the values of hashes. What comes from Redis was written by us, and is held against its shape all the same: one value
 * that is damaged must not stop a process, nor be served. What repeats over thousands of tenants is kept once.
 *
 * During a rollout the writer is of another version than the reader, older or newer. So a field that is missing reads as its default,
 * and a field that is not known is ignored. A publisher leaves a value alone that reads as what it would write.
 */
import type { JsonObject } from '@platen/contract/brand.ts'
import { canonicalJson } from '@platen/contract/canonical-json.ts'
import { openInternPool } from '@platen/contract/intern.ts'
import { type MappedShards, PersistentMap } from '@platen/contract/persistent-map.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { type Converter, compileConverter } from '@platen/contract/schema/validator.ts'
import {
  type ApiKey,
  DEFAULT_LIMITS,
  type KeyHash,
  type Limits,
  type Template,
  type TemplateCode,
  type Tenant,
  type TenantId,
  type WebhookSecret,
} from '@platen/contract/tenant.ts'

export const KINDS = ['tenants', 'keys', 'templates'] as const
export type Kind = (typeof KINDS)[number]

/** Values by name, of each kind. */
export type Values = Readonly<Record<Kind, PersistentMap<string, string>>>

/** Nothing of any kind. */
export const NO_VALUES: Values = {
  tenants: PersistentMap.of(),
  keys: PersistentMap.of(),
  templates: PersistentMap.of(),
}

/**
 * Spells snapshots as values. Equal settings have equal values. What a snapshot has in common with one before is not spelled again:
 * maps of settings, shards of tenants and keys, and single templates, of which each is large. The value in `standing` is taken where
 * it reads as the same setting: so it is in memory once, and nothing is published that differs only by fields of another version.
 */
export function valueWriter(stored: () => Values): (snapshot: DirectorySnapshot) => Values {
  const convert = openConverters()
  const spelledAnew = (kind: Kind, text: string) => {
    const value = converted(text, convert[kind])
    return value && canonicalJson(value)
  }
  const textOf = memoize<string>()
  const valuesOf = memoize<PersistentMap<string, string>>()
  const tenantShards: MappedShards<TenantId, Tenant, string> = new WeakMap()
  const keyShards: MappedShards<KeyHash, ApiKey, string> = new WeakMap()
  const serializer =
    <One extends object>(kind: Kind, spell: (one: One) => string) =>
    (one: One, name: string) => {
      const [text, stands] = [spell(one), stored()[kind].get(name)]
      return stands !== undefined && (stands === text || spelledAnew(kind, stands) === text) ? stands : text
    }
  const tenantText = serializer('tenants', serializeTenant)
  const keyText = serializer('keys', serializeKey)
  const templateText = serializer('templates', serializeTemplate)
  const named = (template: Template) => {
    const name = `${template.tenant}/${template.code}`
    return [name, textOf(template, () => templateText(template, name))] as const
  }
  return ({ tenants, keys, templates }) => ({
    tenants: valuesOf(tenants, () => persistent(tenants).map(tenantText, tenantShards)),
    keys: valuesOf(keys, () => persistent(keys).map(keyText, keyShards)),
    templates: valuesOf(templates, () =>
      PersistentMap.of(templates.values().flatMap((codes) => codes.values().map(named))),
    ),
  })
}

function persistent<Name extends string, Value>(map: ReadonlyMap<Name, Value>): PersistentMap<Name, Value> {
  return map instanceof PersistentMap ? map : PersistentMap.of(map)
}

function serializeTenant({ id: _id, ...value }: Tenant): string {
  return canonicalJson(value)
}

function serializeKey({ hash: _hash, ...value }: ApiKey): string {
  return canonicalJson(value)
}

/** The schema as a text of its own: few of them are ever looked at, and as a text it takes a fifth of the memory. */
function serializeTemplate({ tenant: _tenant, code: _code, variablesSchema, ...value }: Template): string {
  return canonicalJson({ ...value, variablesSchema: canonicalJson(variablesSchema) })
}

/** What was made of an object, for as long as there is the object. */
function memoize<Made>(): (of: object, make: () => Made) => Made {
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
  const convert = openConverters()
  const limits = openInternPool<Limits>(INTERNED_MAX)
  const names = openInternPool<string>(INTERNED_MAX)
  const nameOf = (text: string) => names(text, () => text)
  return {
    tenant(id, text) {
      const value = converted(text, convert.tenants)
      if (value === undefined) return undefined
      // Its shape has just been looked at, here and below.
      const tenant = value as unknown as Omit<Tenant, 'id'>
      const shared = limits(JSON.stringify(tenant.limits), () => tenant.limits)
      return { id: nameOf(id) as TenantId, ...tenant, limits: shared }
    },
    key(hash, text) {
      const value = converted(text, convert.keys)
      if (value === undefined || !/^[0-9a-f]{64}$/.test(hash)) return undefined
      const key = value as unknown as Omit<ApiKey, 'hash'>
      return { hash: hash as KeyHash, ...key, tenant: nameOf(key.tenant) as TenantId }
    },
    template(name, text) {
      const value = converted(text, convert.templates)
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

/** A value as this version writes it; undefined where it is damaged. */
function converted(text: string, convert: Converter): JsonObject | undefined {
  const value = objectIn(text)
  return value !== undefined && convert(value) ? value : undefined
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
const INTERNED_MAX = 100_000

function openConverters(): Readonly<Record<Kind, Converter>> {
  return { tenants: converterOf(TENANT), keys: converterOf(KEY), templates: converterOf(TEMPLATE) }
}

function converterOf(schema: object): Converter {
  let convert: Converter | undefined
  return (value) => {
    convert ??= compileConverter(schema)
    return convert(value)
  }
}

const TEXT = { type: 'string' }
const TEXTS = { type: 'array', items: TEXT }
const NUMBER = { type: 'number' }
const BOOLEAN = { type: 'boolean' }
const DIGEST = { type: 'string', pattern: '^[0-9a-f]{64}$' }

type Schemas = Readonly<Record<string, object>>

/** `founding` are the fields that every version has written: they alone are required, and there will never be another. */
function object(founding: Schemas, later: Schemas = {}): object {
  return { type: 'object', required: Object.keys(founding), properties: { ...founding, ...later } }
}

/** The schemas of all fields but `Founding`. A field that is added is missing here until it has a default, or is optional. */
export type LaterFields<Setting, Founding extends keyof Setting = never> = {
  readonly [Name in keyof Omit<Required<Setting>, Founding>]: Name extends OptionalOf<Setting>
    ? object
    : { readonly default: Setting[Name] }
}

type OptionalOf<Setting> = {
  [Name in keyof Setting]-?: Partial<Pick<Setting, Name>> extends Pick<Setting, Name> ? Name : never
}[keyof Setting]

/** Those without a default. What holds where one is absent, its field in `Limits` says. */
const OPTIONAL_LIMITS = {
  rateLimitPerMinute: NUMBER,
  tenantSyncRateLimitPerMinute: NUMBER,
  tenantAsyncRateLimitPerMinute: NUMBER,
  apiKeysMax: NUMBER,
  renderLimitMonthly: NUMBER,
} satisfies LaterFields<Pick<Limits, OptionalOf<Limits>>>

const LIMITS = object({}, { ...withDefaults(DEFAULT_LIMITS), ...OPTIONAL_LIMITS })

function withDefaults(defaults: object): Schemas {
  return Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, { type: typeof value, default: value }]),
  )
}

const STORAGE = object({ bucket: TEXT, prefix: TEXT })

const SECRET = object({ sealed: TEXT }, { until: NUMBER } satisfies LaterFields<WebhookSecret, 'sealed'>)

const TENANT = object({ incarnation: TEXT, limits: LIMITS, suspended: BOOLEAN, storage: STORAGE }, {
  suspendedReason: TEXT,
  webhookAllowCidrs: TEXTS,
  webhookSecrets: { type: 'array', items: SECRET },
} satisfies LaterFields<Tenant, 'id' | 'incarnation' | 'limits' | 'suspended' | 'storage'>)

const KEY = object({ tenant: TEXT, environment: { enum: ['live', 'test'] }, suspended: BOOLEAN }, {
  expiresAt: NUMBER,
} satisfies LaterFields<ApiKey, 'hash' | 'tenant' | 'environment' | 'suspended'>)

const ENGINE = { enum: ['react_pdf', 'html'] }

const TEMPLATE = object(
  { name: TEXT, version: NUMBER, variablesSchema: TEXT, digest: DIGEST, engines: { type: 'array', items: ENGINE } },
  { engine: ENGINE } satisfies LaterFields<
    Template,
    'tenant' | 'code' | 'name' | 'version' | 'variablesSchema' | 'digest' | 'engines'
  >,
)
