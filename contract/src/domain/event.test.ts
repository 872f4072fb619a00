import { expect, test } from 'vitest'
import { aFailure, aManifest, anEvent, aRecord, NOON } from '../../../test/fixture/build.ts'
import { eventIdOf, eventOf, testEventOf, webhookBodyOf } from './event.ts'
import type { Outcome } from './render.ts'
import { issuedAt, renderUuid } from './render-id.ts'

const key = new Uint8Array(32).fill(7)

test('an event made again from the same manifest is the same', () => {
  const manifest = { ...aManifest({}), eventId: 'stored' }
  expect(eventOf(manifest)).toEqual(eventOf(structuredClone(manifest)))
})

test('the id is a UUIDv7 of the time at which the id of the render was issued', () => {
  const manifest = aManifest({})
  const id = eventIdOf(manifest, key)
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(issuedAt(manifest.render.id))
})

test('a render that is made again after a restore has an event of the same id, unless it ends in another way', () => {
  const manifest = aManifest({})
  const { outcome } = manifest
  const again = { ...manifest, outcome: { ...outcome, finishedAt: outcome.finishedAt + 86_400_000 } }
  const failed = { ...manifest, outcome: aFailure() }
  expect(eventIdOf(again, key)).toBe(eventIdOf(manifest, key))
  expect(eventIdOf(failed, key)).not.toBe(eventIdOf(manifest, key))
})

test('another key gives another id, so an id cannot be made without it', () => {
  const manifest = aManifest({})
  expect(eventIdOf(manifest, new Uint8Array(32))).not.toBe(eventIdOf(manifest, key))
})

test('an event made again has the id that is stored in the manifest, whatever key the process has', () => {
  expect(eventOf({ ...aManifest(), eventId: 'stored' }).id).toBe('stored')
})

test('the body of a webhook has the id of the render as a UUID, and of a success what was made', () => {
  const manifest = aManifest({})
  const { outcome, render } = manifest
  const body = JSON.parse(webhookBodyOf(anEvent(manifest)))
  expect(body).toEqual({
    id: renderUuid(render.id),
    render_id: render.id,
    template: render.template.code,
    status: 'succeeded',
    duration_ms: outcome.durationMs,
    bytes: 1234,
    pages: 1,
    artifact_id: outcome.status === 'succeeded' && outcome.pdf.sha256,
  })
})

test('the body of a webhook has the labels of the render', () => {
  const labels = { reference: 'order 7/é', metadata: { customer: 'c-1', note: '' } }
  const body = JSON.parse(webhookBodyOf(anEvent(aManifest({ record: aRecord(labels) }))))
  expect(body).toMatchObject(labels)
})

test('the body of a webhook says how many pages there are, and has the warnings of a success and of a strict failure', () => {
  const warned = { warnings: [{ code: 'text_overflow', place: 'page 2', message: 'ж' }], warningsOmitted: 3 } as const
  const fields = { warnings: warned.warnings, warnings_omitted: 3 }
  const { outcome } = aManifest({})
  if (outcome.status !== 'succeeded') throw new Error('it succeeded')
  const bodyOf = (ended: Outcome) => JSON.parse(webhookBodyOf(anEvent(aManifest({ outcome: ended }))))
  expect(bodyOf({ ...outcome, pages: 4, ...warned })).toMatchObject({ status: 'succeeded', pages: 4, ...fields })
  expect(bodyOf(aFailure(warned))).toMatchObject({ status: 'failed', ...fields })
})

test('the body of a webhook says of a failure what went wrong, in any script', () => {
  const error = { code: 'render_timeout', message: 'the render did not end within 25 seconds \u2028 ж 🙂' } as const
  const manifest = aManifest({ outcome: aFailure({ error }) })
  const { id } = manifest.render
  const body = webhookBodyOf(anEvent(manifest))
  expect(body).toBe(
    `{"id":"${renderUuid(id)}","render_id":"${id}","template":"invoice","status":"failed","error_code":"render_timeout","error_reason":"render_timeout","error_message":"${error.message}"}`,
  )
})

test('a test event has an id of its own, a UUIDv7 of its time, which is in its body', () => {
  const [one, other] = [1, 2].map((byte) => testEventOf(NOON, Buffer.alloc(10, byte)))
  expect(one?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(Number.parseInt(one?.id.replaceAll('-', '').slice(0, 12) ?? '', 16)).toBe(NOON)
  expect(other?.id).not.toBe(one?.id)
  expect(JSON.parse(one?.body ?? '')).toEqual({ id: one?.id, status: 'test', created_at: '2026-11-21T12:00:00.000Z' })
})
