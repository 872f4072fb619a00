import { expect, test } from 'vitest'
import { aManifest, anAbandonedManifest, aRecord, NOON } from '../../../test/fixture/build.ts'
import {
  cancellationOf,
  canTransition,
  decodeManifest,
  encodeManifest,
  erasedEndOf,
  type Manifest,
  removedManifestOf,
  type Status,
  tombstoneOf,
  UnreadableManifest,
  viewOf,
} from './render.ts'

test.for<[Status, Status, boolean]>([
  ['queued', 'running', true],
  ['queued', 'succeeded', true],
  ['queued', 'failed', true],
  ['queued', 'queued', false],
  ['running', 'running', true],
  ['running', 'succeeded', true],
  ['running', 'failed', true],
  ['running', 'queued', false],
  ['succeeded', 'succeeded', false],
  ['succeeded', 'failed', false],
  ['succeeded', 'running', false],
  ['failed', 'succeeded', false],
  ['failed', 'failed', false],
  ['failed', 'queued', false],
])('from %s to %s: %s', ([from, to, allowed]) => {
  expect(canTransition(from, to)).toBe(allowed)
})

test.for<Manifest>([
  aManifest(),
  removedManifestOf(aManifest()),
  anAbandonedManifest(),
  cancellationOf(aRecord(), NOON),
  tombstoneOf(aRecord(), NOON),
  tombstoneOf({ id: aRecord().id, storage: aRecord().storage }, NOON),
])('a manifest of the kind $kind is read as it was written', (manifest) => {
  expect(decodeManifest(encodeManifest(manifest))).toEqual(manifest)
})

test('how an erased render ended says nothing of its request, by its tombstone or by its record', () => {
  const personal = { webhookUrl: 'https://ada', reference: 'ada', metadata: { name: 'ada' }, requestId: 'ada' }
  const record = aRecord({ ...personal, options: { filename: 'ada.pdf' } })
  const tombstone = tombstoneOf(aManifest({ record }).render, NOON)
  expect(JSON.stringify([tombstone, viewOf(tombstone), viewOf(erasedEndOf(record, tombstone))])).not.toContain('ada')
})

test.for<[string, string]>([
  ['nothing', ''],
  ['half of one', Buffer.from(encodeManifest(aManifest())).toString().slice(0, 100)],
  ['zeros', '\0'.repeat(100)],
  ['null', 'null'],
  ['another object', '{"version":1,"render":{}}'],
  ['one without a render', '{"version":1,"kind":"ended","outcome":{}}'],
  ['one of an unknown kind', '{"version":1,"kind":"lost","render":{},"outcome":{}}'],
])('%s is no manifest, and what it says is quoted nowhere', ([, text]) => {
  expect(() => decodeManifest(Buffer.from(text))).toThrow(
    new UnreadableManifest(`the manifest cannot be read: its ${text.length} bytes are not a manifest`),
  )
})
