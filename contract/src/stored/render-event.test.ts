import { expect, test } from 'vitest'
import { aFailure, aManifest, anEvent, aRecord } from '../../../test/fixture/build.ts'
import { FORMAT } from '../domain/format.ts'
import type { Ended, EndedRender } from '../domain/render.ts'
import { renderEventCodec, renderEventSchema } from './render-event.ts'

/** The fields of a render that an event carries. Compiles only while it agrees with the type. */
const FIELDS: { readonly [Name in keyof Required<EndedRender>]: {} extends Pick<EndedRender, Name> ? 'may' : 'must' } =
  {
    id: 'must',
    tenant: 'must',
    account: 'must',
    environment: 'must',
    mode: 'must',
    engine: 'must',
    template: 'must',
    options: 'must',
    requestData: 'may',
    strict: 'may',
    storage: 'must',
    webhookUrl: 'may',
    reference: 'may',
    metadata: 'may',
    batch: 'may',
    requestId: 'must',
    trace: 'may',
    acceptedAt: 'must',
    units: 'must',
    period: 'must',
    retentionDays: 'must',
  }

const { encode, decode } = renderEventCodec()
const version = String(FORMAT)
const WARNED = { warnings: [{ code: 'text_overflow', place: 'page 1', message: '' }], warningsOmitted: 2 } as const

test('the schema of an event has the fields of the render that the type has', () => {
  const { properties, required } = renderEventSchema.properties.manifest.properties.render
  expect(Object.keys(properties).sort()).toStrictEqual(Object.keys(FIELDS).sort())
  const must = Object.entries(FIELDS).flatMap(([name, how]) => (how === 'must' ? [name] : []))
  expect([...required].sort()).toStrictEqual(must.sort())
})

test.for<[string, Ended]>([
  ['a success', aManifest()],
  ['a document with a warning', aManifest({ outcome: { ...aManifest().outcome, ...WARNED } })],
  ['a strict failure', aManifest({ outcome: aFailure(WARNED) })],
  ['a failure', aManifest({ outcome: aFailure() })],
  ['a render with a webhook', aManifest({ record: aRecord({ webhookUrl: 'https://example.com/hook' }) })],
])('an event of %s is read as it was written', ([, manifest]) => {
  const event = anEvent(manifest)
  expect(decode(version, Buffer.from(encode(event)))).toStrictEqual({ value: event })
})

test('an event is read with fields that a newer version has added', () => {
  const { manifest, ...rest } = anEvent()
  const event = { ...rest, manifest: { ...manifest, later: 1, render: { ...manifest.render, later: 2 } }, later: 3 }
  expect(decode(version, Buffer.from(JSON.stringify(event)))).toStrictEqual({ value: event })
})

test.for<[string, object, string]>([
  ['without an id', { id: undefined }, '/id is required'],
  ['of a type of its own', { type: 'render.lost' }, '/type must be one of'],
  ['without an outcome', { manifest: { ...aManifest(), outcome: undefined } }, '/manifest/outcome is required'],
  [
    'of warnings that are none',
    { manifest: { ...aManifest(), outcome: { ...aManifest().outcome, warnings: [{ code: 1 }] } } },
    '/manifest/outcome',
  ],
  ['of an outcome that is none', { manifest: { ...aManifest(), outcome: { status: 'lost' } } }, '/manifest/outcome'],
])('an event %s is refused', ([, fields, fault]) => {
  const bytes = Buffer.from(JSON.stringify({ ...anEvent(), ...fields }))
  expect(decode(version, bytes)).toStrictEqual({ fault: expect.stringContaining(fault) })
})
