/** What the statuses of templates say of whatever stands in their way, and what stays listed and rendered meanwhile. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { aConfigMap, aPlan, aTemplate, aTenant, inNamespace, PLAN } from '../rig/resource.ts'
import { OTHERS, type Published, type Rig, startRig, TEAM } from '../rig/rig.ts'

let rig: Rig
let neighbour: Published
beforeAll(async () => {
  rig = await startRig()
  await rig.apply(aPlan(PLAN, { htmlEngineEnabled: true }), aPlan('plain'), aTenant('neighbour'), aTenant('acme'))
  await rig.apply(aTemplate('neighbour', 'neighbour'))
  neighbour = await rig.publishes(
    'neighbour',
    ({ tenant, templates }) => tenant?.webhookSecrets?.length === 1 && templates.length > 0,
  )
})
afterEach(() => expect(rig.published('neighbour')).toEqual(neighbour))
afterAll(() => rig[Symbol.asyncDispose]())

const inline = (template: string) => ({ html: { template: { inline: template } } })
const reactPdf = (...lines: readonly string[]) => ({ reactPdf: { source: { inline: lines.join('\n') } } })
const fromConfigMap = (name: string) => ({ html: { template: { configMapKeyRef: { name, key: 'page.html' } } } })
/** What is published under a code, if anything is. */
const versionOf = (code: string, tenant = 'acme') =>
  rig.published(tenant).templates.find((template) => template.code === code)?.version

test('tenant and template have to agree', async () => {
  await rig.apply(aTemplate('lost', 'nobody'), inNamespace(aTemplate('stranger', 'acme'), OTHERS))
  const lost = await rig.says('template/lost', { Ready: 'TenantNotFound', Accepted: 'TenantNotFound' })
  expect(lost['Accepted']).toBe('there is no Tenant nobody that lists team-acme in spec.namespaces')
  const stranger = await rig.says('template/stranger', { Ready: 'TenantNotFound' }, OTHERS)
  expect(stranger['Ready']).toBe('there is no Tenant acme that lists team-globex in spec.namespaces')
  expect(versionOf('stranger')).toBeUndefined()
  await rig.apply(aTenant('acme', { namespaces: [TEAM, OTHERS] }))
  await rig.says('template/stranger', { Ready: 'InForce', Accepted: 'Accepted' }, OTHERS)
  await rig.publishes('acme', () => versionOf('stranger') === 1)
  await rig.apply(aTenant('acme'))
  await rig.says('template/stranger', { Ready: 'TenantNotFound', Accepted: 'TenantNotFound' }, OTHERS)
  await rig.publishes('acme', () => versionOf('stranger') === undefined)
})

test('of two templates of one code the older is published, and the younger when that is gone', async () => {
  await rig.apply(aTemplate('first', 'acme', { code: 'wanted', version: 3 }))
  await rig.says('template/first', { Ready: 'InForce' })
  await rig.apply(aTemplate('second', 'acme', { code: 'wanted', version: 4 }))
  const { Accepted } = await rig.says('template/second', { Ready: 'CodeTaken', Accepted: 'CodeTaken' })
  expect(Accepted).toContain('wanted')
  expect(versionOf('wanted')).toBe(3)
  await rig.kubectl('delete', 'template', 'first', `--namespace=${TEAM}`)
  await rig.says('template/second', { Ready: 'InForce', Accepted: 'Accepted', Published: 'Published' })
  await rig.publishes('acme', () => versionOf('wanted') === 4)
})

test('a source in a ConfigMap is waited for and followed', async () => {
  await rig.apply(aTemplate('letter', 'acme', fromConfigMap('letters')))
  const missing = await rig.says('template/letter', { Ready: 'ConfigMapNotFound', SourceResolved: 'ConfigMapNotFound' })
  expect(missing['SourceResolved']).toBe('there is no ConfigMap team-acme/letters')
  await rig.apply(aConfigMap('letters', { 'other.html': 'x' }))
  const keyless = await rig.says('template/letter', { Ready: 'KeyNotFound', SourceResolved: 'KeyNotFound' })
  expect(keyless['SourceResolved']).toBe('ConfigMap team-acme/letters has no key page.html')
  await rig.apply(aConfigMap('letters', { 'page.html': ' \n' }))
  await rig.says('template/letter', { Ready: 'SourceEmpty' })
  await rig.apply(aConfigMap('letters', { 'page.html': '<p>Dear {{ name }}</p>' }))
  await rig.says('template/letter', { Ready: 'InForce', SourceResolved: 'SourceResolved', Compiled: 'Compiled' })
  const { digest } = (await rig.get('template', 'letter')).status ?? {}
  await rig.publishes('acme', ({ templates }) => templates.some((template) => template.digest === digest))

  await rig.apply(aConfigMap('letters', { 'page.html': '<p>Hello {{ name }}</p>' }))
  await rig.publishes('acme', ({ templates }) =>
    templates.some((template) => template.code === 'letter' && template.digest !== digest),
  )
  const last = rig.published('acme').templates
  await rig.kubectl('delete', 'configmap', 'letters', `--namespace=${TEAM}`)
  await rig.says('template/letter', { Ready: 'ConfigMapNotFound' })
  expect(rig.published('acme').templates).toEqual(last)
})

/** Each is applied over a good one, which stays. */
const BROKEN = [
  {
    name: 'schema',
    about: 'a schema that is no schema',
    spec: { ...inline('x'), variablesSchema: { type: 'object', properties: { number: { type: 'text' } } } },
    says: { Ready: 'SchemaInvalid', Compiled: 'SchemaInvalid' },
    words: /^variablesSchema: .*\/properties\/number\/type must be one of/,
  },
  {
    name: 'component',
    about: 'a component that does not compile',
    spec: reactPdf("import { Document } from '@react-pdf/renderer'", 'const total = ;', 'export default Document'),
    says: { Ready: 'CompileError', Compiled: 'CompileError' },
    words: /^template\.tsx:2:15: /,
  },
  {
    name: 'liquid',
    about: 'Liquid that does not parse',
    spec: inline('<p>\n  {% if number %}\n</p>'),
    says: { Ready: 'CompileError', Compiled: 'CompileError' },
    words: /^template\.html:2:3: /,
  },
  {
    name: 'sample',
    about: 'sample data that a component fails with',
    spec: {
      ...reactPdf(
        "import { Document, Page, Text } from '@react-pdf/renderer'",
        'export default ({ data }) => <Document><Page><Text>{data.rows.length}</Text></Page></Document>',
      ),
      sampleData: { number: 1 },
    },
    says: { Ready: 'CompileError', Compiled: 'CompileError' },
    words: /^template\.tsx:2:\d+: /,
  },
  {
    name: 'asset',
    about: 'an asset that is no image',
    spec: { ...inline('<img src="asset:logo.png">'), assets: [{ name: 'logo.png', inline: 'bm8gaW1hZ2U=' }] },
    says: { Ready: 'CompileError', Compiled: 'CompileError' },
    words: /logo\.png/,
  },
] as const

test.for(BROKEN)('a template with $about is named where it is wrong, and the last good one stays', async (row) => {
  const name = `broken-${row.name}`
  await rig.apply(aTemplate(name, 'acme', { version: 1 }))
  await rig.says(`template/${name}`, { Ready: 'InForce' })
  await rig.publishes('acme', () => versionOf(name) === 1)
  const last = rig.published('acme').templates
  await rig.apply(aTemplate(name, 'acme', { version: 2, ...row.spec }))
  const messages = await rig.says(`template/${name}`, row.says)
  expect(messages['Compiled']).toMatch(row.words)
  expect(messages['Published']).toBe(messages['Compiled'])
  expect(rig.published('acme').templates).toEqual(last)
  await rig.apply(aTemplate(name, 'acme', { version: 3 }))
  await rig.publishes('acme', () => versionOf(name) === 3)
})

test('html under a plan without it is published all the same', async () => {
  await rig.apply(aTenant('modest', { planRef: { name: 'plain' } }))
  await rig.apply(
    aTemplate('both', 'modest', {
      ...inline('x'),
      ...reactPdf("import { Document } from '@react-pdf/renderer'", 'export default () => <Document />'),
    }),
    aTemplate('scripted', 'acme', { html: { template: { inline: 'x' }, javascriptEnabled: true } }),
    aTemplate('page', 'modest', inline('x')),
  )
  const both = await rig.says('template/both', { Ready: 'InForce', EngineAllowed: 'EngineNotInPlan' })
  expect(both['EngineAllowed']).toContain('the limits of Tenant modest have no htmlEngineEnabled')
  await rig.says('template/page', {
    Ready: 'EngineNotInPlan',
    EngineAllowed: 'EngineNotInPlan',
    Published: 'Published',
  })
  await rig.says('template/scripted', { Ready: 'InForce', EngineAllowed: 'JavaScriptNotInPlan' })
  await rig.publishes('modest', () => versionOf('both', 'modest') === 1 && versionOf('page', 'modest') === 1)
  await rig.apply(aPlan('plain', { htmlEngineEnabled: true, javascriptEnabled: true }))
  await rig.says('template/page', { Ready: 'InForce', EngineAllowed: 'EngineAllowed' })
})

test('sources and assets of ConfigMaps have limits of their own', async () => {
  const create = async (name: string, content: object) => {
    const body = { metadata: { name }, ...content }
    const { status } = await rig.kube.request({ method: 'POST', path: `/api/v1/namespaces/${TEAM}/configmaps`, body })
    expect(status).toBe(201)
  }
  await create('large', { data: { 'page.html': 'x'.repeat(128 * 1024 + 1) } })
  await rig.apply(aTemplate('large', 'acme', fromConfigMap('large')))
  const { SourceResolved } = await rig.says('template/large', { Ready: 'SourceTooLarge' })
  expect(SourceResolved).toBe('the source of template has 131073 bytes; at most 131072 are allowed')

  const names = Array.from({ length: 11 }, (_, at) => `photo-${at}`)
  const photo = Buffer.alloc(1_000_000).toString('base64')
  for (const name of names) await create(name, { binaryData: { file: photo } })
  const assets = names.map((name) => ({ name, configMapKeyRef: { name, key: 'file' } }))
  await rig.apply(aTemplate('album', 'acme', { ...inline('x'), assets }))
  const album = await rig.says('template/album', { Ready: 'AssetsTooLarge', SourceResolved: 'AssetsTooLarge' })
  expect(album['SourceResolved']).toBe('the assets have 11000000 bytes; at most 10485760 are allowed')
})
