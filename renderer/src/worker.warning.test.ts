/** Renders whose document has warnings. */
import type { RenderEvent } from '@platen/contract/event.ts'
import { WARNINGS_MAX } from '@platen/contract/warning.ts'
import { describe, expect, test } from 'vitest'
import { aRecord } from '../../test/fixture/build.ts'
import { aWorker } from '../../test/fixture/render-work.ts'
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
})
