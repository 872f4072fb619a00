/**
 * Converts settings to the values of Redis hashes and back. We wrote the values ourselves, but validate them: one damaged value must
 * neither stop a process nor be served. Equal parts of thousands of tenants are in memory once.
 *
 * During an upgrade the writer may have another version than the reader. So a missing field reads as its default, and an unknown field is
 * ignored. A publisher keeps a stored value if it reads as the value that it would write.
 */

import { planSpecSchema } from '@platen/contract/domain/crd/plan.ts'
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
} from '@platen/contract/domain/tenant.ts'
import type { DirectorySettings } from '@platen/contract/port/directory.ts'
import { type Converter, compileConverter } from '@platen/contract/schema/validator.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { canonicalJson } from '@platen/lib/canonical-json.ts'
import { openLruCache } from '@platen/lib/lru-cache.ts'
import { type MappedShards, PersistentMap } from '@platen/lib/persistent-map.ts'

export const KINDS = ['tenants', 'keys', 'templates'] as const
export type Kind = (typeof KINDS)[number]

export type Values = Readonly<Record<Kind, PersistentMap<string, string>>>

export const NO_VALUES: Values = {
  tenants: PersistentMap.of(),
  keys: PersistentMap.of(),
  templates: PersistentMap.of(),
}

/**
 * Makes a function that serializes snapshots. Equal settings have equal values. It does not serialize again what a snapshot shares with an
 * earlier one: maps of settings, and shards of tenants and keys; and with the last one, single templates, which are large. Reuses the value
 * from `stored` if it reads as the same setting. So each value is in memory once, and a difference in fields of another version publishes
 * nothing.
 */
export function valueWriter(stored: () => Values): (snapshot: DirectorySettings) => Values {
  const convert = openConverters()
  const canonicalOf = (kind: Kind, text: string) => {
    const value = converted(text, convert[kind])
    return value && canonicalJson(value)
  }
  const valuesOf = memoize<PersistentMap<string, string>>()
  const tenantShards: MappedShards<TenantId, Tenant, string> = new WeakMap()
  const keyShards: MappedShards<KeyHash, ApiKey, string> = new WeakMap()
  const serializer =
    <One extends object>(kind: Kind, serialize: (one: One) => string) =>
    (one: One, name: string) => {
      const [text, previous] = [serialize(one), stored()[kind].get(name)]
      return previous !== undefined && (previous === text || canonicalOf(kind, previous) === text) ? previous : text
    }
  const tenantText = serializer('tenants', serializeTenant)
  const keyText = serializer('keys', serializeKey)
  const templateText = serializer('templates', serializeTemplate)
  let last: { readonly of: TemplateMap; readonly texts: Values['templates'] } = {
    of: PersistentMap.of(),
    texts: PersistentMap.of(),
  }
  const templateTexts = (templates: TemplateMap) => {
    const changes = changesOfTemplates(last.of, templates)
    const texts = last.texts.with(changes.map(([name, now]) => [name, now && templateText(now, name)]))
    last = { of: templates, texts }
    return texts
  }
  return ({ tenants, keys, templates }) => ({
    tenants: valuesOf(tenants, () => persistent(tenants).map(tenantText, tenantShards)),
    keys: valuesOf(keys, () => persistent(keys).map(keyText, keyShards)),
    templates: valuesOf(templates, () => templateTexts(persistent(templates))),
  })
}

type TemplateMap = PersistentMap<TenantId, ReadonlyMap<TemplateCode, Template>>

/** Yields each name that differs, with the template of `after`; undefined if there is none. Shared shards cost nothing. */
function* changesOfTemplates(
  before: TemplateMap,
  after: TemplateMap,
): Generator<readonly [string, Template | undefined]> {
  for (const [old, now] of before.differingShards(after)) {
    for (const tenant of new Set([...old.keys(), ...now.keys()])) {
      const [known, codes] = [old.get(tenant), now.get(tenant)]
      if (known === codes) continue
      for (const code of new Set([...(known?.keys() ?? []), ...(codes?.keys() ?? [])]))
        if (known?.get(code) !== codes?.get(code)) yield [[tenant, code].join('/'), codes?.get(code)]
    }
  }
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

/** Stores the schema as text: few schemas are ever used, and a text takes a fifth of the memory. */
function serializeTemplate({ tenant: _tenant, code: _code, variablesSchema, ...value }: Template): string {
  return canonicalJson({ ...value, variablesSchema: canonicalJson(variablesSchema) })
}

/** Caches the result for as long as the object lives. */
function memoize<Made>(): (of: object, make: () => Made) => Made {
  const cache = new WeakMap<object, Made>()
  return (of, make) => {
    const found = cache.get(of)
    if (found !== undefined) return found
    const made = make()
    cache.set(of, made)
    return made
  }
}

export interface ValueReader {
  /** Each method returns the setting; undefined if the value is damaged. */
  tenant(id: string, text: string): Tenant | undefined
  key(hash: string, text: string): ApiKey | undefined
  template(name: string, text: string): Template | undefined
}

/** Keeps equal parts of many settings in memory once. */
export function valueReader(): ValueReader {
  const convert = openConverters()
  const limits = openLruCache<Limits>(INTERNED_MAX)
  const names = openLruCache<string>(INTERNED_MAX)
  const nameOf = (text: string) => names.peek(text) ?? names.set(text, text)
  return {
    tenant(id, text) {
      const value = converted(text, convert.tenants)
      if (value === undefined) return undefined
      // The schema was just checked, here and below.
      const tenant = value as unknown as Omit<Tenant, 'id'>
      const limitsText = JSON.stringify(tenant.limits)
      const shared = limits.peek(limitsText) ?? limits.set(limitsText, tenant.limits)
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

/** Parses the schema when it is read. While somebody holds the schema, reads return the same object. */
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

/** Converts a value to this version; undefined if it is damaged. */
function converted(text: string, convert: Converter): JsonObject | undefined {
  const value = objectIn(text)
  return value !== undefined && convert(value) ? value : undefined
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    // JSON.parse only returns Json.
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** Far more than the number of different values at a time. */
const INTERNED_MAX = 100_000

function openConverters(): Readonly<Record<Kind, Converter>> {
  return { tenants: compileConverter(TENANT), keys: compileConverter(KEY), templates: compileConverter(TEMPLATE) }
}

const TEXT = { type: 'string' }
const TEXTS = { type: 'array', items: TEXT }
const NUMBER = { type: 'number' }
const BOOLEAN = { type: 'boolean' }
const DIGEST = { type: 'string', pattern: '^[0-9a-f]{64}$' }

type Schemas = Readonly<Record<string, object>>

/** `founding` are the fields that every version has written. Only these are required, and no new one can become required. */
function object(founding: Schemas, later: Schemas = {}): object {
  return { type: 'object', required: Object.keys(founding), properties: { ...founding, ...later } }
}

/** Schemas of all fields except `Founding`. A new field does not compile until it has a default or is optional. */
export type LaterFields<Setting, Founding extends keyof Setting = never> = {
  readonly [Name in keyof Omit<Required<Setting>, Founding>]: Name extends OptionalOf<Setting>
    ? object
    : { readonly default: Setting[Name] }
}

type OptionalOf<Setting> = {
  [Name in keyof Setting]-?: Partial<Pick<Setting, Name>> extends Pick<Setting, Name> ? Name : never
}[keyof Setting]

const LIMIT_TYPES = { boolean: BOOLEAN, integer: NUMBER, string: TEXT } as const

/** A limit has its type in a plan. Its range is not checked again. */
const LIMITS = object({}, limitSchemas(DEFAULT_LIMITS))

function limitSchemas(defaults: Readonly<Record<string, unknown>>): Schemas {
  const { displayName: _displayName, ...limits } = planSpecSchema.properties
  return Object.fromEntries(
    Object.entries(limits).map(([name, { type }]) => [
      name,
      { ...LIMIT_TYPES[type], ...(name in defaults && { default: defaults[name] }) },
    ]),
  )
}

const STORAGE = object({ bucket: TEXT, prefix: TEXT })

const SECRET = object({ sealed: TEXT }, { until: NUMBER } satisfies LaterFields<WebhookSecret, 'sealed'>)

const TENANT = object({ account: TEXT, limits: LIMITS, suspended: BOOLEAN, storage: STORAGE }, {
  suspendedReason: TEXT,
  webhookAllowCidrs: TEXTS,
  webhookSecrets: { type: 'array', items: SECRET },
} satisfies LaterFields<Tenant, 'id' | 'account' | 'limits' | 'suspended' | 'storage'>)

const KEY = object({ tenant: TEXT, environment: { enum: ['live', 'test'] }, suspended: BOOLEAN }, {
  expiresAt: NUMBER,
} satisfies LaterFields<ApiKey, 'hash' | 'tenant' | 'environment' | 'suspended'>)

const ENGINE = { enum: ['react_pdf', 'html'] }

const TEMPLATE = object(
  {
    name: TEXT,
    version: NUMBER,
    engine: ENGINE,
    variablesSchema: TEXT,
    digest: DIGEST,
    engines: { type: 'array', items: ENGINE },
  },
  { sample: DIGEST, strict: { const: true } } satisfies LaterFields<
    Template,
    'tenant' | 'code' | 'name' | 'version' | 'engine' | 'variablesSchema' | 'digest' | 'engines'
  >,
)
