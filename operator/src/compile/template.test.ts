import { TEMPLATE_SOURCE_BYTES_MAX } from '@platen/contract/limit.ts'
import type { ConditionType, TemplateResource } from '@platen/contract/resource.ts'
import { DEFAULT_LIMITS, type TemplateCode, type TenantId } from '@platen/contract/tenant.ts'
import { describe, expect, test } from 'vitest'
import { aPlanResource, aTemplateResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { type Compiled, compile } from './compile.ts'
import { type CheckFault, type ConfigMaps, checksOf } from './template.ts'

const ACME = 'acme' as TenantId

interface Given {
  readonly configMaps?: ConfigMaps
  /** What the check finds, by the template's react_pdf source. */
  readonly faults?: Readonly<Record<string, readonly CheckFault[]>>
  readonly previous?: Compiled
}

function compiled(templates: readonly TemplateResource[], given: Given = {}): Compiled {
  const { configMaps = new Map(), faults = {}, previous } = given
  const requests = checksOf(templates, configMaps)
  return compile({
    resources: [aPlanResource(), aTenantResource(), ...templates],
    configMaps,
    keyHashes: new Map(),
    checks: new Map([...requests].map(([key, { source }]) => [key, faults[source.reactPdf ?? ''] ?? []])),
    defaults: DEFAULT_LIMITS,
    serviceBucket: 'platen',
    ...(previous && { previous }),
  })
}

/** The published templates as `code: source`. */
function published(result: Compiled): readonly string[] {
  const templates = [...(result.snapshot.templates.get(ACME)?.values() ?? [])]
  return templates.map(({ code, digest }) => `${code}: ${result.sources.get(digest)?.reactPdf}`)
}

function condition(result: Compiled, { metadata }: TemplateResource, type: ConditionType) {
  return result.templates.get(metadata.uid)?.conditions.find((candidate) => candidate.type === type)
}

const inline = (text: string) => ({ source: { inline: text } })
const BROKEN = { broken: [{ engine: 'react_pdf', message: 'template.tsx:1:1: broken is not defined' }] } as const
const good = aTemplateResource({ spec: { reactPdf: inline('good') } })
const broken = aTemplateResource({ spec: { reactPdf: inline('broken') } })

describe('a template', () => {
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
    const unchecked = { configMaps: new Map(), keyHashes: new Map(), checks: new Map() }
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

  test.for([
    ['is of no object', { type: 'array' }],
    ['names no type', { properties: {} }],
    ['is no schema', { type: 'object', properties: { a: { type: 'strin' } } }],
    ['refers to what is not there', { type: 'object', $ref: '#/$defs/nothing' }],
    ['refers outside itself', { type: 'object', properties: { a: { $ref: 'https://example.com/schema.json' } } }],
  ] as const)('is refused whose schema %s', ([, variablesSchema]) => {
    const template = aTemplateResource({ spec: { variablesSchema } })
    const result = compiled([template])
    expect(published(result)).toEqual([])
    expect(condition(result, template, 'Compiled')).toMatchObject({ status: 'False', reason: 'SchemaInvalid' })
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
    const page = { ...good, spec: { ...spec, html: { template: { inline: '<p>' } } } }
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
  const configMaps = (text: string) => new Map([['team-acme/sources', { 'invoice.tsx': text }]])

  test('is published like one that stands in the template', () => {
    expect(published(compiled([template], { configMaps: configMaps('from afar') }))).toEqual(['invoice: from afar'])
  })

  test.for([
    ['in no ConfigMap', 'ConfigMapNotFound', new Map()],
    [
      'in the ConfigMap of another namespace',
      'ConfigMapNotFound',
      new Map([['team-globex/sources', { 'invoice.tsx': 'x' }]]),
    ],
    ['under no such key', 'KeyNotFound', new Map([['team-acme/sources', { 'invoice.html': 'x' }]])],
    ['under the name of something every object has', 'KeyNotFound', new Map([['team-acme/sources', {}]])],
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
