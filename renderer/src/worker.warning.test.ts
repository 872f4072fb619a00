/** Renders whose document has warnings. */
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import { WARNINGS_MAX } from '@platen/contract/domain/warning.ts'
import { describe, expect, test } from 'vitest'
import { aRecord, NEVER } from '../../test/fixture/build.ts'
import { aWorker } from '../../test/fixture/render/work.ts'
import type { Rendering } from './port/engine.ts'

const PDF = Buffer.from('%PDF-1.7 a document')
/** What an engine returns for a document with more warnings than are kept. */
const WARNED: Rendering = {
  pdf: PDF,
  pages: 3,
  warnings: Array.from({ length: WARNINGS_MAX + 5 }, (_, at) => {
    return { code: 'text_overflow', place: `page ${at}`, message: 'lovelace' }
  }),
  phases: [],
}

type Worker = Awaited<ReturnType<typeof aWorker>>

async function endOf(worker: Worker): Promise<RenderEvent[]> {
  return await worker.runUntil(() => true)
}

describe('a render', () => {
  test('keeps the pages and a bounded number of warnings, and its log has none of their texts', async () => {
    const worker = await aWorker(async () => PDF, [aRecord()], { render: async () => WARNED })
    const [event] = await endOf(worker)
    expect(event?.manifest.outcome).toMatchObject({
      status: 'succeeded',
      pages: 3,
      warnings: WARNED.warnings.slice(0, WARNINGS_MAX),
      warningsOmitted: 5,
    })
    const [line] = worker.lines.filter(({ message }) => message === 'render succeeded')
    expect(line?.fields).toMatchObject({ pages: 3, warnings: WARNINGS_MAX + 5, warningCodes: ['text_overflow'] })
    expect(JSON.stringify(worker.lines)).not.toContain('lovelace')
  })

  test.for<[string, Partial<RenderRecord>, boolean]>([
    ['the template or the plan', { strict: true }, true],
    ['the request', { options: { strict: true } }, true],
    ['the template or the plan, whatever the request says', { strict: true, options: { strict: false } }, true],
    ['nobody', { options: { strict: false } }, false],
  ])('with a warning fails if strict is wanted by %s', async ([, fields, isFailed]) => {
    const record = aRecord({ mode: 'sync', lane: 'sync', ...fields })
    const worker = await aWorker(async () => PDF, [record], { render: async () => WARNED })
    using pending = worker.replies.expect(record.id)
    const [event] = await endOf(worker)
    const outcome = event?.manifest.outcome
    const reply = await pending.reply(NEVER)
    expect([outcome?.status, reply.kind]).toEqual(isFailed ? ['failed', 'failed'] : ['succeeded', 'rendered'])
    if (!isFailed) return
    const error = { code: 'document_warnings', message: expect.stringContaining('text_overflow: page 0: lovelace') }
    expect(outcome).toMatchObject({ error, warnings: WARNED.warnings.slice(0, WARNINGS_MAX), warningsOmitted: 5 })
    expect(reply).toEqual({ kind: 'failed', error, durationMs: 0 })
    expect(await worker.limiter.usage(record.account, record.period, NEVER)).toMatchObject({ charged: 0, reserved: 0 })
    expect(await Array.fromAsync(worker.artifacts.list('platen', `acme/${record.id}`, NEVER))).toEqual([])
    const [line] = worker.lines.filter(({ message }) => message === 'render failed')
    expect(line?.fields).toMatchObject({ code: 'document_warnings', warnings: WARNINGS_MAX + 5 })
    expect(JSON.stringify(worker.lines)).not.toContain('lovelace')
  })

  test('without a warning succeeds if strict is wanted', async () => {
    const worker = await aWorker(async () => PDF, [aRecord({ strict: true })])
    const [event] = await endOf(worker)
    expect(event?.manifest.outcome).toMatchObject({ status: 'succeeded', pages: 1 })
    expect(event?.manifest.outcome).not.toHaveProperty('warnings')
  })
})
