/** The commands of docs/api.md, as its readers would type them one after the other, against the service on the example manifests. */
import { execFile } from 'node:child_process'
import { readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readText } from '../architecture/source-tree.ts'
import { aFolder, ofTest } from '../fixture/lifetime.ts'
import { startExamples } from '../topology/embedded.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../topology/receiver.ts'

const guide = readText('docs/api.md')
/** Begins the output of a section. */
const MARK = '\n@@ '

/** The templates of the example tenant. */
const EXAMPLES = 'certificate certificate-hi invoice invoice-ar invoice-ja letter letter-th report'.split(' ')

test('the commands of the guide do what it says', async () => {
  const receiver = ofTest(await aReceiver())
  const service = ofTest(await startExamples(LOOPBACK_ALLOWED))
  const folder = aFolder()
  await symlink(service.dataDir, join(folder, 'data'))
  const { stdout } = await promisify(execFile)('bash', ['-c', script(service.url(), `${receiver.url}/hook`)], {
    cwd: folder,
  })
  const outputs = new Map(
    stdout
      .split(MARK)
      .slice(1)
      .map((text) => [text.slice(0, text.indexOf('\n')), text.slice(text.indexOf('\n') + 1)]),
  )
  const file = (name: string) => readFile(join(folder, name), 'latin1')

  expect(templatesIn(outputs.get('Keys'))).toEqual(EXAMPLES)

  expect(await file('invoice.pdf')).toMatch(/^%PDF-/)
  const headers = await file('headers.txt')
  for (const name of headersIn('The first PDF')) expect(headers.toLowerCase()).toContain(`\n${name.toLowerCase()}: `)
  for (const name of headersIn('Limits')) expect(headers.toLowerCase()).toContain(`\n${name.toLowerCase()}: `)

  expect(JSON.parse(await file('status.json'))).toMatchObject({ status: 'succeeded', template: 'invoice' })
  expect(await file('later.pdf')).toMatch(/^%PDF-/)
  expect(outputs.get('Without waiting')).toBe('%PDF-')

  expect(receiver.received.map(({ headers }) => headers['x-service-event'])).toEqual([
    'render.succeeded',
    'webhook.test',
  ])
  expect(JSON.parse(await file('tested.json'))).toMatchObject({ event: 'webhook.test', attempts: [{ result: 'ok' }] })
  expect(JSON.parse(await file('exhausted.json'))).toEqual({ deliveries: [] })
  expect(JSON.parse(outputs.get('Webhooks') ?? '')).toMatchObject({
    deliveries: [{ event: 'render.succeeded', attempts: [{ result: 'ok', status_code: 204 }] }],
  })

  expect(JSON.parse(outputs.get('Finding renders') ?? '')).toMatchObject({
    renders: [{ template: 'invoice', reference: 'order-42', metadata: { customer: 'c-17' } }],
  })

  expect(JSON.parse(await file('batch.json'))).toMatchObject({
    reference: 'november',
    total: 3,
    succeeded: 3,
    failed: 0,
  })
  const { batch_id } = JSON.parse(await file('batch.json')) as { batch_id: string }
  const each = { batch_id, template: 'invoice', status: 'succeeded' }
  expect(JSON.parse(outputs.get('Many at once') ?? '')).toMatchObject({ renders: [each, each, each] })

  expect(await file('again.pdf')).toMatch(/^%PDF-/)
  const [deleted = '', ...gone] = outputs.get('Taking a render back')?.split('\n') ?? []
  expect([deleted, JSON.parse(gone.join('\n'))]).toMatchObject(['204', { error: { code: 'RENDER_EXPIRED' } }])

  expect(JSON.parse(outputs.get('Limits') ?? '')).toMatchObject({
    rates: expect.arrayContaining([expect.objectContaining({ renders: 'sync', per: 'key' })]),
  })

  const attempts = outputs.get('Once, however often you ask') ?? ''
  const ids = Array.from(attempts.matchAll(/"render_id":"(\w+)"/g), ([, id]) => id)
  expect(ids).toEqual([ids[0], ids[0]])
  expect(attempts.match(/^idempotent-replayed: true/gm)).toHaveLength(1)

  const [, shown = ''] = /^```json\n([^]*?)^```$/m.exec(sectionOf('Errors')) ?? []
  const answered = JSON.parse(outputs.get('Errors') ?? '') as { error: { request_id: string } }
  const documented = JSON.parse(shown) as { error: object }
  expect(answered).toEqual({ error: { ...documented.error, request_id: answered.error.request_id } })
})

/** All commands, with a line before those of each section. */
function script(url: string, webhookUrl: string): string {
  const sections = guide.split(/^## /m).slice(1)
  const commands = sections.map((section) => {
    const heading = section.slice(0, section.indexOf('\n'))
    const blocks = Array.from(section.matchAll(/^```sh\n([^]*?)^```$/gm), ([, code = '']) => code)
    return `printf '${MARK}%s\\n' '${heading}'\n${blocks.join('')}`
  })
  return ['set -euo pipefail', ...commands]
    .join('\n')
    .replace('http://127.0.0.1:8080', url)
    .replaceAll('https://example.com/hooks/pdf', webhookUrl)
}

function sectionOf(heading: string): string {
  const section = guide.split(/^## /m).find((text) => text.startsWith(`${heading}\n`))
  if (section === undefined) throw new Error(`the guide has no section ${heading}`)
  return section
}

/** The headers of answers that a section names. */
function headersIn(heading: string): readonly string[] {
  const names = Array.from(sectionOf(heading).matchAll(/`(X-[\w-]+)`/g), ([, name = '']) => name)
  expect(names.length).toBeGreaterThan(1)
  return names
}

function templatesIn(answer = ''): readonly string[] {
  // The shape is that of the service, which other tests look at.
  return (JSON.parse(answer) as { templates: { code: string }[] }).templates.map(({ code }) => code)
}
