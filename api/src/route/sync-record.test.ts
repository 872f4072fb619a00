/** What is read of a sync render right after its answer, before its outcome is recorded. */

import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Api, anApi, ENDED_PDF, end, queued } from '../../../test/fixture/api.ts'
import { aReply, NEVER } from '../../../test/fixture/build.ts'
import { SYNC_RECORD_MS_MAX } from './get-render.ts'

/** Answers a sync render as a renderer does, which has yet to record it. */
async function answered(api: Api) {
  const asking = api.post({ template: 'invoice', data: {} })
  const record = await queued(api, 'sync')
  await api.ports.ledger.claim(record, { owner: 'r', leaseMs: 60_000 }, NEVER)
  api.ports.replies.notifyStarted(record.id)
  await api.ports.replies.reply(record.id, aReply(ENDED_PDF), NEVER)
  expect((await asking).statusCode).toBe(200)
  return {
    record,
    recorded: async () => {
      await end(api, record, 'succeeded')
      const manifest = await api.ports.artifacts.get({ bucket: 'platen', key: `manifest/${record.id}.json` }, NEVER)
      await api.ports.ledger.complete(JSON.parse(Buffer.from(manifest ?? []).toString()), NEVER)
    },
  }
}

test('its status and its PDF wait until it is recorded', async () => {
  const api = anApi()
  const { record, recorded } = await answered(api)
  const reading = [api.get(`/api/v1/render/${record.id}`), api.get(`/api/v1/render/${record.id}/pdf`)]
  await recorded()
  const [status, pdf] = await Promise.all(reading)
  expect(status?.json()).toMatchObject({ status: 'succeeded', pdf_size_bytes: ENDED_PDF.length })
  expect([pdf?.statusCode, pdf?.rawPayload.equals(ENDED_PDF)]).toEqual([200, true])
})

test('they wait no longer than that may take', async () => {
  const api = anApi()
  const { record } = await answered(api)
  const reading = [api.get(`/api/v1/render/${record.id}`), api.get(`/api/v1/render/${record.id}/pdf`)]
  for (let turns = 0; turns < 20; turns++) await turn()
  await api.clock.advance(SYNC_RECORD_MS_MAX)
  const [status, pdf] = await Promise.all(reading)
  expect([status?.json().status, pdf?.json().error.code]).toEqual(['running', 'RENDER_NOT_FINISHED'])
})
