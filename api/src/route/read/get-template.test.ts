import { assetKey, templateKey } from '@platen/contract/domain/render.ts'
import type { AssetDigest, Template, TemplateDigest, TemplateSource } from '@platen/contract/domain/tenant.ts'
import { canonicalJson, sha256 } from '@platen/lib/canonical-json.ts'
import { expect, test } from 'vitest'
import { anApi, FOREIGN_KEY, TEST_KEY } from '../../../../test/fixture/api.ts'
import { aTemplate, NEVER } from '../../../../test/fixture/build.ts'

const SAMPLE = { number: '42' }
const SOURCE: TemplateSource = {
  code: aTemplate().code,
  name: 'Invoice',
  version: 1,
  reactPdf: 'export default () => null',
  html: { template: '<p>', javascript: true },
  options: { page_size: 'A5', margin: '12mm' },
}
const PATH = '/api/v1/templates/invoice'

/** An API that has this template, with its source and its sample stored. */
async function having(fields: Partial<Template> = {}, options: Parameters<typeof anApi>[0] = {}) {
  const [source, sample] = [SOURCE, SAMPLE].map((value) => Buffer.from(canonicalJson(value)))
  if (source === undefined || sample === undefined) throw new Error('there are two')
  const digests = { digest: sha256(source) as TemplateDigest, sample: sha256(sample) as AssetDigest }
  const template = aTemplate({ ...digests, engines: ['react_pdf', 'html'], ...fields })
  const api = anApi({ templates: [template], ...options })
  const put = (key: string, bytes: Buffer) => api.ports.artifacts.put({ bucket: 'platen', key }, bytes, NEVER)
  await put(templateKey(digests.digest), source)
  await put(assetKey(digests.sample), sample)
  return { api, template }
}

test('shows a template with all that a render of it needs', async () => {
  const { api, template } = await having()
  const answer = await api.get(PATH)
  expect([answer.statusCode, answer.json()]).toEqual([
    200,
    {
      code: 'invoice',
      name: 'Invoice',
      version: 1,
      engine: 'react_pdf',
      engines: [
        { engine: 'react_pdf', units: 1, in_plan: true },
        { engine: 'html', units: 1, in_plan: false },
      ],
      options: { page_size: 'A5', margin: '12mm' },
      variables_schema: template.variablesSchema,
      sample: SAMPLE,
      warnings: [{ code: 'javascript_disabled', message: expect.any(String) }],
    },
  ])
})

test('shows what the plan and the environment of the key make of it', async () => {
  const limits = { htmlEngineEnabled: true, htmlEngineRenderMultiplier: 25, javascriptEnabled: true }
  const { api } = await having({ engine: 'html' }, { tenant: { limits } })
  const { engine, engines, warnings } = (await api.get(PATH)).json()
  expect([engine, engines, warnings]).toEqual([
    'html',
    [
      { engine: 'react_pdf', units: 1, in_plan: true },
      { engine: 'html', units: 25, in_plan: true },
    ],
    undefined,
  ])
  const sandbox = await api.get(PATH, { authorization: `Bearer ${TEST_KEY}` })
  expect(sandbox.json().engines.map(({ units }: { units: number }) => units)).toEqual([0, 0])
})

test.for(['offer', 'INVOICE', '__proto__', '%00', 'x'.repeat(5000)])('knows no template %s', async (code) => {
  const { api } = await having()
  const answer = await api.get(`/api/v1/templates/${code}`)
  expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'TEMPLATE_NOT_FOUND'])
})

test('knows no template of another tenant', async () => {
  const { api } = await having()
  expect((await api.get(PATH, { authorization: `Bearer ${FOREIGN_KEY}` })).statusCode).toBe(404)
})

test('shows no sample that is not stored, and none that is another one', async () => {
  const { api, template } = await having()
  const address = { bucket: 'platen', key: assetKey(template.sample as AssetDigest) }
  await api.ports.artifacts.put(address, Buffer.from('{}'), NEVER)
  expect((await api.get(PATH)).json().sample).toBeUndefined()
  await api.ports.artifacts.delete(address, NEVER)
  expect((await api.get(PATH)).json().sample).toBeUndefined()
})

test('answers 503 while the sources are missing, and logs which', async () => {
  const { api, template } = await having()
  await api.ports.artifacts.delete({ bucket: 'platen', key: templateKey(template.digest) }, NEVER)
  expect((await api.get(PATH)).statusCode).toBe(503)
  expect(api.lines.map(({ fields }) => String(fields['err'])).join()).toContain(template.digest)
})
