import { expect, test } from 'vitest'
import { aManifest } from '../../../test/fixture/build.ts'
import { canTransition, decodeManifest, encodeManifest, type Status, UnreadableManifest } from './render.ts'

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

test('a manifest is read as it was written', () => {
  const manifest = aManifest()
  expect(decodeManifest(encodeManifest(manifest))).toEqual(manifest)
})

test.for<[string, string]>([
  ['nothing', ''],
  ['half of one', Buffer.from(encodeManifest(aManifest())).toString().slice(0, 100)],
  ['zeros', '\0'.repeat(100)],
  ['null', 'null'],
  ['another object', '{"render":{}}'],
])('%s is no manifest, and what it says is quoted nowhere', ([, text]) => {
  expect(() => decodeManifest(Buffer.from(text))).toThrow(
    new UnreadableManifest(`the manifest cannot be read: its ${text.length} bytes are not a manifest`),
  )
})
