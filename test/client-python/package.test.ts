/** The Python package: what is in it, that pip installs it, and that its README is true. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BATCH_ITEMS_MAX, PDF_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readText } from '../architecture/source-tree.ts'
import { startExamples } from '../topology/embedded.ts'
import { isMissing, PACKAGE, PREPARED, runModule, runPython } from './python.ts'

const run = promisify(execFile)
const VERSION: string = JSON.parse(readText('package.json')).version
const CLIENT = 'clients/python/src/platen_client/_async_client.py'
const MODULES = Object.entries({
  '.': ['__init__', '_async_client', '_call', '_client', '_driver', '_error', 'wire'],
  operation: ['__init__', 'batch', 'delivery', 'exchange', 'listing', 'rendering', 'waiting'],
  webhook: ['__init__', 'event', 'sign', 'verify'],
}).flatMap(([inner, names]) => names.map((name) => join(inner, name)))

const [wheel, sdist] = [`platen_client-${VERSION}-py3-none-any.whl`, `platen_client-${VERSION}.tar.gz`]

describe.skipIf(isMissing())('the Python package', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(PREPARED, 'package-'))
    await runModule('hatchling', ['build', '--directory', folder])
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('is built in both forms, of the version of the service', async () => {
    expect((await readdir(folder)).toSorted()).toEqual([wheel, sdist].toSorted())
    const sources = [...MODULES.map((name) => `${name}.py`), 'py.typed'].map((name) => `platen_client/${name}`)
    const { stdout } = await run('tar', ['--list', '--file', join(folder, sdist)])
    const packed = stdout.trim().split('\n').toSorted()
    const beside = ['.gitignore', 'LICENSE', 'PKG-INFO', 'README.md', 'pyproject.toml']
    const expected = [...beside, ...sources.map((path) => `src/${path}`)]
    expect(packed).toEqual(expected.map((path) => `platen_client-${VERSION}/${path}`).toSorted())
    const listing = await runModule('zipfile', ['--list', join(folder, wheel)])
    const names = [...listing.matchAll(/^(\S+)\s+\d{4}-/gm)].map(([, name = '']) => name)
    const about = ['METADATA', 'RECORD', 'WHEEL', 'licenses/LICENSE'].map(
      (name) => `platen_client-${VERSION}.dist-info/${name}`,
    )
    expect(names.toSorted()).toEqual([...sources, ...about].toSorted())
  })

  test('takes the largest PDF that the service makes', () => {
    const [, mebibytes] = /^PDF_BYTES_MAX = (\d+) \* 1024 \* 1024$/m.exec(readText(CLIENT)) ?? []
    expect(Number(mebibytes) * 1024 * 1024).toBe(PDF_BYTES_MAX)
  })

  test('names the largest batch that the service accepts', () => {
    expect(readText(CLIENT)).toContain(`There are 1 to ${BATCH_ITEMS_MAX} \`\`items\`\`:`)
    expect(readText('clients/python/README.md')).toContain(`up to ${BATCH_ITEMS_MAX.toLocaleString('en')} PDFs`)
  })

  test('has a README whose links lead out of it by a full address', () => {
    const links = Array.from(readText('clients/python/README.md').matchAll(/\]\(([^)]+)\)/g), ([, link = '']) => link)
    expect(links.filter((link) => !link.startsWith('https://'))).toEqual([])
  })

  test('is installed by pip in each form, and does what its README says', async () => {
    const venv = await mkdtemp(join(PREPARED, 'fresh-'))
    onTestFinished(() => rm(venv, { recursive: true, force: true }))
    await runModule('venv', [venv])
    const python = join(venv, 'bin/python')
    // The wheels that were downloaded stand for the registry, also for what pip builds the package with.
    const pip = ['-m', 'pip', '--quiet', 'install', '--no-index', '--find-links', join(PREPARED, 'wheel')]
    for (const source of [PACKAGE, join(folder, sdist)]) {
      await runPython(python, [...pip, '--no-deps', source], { cwd: venv })
      await runPython(python, ['-m', 'pip', '--quiet', 'uninstall', '--yes', 'platen-client'], { cwd: venv })
    }
    await runPython(python, [...pip, join(folder, wheel)], { cwd: venv })

    await writeFile(join(venv, 'consumer.py'), CONSUMER)
    const strict = [
      '--strict',
      '--python-executable',
      python,
      '--cache-dir',
      join(PREPARED, 'mypy'),
      join(venv, 'consumer.py'),
    ]
    expect(await runModule('mypy', strict)).toBe('Success: no issues found in 1 source file\n')

    const blocks = Array.from(readText('clients/python/README.md').matchAll(/^```python\n([^]*?)^```$/gm))
    await writeFile(join(venv, 'readme.py'), blocks.map(([, code = '']) => code).join('\n'))
    await using service = await startExamples()
    const env = { PLATEN_URL: service.url(), PLATEN_API_KEY: service.key, PYTHONWARNINGS: 'error' }
    const output = await runPython(python, ['readme.py'], { cwd: venv, env })
    expect(output.split('\n')).toEqual(README_OUTPUT)
    for (const name of ['invoice.pdf', 'invoice-2.pdf', 'invoice-3.pdf', '2026-0047.pdf', '2026-0048.pdf']) {
      expect((await readFile(join(venv, name))).subarray(0, 5).toString()).toBe('%PDF-')
    }
  })
})

/** What it must let a caller write, and what it must not: mypy also complains of an ignored error that is none. */
const CONSUMER = `
from collections.abc import Awaitable
from typing import TypedDict
from platen_client import AsyncPlaten, Platen, WebhookEvent, verify_webhook, wire

client = Platen("https://pdf.example.com", "key")
options: wire.RenderOptions = {"margin": {"top": "2cm"}, "page_size": "A4"}
pdf: bytes = client.render("invoice", {"number": "1"}, options=options, timeout=5).pdf
awaited: Awaitable[wire.Usage] = AsyncPlaten("https://pdf.example.com", "key").get_usage()
answer = client.render_and_wait("invoice", {}, retries=1, headers={"x-trace": "t"})
warned: int = len(answer.record.get("warnings", []))
left: int | None = None if answer.rate is None else answer.rate.remaining
asked: str | None = answer.request_id
codes: list[str] = [template["code"] for template in client.all_templates()]

client.render("invoice", {}, mode="async")  # type: ignore[call-arg]
client.render("invoice", {}, options={"pageSize": "A4"})  # type: ignore[typeddict-unknown-key]
client.list_renders(status="done")  # type: ignore[arg-type]
client.list_all_deliveries(engine="html")  # type: ignore[call-arg]
client.create_batch("invoice", [{"data": {}, "engine": "html"}])  # type: ignore[typeddict-unknown-key]
client.get_render("x")["state"]  # type: ignore[typeddict-item]

def size(event: WebhookEvent) -> int:
    return event.data["bytes"] if event.type == "render.succeeded" else 0

def subject(event: WebhookEvent) -> str:
    if event.type == "batch.ended":
        return event.batch_id
    return event.data["created_at"] if event.type == "webhook.test" else event.render_id

def careless(event: WebhookEvent) -> str:
    return event.render_id  # type: ignore[union-attr]

def receive(body: bytes, headers: dict[str, str]) -> str:
    return verify_webhook(body, headers, ["a", "b"]).delivery_id

verify_webhook("text", {}, "a")  # type: ignore[arg-type]
`

const ULID = '[0-9A-Z]{26}'
const README_OUTPUT = [
  `^${ULID} invoice-2026-0042\\.pdf$`,
  '^certificate 1$',
  '^certificate-hi 1$',
  '^invoice 1$',
  '^invoice-ar 1$',
  '^invoice-ja 1$',
  '^letter 1$',
  '^letter-th 1$',
  '^report 1$',
  `^${ULID} \\w+$`,
  '^2 2 0$',
  '^2$',
  "^VALIDATION_FAILED 422 \\['/data/number'\\]$",
  `^render\\.failed ${ULID} [0-9a-f-]{36}$`,
  '^signature_mismatch$',
  // A resolver that cannot be reached answers too late.
  '^exhausted (dns|timeout)$',
  '^$',
].map((line) => expect.stringMatching(line))
