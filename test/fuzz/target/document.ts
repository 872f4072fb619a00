/** Templates, data, options and assets: their publish check, and what the engines make of them, as in production. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { Engines } from '@platen/renderer/engine/open-engines.ts'
import type { RenderEngine, RenderWork } from '@platen/renderer/port/engine.ts'
import { classifyError } from '@platen/renderer/worker/classify-error.ts'
import { temporaryFolder } from '../../engine/html/html-fixture.ts'
import { NEVER } from '../../fixture/build.ts'
import { openBesideHonest } from '../../hostile/attack/honest.ts'
import { SECRET, type Subject } from '../target.ts'

/** What may take long may end so; what goes on after it is told by vitest, or by whoever waits for `make fuzz`. */
const DEADLINE_MS = 5000

/** Opens an engine; what it meets is made work of, checked as when it is published, and rendered. */
export async function openDocuments<Input>(
  name: Engine,
  workOf: (input: Input) => RenderWork,
): Promise<Subject<Input>> {
  const opened = await openBesideHonest(name)
  return {
    async meet(input) {
      const work = workOf(input)
      await check(opened.engines, work)
      await render(opened.engine, work)
      assert(await opened.isSame(), 'the document of another came out as another one')
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
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
