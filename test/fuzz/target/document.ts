/** Templates, data, options and assets: their publish check, and what the engines make of them, as in production. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { httpEgress } from '@platen/adapters/http/egress.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { Engine } from '@platen/contract/render-options.ts'
import { type Engines, openEngines } from '@platen/renderer/engine/open-engines.ts'
import type { RenderEngine, RenderWork } from '@platen/renderer/port/engine.ts'
import { classifyError } from '@platen/renderer/worker/classify-error.ts'
import { temporaryFolder } from '../../engine/html/html-fixture.ts'
import { NEVER, SILENT } from '../../fixture/build.ts'
import { aRenderWork } from '../../fixture/render-work.ts'
import { SECRET, type Subject } from '../target.ts'

/** What may take long may end so; what goes on after it is told by vitest, or by whoever waits for `make fuzz`. */
const DEADLINE_MS = 5000

const HONEST = {
  react_pdf: {
    reactPdf: `import { Document, Page, Text } from '@react-pdf/renderer'
export default ({ data }) => <Document><Page><Text>{data.name} {(5.5).toLocaleString()}</Text></Page></Document>`,
  },
  html: { html: { template: '<h1 style="font-family: serif">{{ name }} {{ 5.5 | number }}</h1>', javascript: false } },
} as const

/** Opens an engine; what it meets is made work of, checked as when it is published, and rendered. */
export async function openDocuments<Input>(
  name: Engine,
  workOf: (input: Input) => RenderWork,
): Promise<Subject<Input>> {
  const profileDir = temporaryFolder()
  const clock = systemClock()
  const ports = { clock, log: SILENT, egress: httpEgress({ clock, allowCidrs: [] }) }
  const engines = await openEngines({ ...ports, slots: 1, profileDir, chromium: undefined })
  const engine = name === 'html' ? await engines.openHtml?.() : engines.openReactPdf()
  if (engine === undefined) throw new Error('fuzzing html needs Chromium')
  const honest = aRenderWork({ tenant: 'honest', template: HONEST[name], data: { name: 'Zażółć' } })
  const before = (await engine.render(honest, NEVER)).pdf
  return {
    async meet(input) {
      const work = workOf(input)
      await check(engines, work)
      await render(engine, work)
      const after = (await engine.render(honest, NEVER)).pdf
      assert(Buffer.from(before).equals(after), 'the document of another came out as another one')
    },
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]()
      await engines[Symbol.asyncDispose]()
      rmSync(profileDir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function check(engines: Engines, { template, assets, data }: RenderWork): Promise<void> {
  const deadline = AbortSignal.timeout(DEADLINE_MS)
  try {
    const sampleData = Buffer.from(data).toString()
    for (const { message } of await engines.check(
      { source: template, assets, variablesSchema: '{"type":"object"}', sampleData },
      deadline,
    ))
      quotesNothing(message, template)
  } catch (error) {
    if (!deadline.aborted) throw error
  }
}

async function render(engine: RenderEngine, work: RenderWork): Promise<void> {
  const deadline = AbortSignal.timeout(DEADLINE_MS)
  try {
    const { pdf } = await engine.render(work, deadline)
    requireSound(
      pdf,
      work.assets.some(({ name }) => name.endsWith('.jpg')),
    )
  } catch (error) {
    const verdict = classifyError(
      error,
      { deadline, callerGone: NEVER, claimLost: NEVER, canceled: NEVER },
      DEADLINE_MS,
    )
    if (verdict.kind !== 'failed' || verdict.error.code === 'internal') throw error
    quotesNothing(verdict.error.message, work.template)
  }
}

/** The pixels of a JPEG are not looked at by the service: a reader of the PDF shows of a damaged one what it can. */
function requireSound(pdf: Uint8Array, hasJpeg: boolean): void {
  const folder = temporaryFolder()
  const file = join(folder, 'document.pdf')
  try {
    writeFileSync(file, pdf)
    const { status, stderr } = spawnSync('qpdf', [...(hasJpeg ? ['--warning-exit-0'] : []), '--check', file], {
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** What a template throws may say what it likes. */
function quotesNothing(message: string, template: RenderWork['template']): void {
  const isOwn = JSON.stringify(template).includes(SECRET) || template.reactPdf?.includes('throw') === true
  assert(isOwn || !message.includes(SECRET), `a message quotes the data: ${message}`)
}
