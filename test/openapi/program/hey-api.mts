// Prints the sample of a template by the client that @hey-api/openapi-ts made, and shows how a refusal is read.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createRender, getTemplate, type RenderRequest } from './made/index.ts'
import { client } from './made/client.gen.ts'

const [url = '', key = '', file = ''] = process.argv.slice(2)
client.setConfig({ baseUrl: url, auth: key })

const { data: template } = await getTemplate({ path: { code: 'invoice' } })
assert(template?.sample !== undefined)

const body: RenderRequest = {
  template: template.code,
  data: template.sample,
  options: { page_size: 'A5', margin: '18mm' },
}
const { data: pdf } = await createRender({ body, parseAs: 'blob' })
assert(pdf instanceof Blob)
await writeFile(file, await pdf.bytes())

const { error: refused } = await createRender({ body: { ...body, template: 'nothing' } })
process.stdout.write(`${refused?.error.code}\n`)
