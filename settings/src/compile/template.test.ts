import { SAMPLE_BYTES_MAX, TEMPLATE_SOURCE_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { CONDITION_REASONS, type ConditionType, type TemplateResource } from '@platen/contract/domain/resource.ts'
import type { CheckFault } from '@platen/contract/domain/template-check.ts'
import { DEFAULT_LIMITS, TEMPLATES_MAX, type TemplateCode, type TenantId } from '@platen/contract/domain/tenant.ts'
import { describe, expect, test } from 'vitest'
import { aPlanResource, aTemplateResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { type Compiled, compile } from '../compilation/compile.ts'
import { type StoredSources, sourcesOf } from '../publish/store-source.ts'
import type { ConfigMaps } from './source.ts'
import { ASSETS_BYTES_MAX } from './source.ts'
import { checkRequestsOf, digestSource } from './template.ts'

const ACME = 'acme' as TenantId

interface Given {
  readonly configMaps?: ConfigMaps
  /** Faults that the check finds, by the template's react_pdf source. */
  readonly faults?: Readonly<Record<string, readonly CheckFault[]>>
  readonly previous?: CompiledAndStored
}

/** With the sources that are in the artifact store by then. */
type CompiledAndStored = Compiled & StoredSources

function compiled(templates: readonly TemplateResource[], given: Given = {}): CompiledAndStored {
  const { configMaps = new Map(), faults = {}, previous } = given
  const requests = checkRequestsOf(templates, configMaps)
  const stored = templates.flatMap((template) => {
    const { digested, request } = digestSource(template, configMaps)
    return 'digest' in digested && request ? [sourcesOf(template, { digest: digested.digest, request })] : []
  })
  const result = compile({
    resources: [aPlanResource(), aTenantResource(), ...templates],
    configMaps,
    foundKeys: new Map(),
    webhookSecrets: new Map(),
    now: 0,
    checks: new Map([...requests].map(([key, { source }]) => [key, faults[source.reactPdf ?? ''] ?? []])),
    defaults: DEFAULT_LIMITS,
    serviceBucket: 'platen',
    ...(previous && { previous }),
  })
  return {
    ...result,
    sources: new Map([...(previous?.sources ?? []), ...stored.flatMap(({ sources }) => [...sources])]),
    assets: new Map([...(previous?.assets ?? []), ...stored.flatMap(({ assets }) => [...assets])]),
  }
}

/** The published templates as `code: source`. */
function published({ snapshot, sources = new Map() }: Compiled & Partial<StoredSources>): readonly string[] {
  const templates = [...(snapshot.templates.get(ACME)?.values() ?? [])]
  return templates.map(({ code, digest }) => `${code}: ${sources.get(digest)?.reactPdf}`)
}

function condition(result: Compiled, { metadata }: TemplateResource, type: ConditionType) {
  return result.templates.get(metadata.uid)?.conditions.find((candidate) => candidate.type === type)
}

const inline = (text: string) => ({ source: { inline: text } })
const BROKEN = { broken: [{ engine: 'react_pdf', message: 'template.tsx:1:1: broken is not defined' }] } as const
const good = aTemplateResource({ spec: { reactPdf: inline('good') } })
const broken = aTemplateResource({ spec: { reactPdf: inline('broken') } })

describe('a template', () => {
  test('whose spec nests without end is refused by name, and costs no other anything', () => {
    const nested = JSON.parse(`{"a":${'['.repeat(6000)}${']'.repeat(6000)}}`)
    const spec = { reactPdf: inline('good') }
    const deep = ['sampleData', 'variablesSchema'].map((field) =>
      aTemplateResource({ metadata: { name: `deep-${field.toLowerCase()}` }, spec: { ...spec, [field]: nested } }),
    )
    const result = compiled([good, ...deep])
    expect(published(result)).toEqual(['invoice: good'])
    for (const each of deep)
      expect(condition(result, each, 'SourceResolved')).toMatchObject({ status: 'False', reason: 'NestedTooDeep' })
  })

  test('has its sample data stored as canonical JSON, unless that is larger than callers are shown', () => {
    const sampleOf = (sampleData: Record<string, string | number>) => {
      const template = aTemplateResource({ spec: { reactPdf: inline('good'), sampleData } })
      const { snapshot, assets } = compiled([template])
      const [sample] = [...(snapshot.templates.get(ACME)?.values() ?? [])].map((published) => published.sample)
      return sample && Buffer.from(assets.get(sample) ?? '').toString()
    }
    expect(sampleOf({ b: 1, a: 2 })).toBe('{"a":2,"b":1}')
    const ofBytes = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })
    expect(sampleOf(ofBytes(SAMPLE_BYTES_MAX))).toHaveLength(SAMPLE_BYTES_MAX)
    expect(sampleOf(ofBytes(SAMPLE_BYTES_MAX + 1))).toBeUndefined()
  })

  test('in which the compiler has a defect says so, and affects no other', () => {
    const other = aTemplateResource({ metadata: { name: 'other' }, spec: { reactPdf: inline('other') } })
    Object.defineProperty(other.spec, 'published', {
      get() {
        throw new TypeError('nobody has thought of this')
      },
    })
    const result = compiled([other, good])
    expect(published(result)).toEqual(['invoice: good'])
    expect(condition(result, other, 'Ready')).toMatchObject({
      status: 'False',
      message: 'it could not be compiled: nobody has thought of this',
    })
  })

  test('has the hosts it lists in its source, and another digest with others, but not in another order', () => {
    const listing = (...allowedHosts: string[]) => {
      const result = compiled([aTemplateResource({ spec: { reactPdf: inline('good'), egress: { allowedHosts } } })])
      return [...result.sources].map(([digest, source]) => ({ digest, hosts: source.allowedHosts }))[0]
    }
    expect(listing('b.test', 'a.test')).toEqual(listing('a.test', 'b.test'))
    expect(listing('a.test', 'b.test')?.hosts).toEqual(['a.test', 'b.test'])
    expect(listing('a.test')?.digest).not.toBe(listing('a.test', 'b.test')?.digest)
    expect([listing()?.hosts, listing()?.digest]).toEqual([undefined, [...compiled([good]).sources.keys()][0]])
  })

  test('that does not compile says where, and leaves the last good one published', () => {
    const previous = compiled([good])
    const result = compiled([broken], { faults: BROKEN, previous })
    expect(published(result)).toEqual(['invoice: good'])
    expect(condition(result, broken, 'Compiled')).toMatchObject({
      status: 'False',
      reason: 'CompileError',
      message: 'template.tsx:1:1: broken is not defined',
    })
  })

  test('stays published through any number of broken changes', () => {
    const once = compiled([broken], { faults: BROKEN, previous: compiled([good]) })
    expect(published(compiled([broken], { faults: BROKEN, previous: once }))).toEqual(['invoice: good'])
  })

  test('that never compiled is not published', () => {
    expect(published(compiled([broken], { faults: BROKEN }))).toEqual([])
  })

  test('is not published before it was checked', () => {
    const resources = [aPlanResource(), aTenantResource(), good]
    const found = { foundKeys: new Map(), webhookSecrets: new Map(), now: 0 }
    const unchecked = { configMaps: new Map(), ...found, checks: new Map() }
    const result = compile({ resources, ...unchecked, defaults: DEFAULT_LIMITS, serviceBucket: 'platen' })
    expect(published(result)).toEqual([])
    expect(condition(result, good, 'Ready')).toMatchObject({ reason: 'NotChecked' })
  })

  test('with published: false is ready and not listed', () => {
    const hidden = aTemplateResource({ spec: { published: false } })
    const result = compiled([hidden], { previous: compiled([good]) })
    expect(published(result)).toEqual([])
    expect(condition(result, hidden, 'Ready')?.status).toBe('True')
  })

  test('takes any object where it has no schema', () => {
    expect([...(compiled([good]).snapshot.templates.get(ACME)?.values() ?? [])][0]?.variablesSchema).toEqual({
      type: 'object',
    })
  })

  test('is refused whose schema is none, and checked again with another', () => {
    const faults = { unsound: [{ message: '/properties/a/type must be equal to one of the allowed values' }] }
    const template = aTemplateResource({ spec: { reactPdf: inline('unsound') } })
    const result = compiled([template], { faults })
    expect(published(result)).toEqual([])
    expect(condition(result, template, 'Compiled')).toMatchObject({
      status: 'False',
      reason: 'SchemaInvalid',
      message: 'variablesSchema: /properties/a/type must be equal to one of the allowed values',
    })
    const mended = aTemplateResource({
      spec: { ...template.spec, variablesSchema: { type: 'object', minProperties: 1 } },
    })
    const [[before], [after]] = [
      [...checkRequestsOf([template], new Map()).keys()],
      [...checkRequestsOf([mended], new Map()).keys()],
    ]
    expect(before).not.toBe(after)
  })

  test('keeps its html source under a plan without html, and says that it is refused', () => {
    const both = aTemplateResource({ spec: { html: { template: { inline: '<p>' } } } })
    const result = compiled([both])
    expect(result.snapshot.templates.get(ACME)?.get('invoice' as TemplateCode)?.engines).toEqual(['react_pdf', 'html'])
    expect(condition(result, both, 'EngineAllowed')).toMatchObject({ status: 'False', reason: 'EngineNotInPlan' })
    expect(condition(result, both, 'Ready')?.status).toBe('True')
  })

  test('that has nothing but html is published under a plan without it, and is not ready', () => {
    const { reactPdf: _reactPdf, ...spec } = good.spec
    const page = { ...good, spec: { ...spec, engine: 'Html' as const, html: { template: { inline: '<p>' } } } }
    const result = compiled([page])
    expect(result.snapshot.templates.get(ACME)?.size).toBe(1)
    expect(condition(result, page, 'Ready')).toMatchObject({ status: 'False', reason: 'EngineNotInPlan' })
  })
})

describe('a code', () => {
  const rival = aTemplateResource({
    metadata: { name: 'a-rival', createdAt: 5 },
    spec: { code: 'invoice', reactPdf: inline('rival') },
  })

  test('is the oldest template’s', () => {
    const result = compiled([rival, good])
    expect(published(result)).toEqual(['invoice: good'])
    expect(condition(result, rival, 'Accepted')).toMatchObject({ status: 'False', reason: 'CodeTaken' })
  })

  test('passes to the next when its owner goes', () => {
    expect(published(compiled([rival], { previous: compiled([rival, good]) }))).toEqual(['invoice: rival'])
  })

  test('stays with who had it when the code it asks for instead is taken', () => {
    const letter = aTemplateResource({
      metadata: { name: 'letter', createdAt: 5 },
      spec: { reactPdf: inline('letter') },
    })
    const greedy = { ...letter, spec: { ...letter.spec, code: 'invoice' } }
    const previous = compiled([good, letter])
    expect(published(compiled([good, greedy], { previous }))).toEqual(['invoice: good', 'letter: letter'])
  })

  test('that was given up goes to who asks for it, whatever its last owner would fall back on', () => {
    const previous = compiled([good])
    const moved = aTemplateResource({ spec: { code: 'bill', reactPdf: inline('broken') } })
    expect(published(compiled([moved, rival], { faults: BROKEN, previous }))).toEqual(['invoice: rival'])
  })
})

describe('a source in a ConfigMap', () => {
  const template = aTemplateResource({
    spec: { reactPdf: { source: { configMapKeyRef: { name: 'sources', key: 'invoice.tsx' } } } },
  })
  const configMaps = (text: string) => new Map([['team-acme/sources', { data: { 'invoice.tsx': text } }]])

  test('is published like one that stands in the template', () => {
    expect(published(compiled([template], { configMaps: configMaps('from afar') }))).toEqual(['invoice: from afar'])
  })

  test.for([
    ['in no ConfigMap', 'ConfigMapNotFound', new Map()],
    [
      'in the ConfigMap of another namespace',
      'ConfigMapNotFound',
      new Map([['team-globex/sources', { data: { 'invoice.tsx': 'x' } }]]),
    ],
    ['under no such key', 'KeyNotFound', new Map([['team-acme/sources', { data: { 'invoice.html': 'x' } }]])],
    ['under the name of something every object has', 'KeyNotFound', new Map([['team-acme/sources', { data: {} }]])],
    ['and empty', 'SourceEmpty', configMaps(' \n')],
    ['and one byte too large', 'SourceTooLarge', configMaps('é'.repeat(TEMPLATE_SOURCE_BYTES_MAX / 2) + 'x')],
  ] as const)('%s leaves the last good one published', ([, reason, missing]) => {
    const previous = compiled([template], { configMaps: configMaps('from afar') })
    const result = compiled([template], { configMaps: missing, previous })
    expect(published(result)).toEqual(['invoice: from afar'])
    expect(condition(result, template, 'SourceResolved')).toMatchObject({ status: 'False', reason })
  })

  test('is taken up to the last byte', () => {
    const full = 'é'.repeat(TEMPLATE_SOURCE_BYTES_MAX / 2)
    expect(published(compiled([template], { configMaps: configMaps(full) }))).toEqual([`invoice: ${full}`])
  })
})

describe('the assets of a template', () => {
  const ref = { name: 'images', key: 'logo.png' }
  const template = aTemplateResource({
    spec: {
      reactPdf: inline('good'),
      locale: 'pl-PL',
      assets: [
        { name: 'dot.png', inline: 'QUJD' },
        { name: 'logo.png', configMapKeyRef: ref },
      ],
      fonts: [{ family: 'Brand', asset: 'dot.png' }],
    },
  })
  const images = (content: object): ConfigMaps => new Map([['team-acme/images', content]])
  const inBase64 = (bytes: Uint8Array) => ({ binaryData: { 'logo.png': Buffer.from(bytes).toString('base64') } })

  function sourceOf(result: CompiledAndStored) {
    const [source] = result.sources.values()
    return source
  }

  test.for([
    ['bytes', inBase64(Buffer.from([0, 255]))],
    ['text', { data: { 'logo.png': 'text' } }],
  ] as const)('are named by their content, be it %s', ([kind, content]) => {
    const result = compiled([template], { configMaps: images(content) })
    const source = sourceOf(result)
    const bytes = source?.assets?.map(({ digest }) => Buffer.from(result.assets.get(digest) ?? []))
    expect(source?.assets?.map(({ name }) => name)).toEqual(['dot.png', 'logo.png'])
    expect(bytes).toEqual([Buffer.from('ABC'), kind === 'text' ? Buffer.from('text') : Buffer.from([0, 255])])
    expect(source).toMatchObject({
      locale: 'pl-PL',
      fonts: [{ family: 'Brand', weight: 400, style: 'normal', asset: 'dot.png' }],
    })
  })

  test.for([
    ['in no ConfigMap', 'ConfigMapNotFound', new Map()],
    ['under no such key', 'KeyNotFound', images({ data: { 'logo.svg': 'x' } })],
    ['and one byte too large in all', 'AssetsTooLarge', images(inBase64(new Uint8Array(ASSETS_BYTES_MAX - 2)))],
  ] as const)('%s leave the last good template published', ([, reason, missing]) => {
    const previous = compiled([template], { configMaps: images({ data: { 'logo.png': 'text' } }) })
    const result = compiled([template], { configMaps: missing, previous })
    expect(previous.snapshot.templates.size).toBe(1)
    expect(result.snapshot).toEqual(previous.snapshot)
    expect(condition(result, template, 'SourceResolved')).toMatchObject({
      status: 'False',
      reason,
      message: expect.stringContaining(reason === 'AssetsTooLarge' ? `${ASSETS_BYTES_MAX}` : 'asset logo.png'),
    })
  })

  test('are taken up to the last byte', () => {
    const full = compiled([template], { configMaps: images(inBase64(new Uint8Array(ASSETS_BYTES_MAX - 3))) })
    expect(condition(full, template, 'Ready')).toMatchObject({ status: 'True' })
  })

  test('change the digest of the template with every byte', () => {
    const [one, other] = ['a', 'b'].map((text) =>
      compiled([template], { configMaps: images({ data: { 'logo.png': text } }) }),
    )
    expect([...(one?.sources.keys() ?? [])]).not.toEqual([...(other?.sources.keys() ?? [])])
  })
})

test.for([
  [undefined, undefined],
  [false, undefined],
  [true, true],
])('a template with strict: %j has it in its settings, and no other digest', ([strict, expected]) => {
  const template = aTemplateResource({ spec: strict === undefined ? {} : { strict } })
  const settingsIn = (resource: TemplateResource) => compiled([resource]).templates.get(resource.metadata.uid)?.settings
  expect(settingsIn(template)?.strict).toBe(expected)
  expect(settingsIn(template)?.digest).toBe(settingsIn(aTemplateResource())?.digest)
})

test('a template that asks for page JavaScript its plan has not is ready, and says so', () => {
  const template = aTemplateResource({ spec: { html: { template: { inline: '<p>' }, javascriptEnabled: true } } })
  const plan = aPlanResource({ spec: { htmlEngineEnabled: true } })
  const resources = [plan, aTenantResource(), template]
  const checks = new Map([...checkRequestsOf([template], new Map()).keys()].map((key) => [key, []]))
  const found = { foundKeys: new Map(), webhookSecrets: new Map(), now: 0 }
  const settings = { configMaps: new Map(), ...found, defaults: DEFAULT_LIMITS, serviceBucket: 'platen' }
  const result = compile({ resources, checks, ...settings })
  expect(condition(result, template, 'Ready')).toMatchObject({ status: 'True' })
  expect(condition(result, template, 'EngineAllowed')).toMatchObject({ status: 'False', reason: 'JavaScriptNotInPlan' })
})

describe('of the templates of a tenant', () => {
  const many = Array.from({ length: TEMPLATES_MAX + 2 }, (_, at) =>
    aTemplateResource({ metadata: { name: `t-${at}`, createdAt: at }, spec: { reactPdf: inline('good') } }),
  )
  const [oldest] = many
  const last = many.slice(-2) as [TemplateResource, TemplateResource]

  test('the oldest are in force, as many as are allowed, and the others say why', () => {
    const result = compiled(many.toReversed())
    expect(published(result)).toHaveLength(TEMPLATES_MAX)
    const message = `Tenant acme has ${TEMPLATES_MAX} older Templates, as many as are allowed: remove one of them`
    for (const over of last)
      expect(condition(result, over, 'Ready')).toMatchObject({ status: 'False', reason: 'TooManyTemplates', message })
    expect(CONDITION_REASONS.TooManyTemplates).toContain(` ${TEMPLATES_MAX} older templates`)
  })

  test('one takes the place of another that goes', () => {
    const without = many.filter((template) => template !== oldest)
    const result = compiled(without, { previous: compiled(many) })
    const ready = last.map((template) => condition(result, template, 'Ready')?.status)
    expect([published(result).length, ready]).toEqual([TEMPLATES_MAX, ['True', 'False']])
  })
})
