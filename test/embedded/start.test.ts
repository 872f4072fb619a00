/** How the service starts, and how it says why it does not. */
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { aFolder } from '../fixture/lifetime.ts'
import { ACME_LIVE, invoice, manifests } from '../fixture/manifests.ts'
import { spawnService, startEmbedded } from '../topology/embedded.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { listening } from '../topology/server/port.ts'
import { render } from '../topology/service.ts'

/** Each of a log line of 300 bytes and more. */
const FAULTS = 20_000

const ROOT = new URL('../..', import.meta.url).pathname

/** Runs a service that is expected to exit by itself. */
async function refusal(settings: Record<string, string>): Promise<{ code: number; out: string; err: string }> {
  const folder = aFolder()
  const child = spawnService({ PLATEN_PORT: '0', PLATEN_DATA_DIR: folder, ...settings })
  const [out, err, [code]] = await Promise.all([
    Array.fromAsync(child.stdout),
    Array.fromAsync(child.stderr),
    once(child, 'exit'),
  ])
  return { code: Number(code), out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }
}

test('a wrong setting stops the start, every fault named and no value shown', async () => {
  const { code, out, err } = await refusal({
    PLATEN_PORT: 'hunter2',
    PLATEN_BRAND: 'Hunter2',
    PLATEN_LOG_LEVEL: 'hunter2',
  })
  expect({ code, out }).toEqual({ code: 1, out: '' })
  const faults = ['PLATEN_PORT', 'PLATEN_BRAND', 'PLATEN_LOG_LEVEL'].map((name) => ({
    level: 'error',
    process: 'embedded',
    msg: 'setting refused',
    detail: expect.stringContaining(name),
  }))
  expect(linesOf(err)).toMatchObject(faults)
  expect(err).not.toMatch(/hunter2/i)
})

// So whoever deletes its folder has taken it away, as docs/operations.md says.
test('keeps nothing outside its data folder, also after it has rendered', async () => {
  const [home, temporary] = [aFolder(), aFolder()]
  await using service = await startEmbedded({ HOME: home, TMPDIR: temporary })
  for (const engine of ['react_pdf', 'html']) {
    const { status } = await render(service, ACME_LIVE, { template: 'invoice', engine, data: invoice(1) })
    expect(status).toBe(200)
  }
  service.signal('SIGTERM')
  expect(await service.exited()).toBe(0)
  expect([await readdir(home), await readdir(temporary)]).toEqual([[], []])
})

test.for(['PLATEN_PORT', 'PLATEN_METRICS_PORT'])(
  'a port that is taken for %s is named, with how to choose another',
  async (setting) => {
    await using other = await listening(createServer())
    const { port } = other
    const { code, out, err } = await refusal({ PLATEN_PORT: '0', [setting]: `${port}` })
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain(`port ${port} is taken`)
    expect(err).toContain(`${setting}=${port + 1}`)
  },
)

test.for<[string, Record<string, string>, string]>([
  ['a folder of manifests that does not exist', { PLATEN_MANIFESTS_DIR: '/nowhere/manifests' }, '/nowhere/manifests'],
  ['a browser that does not exist', { PLATEN_CHROMIUM: '/nowhere/chromium' }, '/nowhere/chromium'],
  ['a data folder that cannot be made', { PLATEN_DATA_DIR: '/dev/null/data' }, '/dev/null/data'],
])('%s stops the start and is named', async ([, settings, named]) => {
  const { code, out, err } = await refusal(settings)
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(linesOf(err).at(-1)).toMatchObject({
    level: 'error',
    process: 'embedded',
    msg: 'process failed',
    err: { message: expect.stringContaining(named) },
  })
})

test('a service whose folder belongs to another one is refused, and leaves the browser of that one its profile', async () => {
  await using service = await startEmbedded()
  const { dataDir, manifestsDir } = service
  const html = () => render(service, ACME_LIVE, { template: 'invoice', engine: 'html', data: invoice(1) })
  expect((await html()).status).toBe(200)
  const kept = () => readdir(join(dataDir, 'chromium'))
  const before = await kept()
  const { code, err } = await refusal({ PLATEN_DATA_DIR: dataDir, PLATEN_MANIFESTS_DIR: manifestsDir })
  expect([code, err]).toEqual([1, expect.stringContaining(`the data folder ${dataDir} is in use`)])
  expect(before).toContainEqual(expect.stringMatching(/^browser-/))
  expect(await kept()).toEqual(before)
  expect((await html()).status).toBe(200)
})

function linesOf(log: string): readonly unknown[] {
  return log
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

test('without a browser html alone is refused, and readiness says why', async () => {
  await using service = await startEmbedded({ PLATEN_CHROMIUM: 'none', PLATEN_METRICS_PORT: '0' })
  const html = await render(service, ACME_LIVE, { template: 'invoice', data: invoice(1), engine: 'html' })
  expect([html.status, html.json()]).toMatchObject([
    422,
    {
      error: {
        code: 'VALIDATION_FAILED',
        reason: 'engine_not_installed',
        message: 'This installation does not have the engine html.',
      },
    },
  ])
  expect(html.headers.get('retry-after')).toBeNull()
  expect((await render(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })).status).toBe(200)
  const ready = await fetch(`${service.probesUrl()}/readyz`)
  expect([ready.status, await ready.text()]).toEqual([200, expect.stringContaining('"html":"missing"')])
  expect(service.log()).toContain('chromium not found')
  expect(await service.stop()).toBe(0)
  const lines = linesOf(service.log())
  for (const line of lines)
    expect(line).toMatchObject({ process: 'embedded', instance: expect.stringMatching(/-\d+$/) })
  expect(lines).toContainEqual(expect.objectContaining({ level: 'info', msg: 'drain started' }))
})

test('a service whose log nobody reads starts, answers, counts the lines it drops, and stops', async () => {
  const folder = aFolder()
  const manifestsDir = join(folder, 'manifests')
  await mkdir(manifestsDir)
  await writeFile(join(manifestsDir, 'all.yaml'), manifests())
  // A line each, and far more of them than wait.
  const faulty = 'apiVersion: platen.dev/v1\nkind: Nothing\n---\n'.repeat(FAULTS / 10)
  for (let file = 0; file < 10; file++) await writeFile(join(manifestsDir, `${file}${'x'.repeat(200)}.yaml`), faulty)
  const settings = { PLATEN_PORT: '0', PLATEN_METRICS_PORT: '0', PLATEN_CHROMIUM: 'none' }
  const child = spawnService({ ...settings, PLATEN_DATA_DIR: folder, PLATEN_MANIFESTS_DIR: manifestsDir })
  using _ = { [Symbol.dispose]: () => child.kill('SIGKILL') }
  const exited = once(child, 'exit')
  const probesPort = await firstMatch(child.stderr, /"port":(\d+),"msg":"probe server started"/)
  // From here on nobody reads its log.
  const url = await firstMatch(child.stdout, /^ready (\S+)\n/)
  const order = { template: 'invoice', data: invoice(1) }
  expect((await render({ url: () => url }, ACME_LIVE, order)).status).toBe(200)
  const metrics = await (await fetch(`http://127.0.0.1:${probesPort}/metrics`)).text()
  expect(Number(/^platen_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0)
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

/** Reads a stream until it has said something, and then no further. */
function firstMatch(stream: Readable, pattern: RegExp): Promise<string> {
  let said = ''
  return new Promise((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      said += chunk
      const found = pattern.exec(said)?.[1]
      if (found === undefined) return
      stream.off('data', hear).pause()
      resolve(found)
    }
    stream.on('data', hear)
    stream.once('end', () => reject(new Error(`nothing was said of ${pattern.source}:\n${said}`)))
  })
}

test('a data folder that was open to others is closed, and the log says so', async () => {
  const dataDir = aFolder()
  await chmod(dataDir, 0o755)
  await using service = await startEmbedded({ PLATEN_CHROMIUM: 'none', PLATEN_DATA_DIR: dataDir })
  expect((await stat(dataDir)).mode & 0o777).toBe(0o700)
  expect(service.log()).toContain('data folder permissions tightened')
})

test('the first run makes both invoices from the examples and stops cleanly, and so does the second', async () => {
  const folder = aFolder()
  // It writes to where it is run.
  await symlink(join(ROOT, 'examples'), join(folder, 'examples'))
  const first = await firstRun(folder)
  const second = await firstRun(folder)
  const key = (await readFile(join(folder, 'keys/team-acme.live-key'), 'utf8')).trim()
  expect((await stat(join(folder, 'keys/team-acme.live-key'))).mode & 0o777).toBe(0o600)
  for (const { code, out } of [first, second]) {
    expect(code).toBe(0)
    expect(out).toContain(key)
    expect(out).toContain('curl')
  }
  for (const engine of ['react_pdf', 'html']) {
    const pdf = await inspectPdf(await readFile(join(folder, `out/invoice-${engine}.pdf`)))
    expect(pdf.text).toContain('Invoice')
    expect(pdf.fonts.every((font) => font.isEmbedded)).toBe(true)
  }
})

test('the first run on a folder of one’s own shows its templates and keys', async () => {
  const folder = aFolder()
  await mkdir(join(folder, 'mine'))
  await writeFile(join(folder, 'mine/note.yaml'), MANIFESTS)
  const { code, out } = await firstRun(folder, { PLATEN_MANIFESTS_DIR: join(folder, 'mine') })
  expect(code).toBe(0)
  expect(out).toContain((await readFile(join(folder, 'keys/team-own.mine'), 'utf8')).trim())
  expect(out).toContain('out/note-react_pdf.pdf')
  expect((await inspectPdf(await readFile(join(folder, 'out/note-react_pdf.pdf')))).text).toContain('A note to Ada')
})

async function firstRun(
  folder: string,
  own: Readonly<Record<string, string>> = {},
): Promise<{ code: number; out: string }> {
  const settings = { PLATEN_PORT: '0', PLATEN_DATA_DIR: folder, ...own }
  const program = [join(ROOT, 'embedded/src/first-run.ts'), '--once', '--data', folder]
  const child = spawnService(settings, { program, cwd: folder })
  const [out, [code]] = await Promise.all([Array.fromAsync(child.stdout), once(child, 'exit')])
  return { code: Number(code), out: Buffer.concat(out).toString() }
}

const MANIFESTS = `apiVersion: platen.dev/v1alpha1
kind: Plan
metadata: { name: own }
spec: { renderLimitMonthly: 100 }
---
apiVersion: platen.dev/v1alpha1
kind: Tenant
metadata: { name: own }
spec: { planRef: { name: own }, namespaces: [team-own] }
---
apiVersion: platen.dev/v1alpha1
kind: ApiKey
metadata: { name: mine, namespace: team-own }
spec: { tenantRef: { name: own }, secretName: mine }
---
apiVersion: platen.dev/v1alpha1
kind: Template
metadata: { name: note, namespace: team-own }
spec:
  tenantRef: { name: own }
  reactPdf:
    source:
      inline: |
        import { Document, Page, Text } from '@react-pdf/renderer'
        export default ({ data }) => <Document><Page><Text>A note to {data.name}</Text></Page></Document>
  sampleData: { name: Ada }
`
