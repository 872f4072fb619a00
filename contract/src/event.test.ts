import { expect, test } from 'vitest'
import { aManifest } from '../../test/fixture/build.ts'
import { eventOf } from './event.ts'

const key = new Uint8Array(32).fill(7)

test('an event made again from the same manifest has the same id', () => {
  const manifest = aManifest({})
  expect(eventOf(manifest, key)).toEqual(eventOf(structuredClone(manifest), key))
})

test('the id is a UUIDv7 of the time at which the render ended', () => {
  const manifest = aManifest({})
  const { id } = eventOf(manifest, key)
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(manifest.outcome.finishedAt)
})

test('another key gives another id, so an id cannot be made without it', () => {
  const manifest = aManifest({})
  expect(eventOf(manifest, new Uint8Array(32)).id).not.toBe(eventOf(manifest, key).id)
})
