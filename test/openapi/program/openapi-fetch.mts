// Prints the sample of a template by openapi-fetch over the types of openapi-typescript, and shows how a refusal is read.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import createClient from 'openapi-fetch'
import type { components, paths } from './made.ts'

const [url = '', key = '', file = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${key}` } })

const { data: template } = await client.GET('/api/v1/templates/{code}', { params: { path: { code: 'invoice' } } })
assert(template?.sample !== undefined)

const body: components['schemas']['RenderRequest'] = {
  template: template.code,
  data: template.sample,
  options: { page_size: 'A5', margin: '18mm' },
}
const { data: pdf } = await client.POST('/api/v1/render', { body, parseAs: 'arrayBuffer' })
assert(pdf instanceof ArrayBuffer)
await writeFile(file, new Uint8Array(pdf))

const { error: refused } = await client.POST('/api/v1/render', { body: { ...body, template: 'nothing' } })
process.stdout.write(`${refused?.error.code}\n`)
