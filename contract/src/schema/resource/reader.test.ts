import type { Json, JsonObject } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { type Kind, SPEC_SCHEMAS } from '../../domain/resource-spec.ts'
import { resourceReader } from './reader.ts'

const read = resourceReader()

const tenantRef = { name: 'acme' }
const sha256 = `sha256:${'0a'.repeat(32)}`
const reactPdf = { source: { inline: 'x' } }
const asset = { name: 'logo.png', inline: 'QUJD' }
const font = { family: 'Inter', asset: 'logo.png' }

/** The minimal spec of each kind. */
const LEAST: Readonly<Record<Kind, JsonObject>> = {
  Plan: {},
  Tenant: { planRef: { name: 'starter' } },
  Template: { tenantRef, reactPdf },
  ApiKey: { tenantRef, secretName: 'ci-key' },
}

/** Accepted and refused values of a field. `around` is the spec for it if the minimal one will not do. */
type Row = readonly [field: string, taken: readonly Json[], refused: readonly Json[], around?: JsonObject]

const NAMES = ['a', 'a-1.b', 'a'.repeat(253)]
const NO_NAMES = ['', 'A', '-a', 'a.', 'a_b', 'a'.repeat(254), 1]
const LABELS = ['a', 'team-1', 'a'.repeat(63)]
const NO_LABELS = ['', 'a.b', 'A', '-a', 'a'.repeat(64)]
const KEYS = ['x.html', '_X-1', 'a'.repeat(253)]
const NO_KEYS = ['', 'a/b', 'a b', 'a'.repeat(254)]
const TEXTS = ['', 'Zażółć', 'a'.repeat(500)]
const NO_TEXTS = ['a'.repeat(501), 1, null]
const BOOLEANS = [true, false]
const NO_BOOLEANS = ['true', 1, null]
const RATES = [0, 1, 1_000_000]
const NO_RATES = [-1, 1_000_001, 0.5, '60', null]
const SOURCES = ['x', 'a'.repeat(131_072)]
const NO_SOURCES = ['', 'a'.repeat(131_073), 1]
const PLAN_LIMITS: readonly Row[] = [
  ['htmlEngineEnabled', BOOLEANS, NO_BOOLEANS],
  ['htmlEngineRenderMultiplier', [1, 1000], [0, 1001, 1.5, '1']],
  ['rateLimitPerMinute', RATES, NO_RATES],
  ['syncRateLimitPerMinute', RATES, NO_RATES],
  ['asyncRateLimitPerMinute', RATES, NO_RATES],
  ['tenantSyncRateLimitPerMinute', RATES, NO_RATES],
  ['tenantAsyncRateLimitPerMinute', RATES, NO_RATES],
  ['apiKeysMax', [1, 1000], [0, 1001, 1.5, '50', null]],
  ['renderLimitMonthly', [0, 1_000_000_000_000], [-1, 1_000_000_000_001, 0.5]],
  ['renderTimeoutSeconds', [1, 120], [0, 121, 2.5]],
  ['retentionDays', [1, 3650], [0, 3651]],
  ['asyncFairShare', [1, 10_000], [0, 10_001]],
  ['requestData', ['Inline', 'Stored'], ['stored', '', true, null]],
  ['strict', BOOLEANS, NO_BOOLEANS],
  ['javascriptEnabled', BOOLEANS, NO_BOOLEANS],
]
const REFERENCE = { name: 'files', key: 'x.html' }
const referring = { configMapKeyRef: REFERENCE }
const reference = (place: string, around: JsonObject): readonly Row[] => [
  [place, [REFERENCE], [{ name: 'a' }, { key: 'a' }, { name: 'a', key: 'b', optional: true }, 'a'], around],
  [`${place}.name`, NAMES, NO_NAMES, around],
  [`${place}.key`, KEYS, NO_KEYS, around],
]
const source = (place: string, around: (source: JsonObject) => JsonObject): readonly Row[] => [
  [
    place,
    [referring, { inline: 'x' }],
    [{}, { inline: 'x', ...referring }, { url: 'https://a.example' }, 'x'],
    around({}),
  ],
  [`${place}.inline`, SOURCES, NO_SOURCES, around({})],
  ...reference(`${place}.configMapKeyRef`, around(referring)),
]
const html = { tenantRef, engine: 'Html', html: { template: { inline: 'x' } } }
const hook = { ...LEAST.Tenant, webhookSecretRef: { namespace: 'team-acme', name: 'hook', key: 'secret' } }
const sized = { ...LEAST.Template, options: { pageSize: { width: 100, height: 100 } } }
const sided = { ...LEAST.Template, options: { margin: { top: 0 } } }
const withAsset = { ...LEAST.Template, assets: [asset] }
const withFont = { ...withAsset, fonts: [font] }
const within = (rows: readonly Row[], place: string): readonly Row[] =>
  rows.map(([field, taken, refused]) => [`${place}.${field}`, taken, refused])

/** A row for each field: the values accepted and refused there or below. */
const FIELDS: Readonly<Record<Kind, readonly Row[]>> = {
  Plan: [['displayName', TEXTS, NO_TEXTS], ['htmlRateLimitPerMinute', [0], NO_RATES], ...PLAN_LIMITS],
  Tenant: [
    [
      'accountId',
      ['acme', '6f9f6c1e-2b0c-4e8e-9d6a-0f6b8f0d7c11', 'a'.repeat(63)],
      ['', 'Acme', 'a/b', 'a:b', '-a', 'a'.repeat(64)],
    ],
    ['planRef', [], [{}, 'starter', null, { name: 'a', namespace: 'b' }]],
    ['planRef.name', NAMES, NO_NAMES],
    ['displayName', TEXTS, NO_TEXTS],
    ['suspend', BOOLEANS, NO_BOOLEANS],
    ['suspendReason', TEXTS, NO_TEXTS],
    ['overrides', [], [{}, null, { displayName: 'a' }, { htmlEngineEnable: true }]],
    ...within([['htmlRateLimitPerMinute', RATES, NO_RATES], ...PLAN_LIMITS], 'overrides'),
    [
      'namespaces',
      [[], LABELS, Array.from({ length: 64 }, (_, at) => `n${at}`)],
      [
        ['a', 'a'],
        ['A'],
        'a',
        [1],
        Array.from({ length: 65 }, (_, at) => `n${at}`),
        ...NO_LABELS.map((name) => [name]),
      ],
    ],
    ['storage', [{}], [{ region: 'eu' }, null]],
    ['storage.bucket', ['abc', 'a-1.b', 'a'.repeat(63)], ['ab', 'A-b', '-ab', 'a/b', 'a'.repeat(64)]],
    [
      'storage.prefix',
      ['a/', 'a/B_1.x/', `${'a'.repeat(255)}/`],
      ['', '/', 'a', '/a/', 'a//b/', '../../', 'a/../', '../', '.hidden/', 'a b/', `${'a'.repeat(256)}/`],
    ],
    ['webhooks', [{}], [{ retries: 1 }, null]],
    [
      'webhooks.allowCidrs',
      [[], ['0.0.0.0/0', '10.0.0.0/8', '192.168.1.1/32', '::/0', 'fd00::/8', 'FE80::1/128']],
      [
        ['10.0.0.0'],
        ['10.0.0.0/33'],
        ['10.0.0.0/08'],
        ['10.0.0.1/8'],
        ['fd00::1/64'],
        ['10.0.0/8'],
        ['010.0.0.0/8'],
        ['256.0.0.0/8'],
        ['::/129'],
        ['fd00::1::/64'],
        ['fd00:/8'],
        [':/0'],
        ['[::1]/128'],
        ['example.com/8'],
        ['::ffff:10.0.0.1/128'],
        ['0:0:0:0:0:ffff:0:0/96'],
        ['10.0.0.0/8', '10.0.0.0/8'],
        Array.from({ length: 33 }, (_, at) => `10.0.${at}.0/24`),
      ],
    ],
    [
      'webhookSecretRef',
      [{ namespace: 'team-acme', name: 'hook', key: 'secret' }],
      [{}, { name: 'a', key: 'b' }, { namespace: 'a', name: 'a' }, { namespace: 'a', key: 'b' }],
    ],
    ['webhookSecretRef.namespace', LABELS, NO_LABELS, hook],
    ['webhookSecretRef.name', NAMES, NO_NAMES, hook],
    ['webhookSecretRef.key', KEYS, NO_KEYS, hook],
    ['deletionPolicy', ['Retain', 'Delete'], ['retain', '', null]],
  ],
  Template: [
    ['tenantRef', [], [{}, 'acme', { name: 'acme', namespace: 'a' }]],
    ['tenantRef.name', LABELS, NO_LABELS],
    ['code', ['a', 'a_b-c1', 'a'.repeat(128)], ['', 'A', 'a__b', '-a', 'a-', 'a.b', 'a'.repeat(129)]],
    ['displayName', ['Rechnung №1', 'a'.repeat(200)], ['', 'a'.repeat(201), 1]],
    ['version', [1, Number.MAX_SAFE_INTEGER], [0, -1, 1.5, '1', 2 ** 53]],
    ['published', BOOLEANS, NO_BOOLEANS],
    ['engine', ['ReactPdf'], ['Html', 'react_pdf', '', null]],
    ['engine', ['Html'], ['ReactPdf', 'html'], html],
    ['variablesSchema', [{}, { type: 'object', 'x-anything': null }], [true, [], 'object']],
    ['reactPdf', [], [{}, { source: { inline: 'x' }, template: 'x' }]],
    ...source('reactPdf.source', (source) => ({ tenantRef, reactPdf: { source } })),
    ['html', [{ template: { inline: '<p>' } }], [{}, { header: { inline: '<p>' } }, { template: '<p>' }]],
    ...['template', 'header', 'footer'].flatMap((part) =>
      source(`html.${part}`, (source) => ({ ...html, html: { ...html.html, [part]: source } })),
    ),
    ['strict', BOOLEANS, NO_BOOLEANS],
    ['html.javascriptEnabled', BOOLEANS, NO_BOOLEANS, html],
    ['options', [{}], [{ filename: 'a.pdf' }, { page_size: 'A4' }, null]],
    ['locale', ['pl', 'pl-PL', 'zh-Hant-TW'], ['', 'p', 'pl_PL', 'en-', 'a-b', 7]],
    ['options.pageSize', ['A3', 'Letter', { width: 28, height: 14_400 }], ['A7', 'LETTER', { width: 100 }, 595]],
    ['options.pageSize.width', [28, 14_400], [27, 14_401, '100'], sized],
    ['options.pageSize.height', [28, 14_400], [27, 14_401, '100'], sized],
    ['options.orientation', ['Portrait', 'Landscape'], ['portrait', 90]],
    ['options.margin', [0, 36, '12mm', '1.5in', {}], [-1, '12', '12 mm', 14_401, { inner: 1 }]],
    ...['top', 'right', 'bottom', 'left'].map(
      (side): Row => [`options.margin.${side}`, [0, '1cm'], [-1, '1em'], sided],
    ),
    [
      'assets',
      [[], [asset], [asset, { name: 'b', configMapKeyRef: { name: 'files', key: 'b.ttf' } }]],
      [
        [{ name: 'a' }],
        [{ inline: 'QUJD' }],
        [{ ...asset, configMapKeyRef: { name: 'a', key: 'b' } }],
        [asset, asset],
        [{ ...asset, url: 'https://a.example/logo.png' }],
        [
          { name: 'a', inline: 'A'.repeat(65_536) },
          { name: 'b', inline: 'A'.repeat(65_540) },
        ],
        Array.from({ length: 65 }, (_, at) => ({ ...asset, name: `a${at}` })),
      ],
    ],
    ['assets.name', ['a', 'Logo_1.x-2.png', 'a'.repeat(63)], ['', '.png', 'a/b.png', 'ą', 'a'.repeat(64)], withAsset],
    [
      'assets.inline',
      ['QUI=', 'QQ==', 'A'.repeat(131_072)],
      ['', 'QUI', 'Q===', 'QU-_', 'QUJD\n', 'A'.repeat(131_076)],
      withAsset,
    ],
    ...reference('assets.configMapKeyRef', { ...LEAST.Template, assets: [{ name: 'a', ...referring }] }),
    [
      'fonts',
      [[], [font], [font, { ...font, weight: 700 }, { ...font, style: 'Italic' }]],
      [
        [{ family: 'a' }],
        [{ asset: 'logo.png' }],
        [{ ...font, asset: 'b' }],
        [font, font],
        [font, { ...font, weight: 400, style: 'Normal' }],
        Array.from({ length: 65 }, (_, at) => ({ ...font, family: `f${at}` })),
      ],
      withAsset,
    ],
    ['fonts.family', ['Noto Sans', 'a'.repeat(100)], ['', 'a'.repeat(101)], withFont],
    ['fonts.weight', [1, 1000], [0, 1001, 'bold'], withFont],
    ['fonts.style', ['Normal', 'Italic'], ['italic'], withFont],
    ['fonts.asset', ['logo.png'], ['other.png'], withFont],
    ['egress', [{}], [{ hosts: [] }, null]],
    [
      'egress.allowedHosts',
      [[], ['img.example.com'], Array.from({ length: 32 }, (_, at) => `h${at}.example`)],
      [
        ['https://a.example'],
        ['a.example:443'],
        ['*.example'],
        ['A.example'],
        ['a', 'a'],
        Array.from({ length: 33 }, (_, at) => `h${at}`),
      ],
    ],
    ['sampleData', [{}, { any: [null] }], [[], 'x', null]],
  ],
  ApiKey: [
    ['tenantRef', [], [{}, 'acme']],
    ['tenantRef.name', LABELS, NO_LABELS],
    ['environment', ['Live', 'Test'], ['live', '']],
    ['secretName', NAMES, NO_NAMES],
    ['sha256', [sha256], [`${sha256}0`, sha256.toUpperCase(), sha256.slice(7), ''], { tenantRef }],
    ['description', TEXTS, NO_TEXTS],
    [
      'expiresAt',
      ['2027-01-31T23:59:59.5+01:00', '2028-02-29T00:00:00Z'],
      ['2026-02-30T00:00:00Z', '2026-12-31T23:59:60Z', '2026-01-01 00:00:00Z', '2026-01-01', 'soon', 1],
    ],
    ['suspend', BOOLEANS, NO_BOOLEANS],
    ['overlapHours', [0, 720], [-1, 721, 0.5, '24']],
  ],
}

function manifest(kind: Kind, spec: JsonObject): JsonObject {
  return { apiVersion: 'platen.dev/v1alpha1', kind, metadata: { name: 'one' }, spec }
}

/** The faults of a manifest, as `path message`. */
function faultsOf(value: JsonObject): readonly string[] {
  const result = read(value)
  return 'faults' in result ? result.faults.map(({ path, message }) => `${path} ${message}`) : []
}

/** The spec with a value at a path; in a list, in its first item. */
function put(spec: JsonObject, [first = '', ...rest]: readonly string[], value: Json): JsonObject {
  const inner = spec[first]
  if (rest.length === 0) return { ...spec, [first]: value }
  // A path is as deep as the surrounding spec, or leads into an object that is not there yet.
  if (Array.isArray(inner)) return { ...spec, [first]: [put(inner[0] as JsonObject, rest, value), ...inner.slice(1)] }
  return { ...spec, [first]: put((inner ?? {}) as JsonObject, rest, value) }
}

const rows = Object.entries(FIELDS).flatMap(([kind, fields]) =>
  // Its keys are kinds.
  fields.map((row) => [kind as Kind, ...row] as const),
)

describe('each field', () => {
  test.for(rows)('%s %s', ([kind, field, taken, refused, around]) => {
    const faultsWith = (value: Json) => faultsOf(manifest(kind, put(around ?? LEAST[kind], field.split('.'), value)))
    // Shortened, because some have the maximum length.
    const shown = (values: readonly Json[]) => values.map((value) => JSON.stringify(value).slice(0, 100))
    expect(shown(taken.filter((value) => faultsWith(value).length > 0))).toEqual([])
    expect(shown(refused.filter((value) => faultsWith(value).length === 0))).toEqual([])
    expect(refused.length).toBeGreaterThan(0)
  })

  test.for(Object.keys(FIELDS))('of a %s has a row', (kind) => {
    const named = new Set(rows.filter(([of]) => of === kind).map(([, field]) => field))
    // Its keys are kinds.
    expect(fieldsOf(SPEC_SCHEMAS[kind as Kind]).filter((field) => !named.has(field))).toEqual([])
  })
})

/** Every field below a schema, as `storage.prefix`; for a list, those of its items. */
function fieldsOf(schema: unknown, place = ''): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return []
  if ('anyOf' in schema && Array.isArray(schema.anyOf)) return schema.anyOf.flatMap((branch) => fieldsOf(branch, place))
  if ('items' in schema) return fieldsOf(schema.items, place)
  if (!('properties' in schema)) return []
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => [
    `${place}${name}`,
    ...fieldsOf(inner, `${place}${name}.`),
  ])
}

describe('around the spec', () => {
  const named = (kind: Kind, metadata: JsonObject) => faultsOf({ ...manifest(kind, LEAST[kind]), metadata })

  test.for<[Kind, JsonObject, string | undefined]>([
    ['Plan', { name: 'a.b' }, undefined],
    ['Tenant', { name: 'a'.repeat(63) }, undefined],
    ['Tenant', { name: 'a'.repeat(64) }, '/metadata/name must have at most 63 characters'],
    ['Tenant', { name: 'a.b' }, '/metadata/name does not have the required form'],
    ['Tenant', { name: 'acme', namespace: 'default' }, '/metadata/namespace is not a known field'],
    ['Plan', { name: 'acme', namespace: 'default' }, '/metadata/namespace is not a known field'],
    ['Template', { name: 'a', namespace: 'a'.repeat(64) }, '/metadata/namespace must have at most 63 characters'],
    ['Template', { name: 'a.b' }, '/spec/code is required, because metadata.name is not a valid template code'],
    ['ApiKey', { name: 'a.b', namespace: 'team-acme', labels: { a: 'b' }, annotations: { a: 'b' } }, undefined],
    ['ApiKey', { labels: {} }, '/metadata/name is required'],
    ['ApiKey', { name: 'a', labels: { a: 1 } }, '/metadata/labels/a must be string'],
    ['ApiKey', { name: 'a', uid: 'x' }, '/metadata/uid is not a known field'],
  ])('%s %j: %s', ([kind, metadata, fault]) => {
    expect(named(kind, metadata)).toEqual(fault === undefined ? [] : [fault])
  })

  test.for(['Deployment', 'constructor', '__proto__', ''])('a kind of %j is refused', (kind) => {
    expect(faultsOf({ ...manifest('Plan', {}), kind })).toEqual([
      '/kind must be one of Plan, Tenant, Template, ApiKey, ConfigMap, Secret',
    ])
  })

  test('an Erasure is refused with what to use instead', () => {
    const spec = { tenantRef: { name: 'acme' }, allRenders: true }
    expect(faultsOf({ ...manifest('Plan', spec), kind: 'Erasure' })).toEqual([
      '/kind is an order to a cluster, not a setting: use platen erase',
    ])
  })

  test.for([
    [{ apiVersion: 'platen.dev/v1' }, '/apiVersion must be one of "platen.dev/v1alpha1"'],
    [{ status: {} }, '/status is not a known field'],
    [{ spec: null }, '/spec must be object'],
  ] as const)('%j: %s', ([fields, fault]) => {
    expect(faultsOf({ ...manifest('Plan', {}), ...fields })).toEqual([fault])
  })

  test('a ConfigMap and a Secret may stand beside the four', () => {
    const metadata = { name: 'sources', namespace: 'team-acme', labels: { a: 'b' } }
    expect(read({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'a.tsx': 'x' } })).toHaveProperty('written')
    expect(read({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { key: 'x' } })).toHaveProperty('written')
    expect(faultsOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 1 } })).toEqual([
      '/data/a must be string',
    ])
  })
})
