import { expect, test } from 'vitest'
import { mayFollow, type Status } from './render.ts'

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
  expect(mayFollow(from, to)).toBe(allowed)
})
