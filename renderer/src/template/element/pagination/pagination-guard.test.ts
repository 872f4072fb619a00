import { expect, test } from 'vitest'
import { EndlessPagination, openPaginationGuard } from './pagination-guard.ts'

test('a length that is read for ever comes to an end, however many elements have it', () => {
  const guard = openPaginationGuard(1)
  const lengths = [guard(), guard()].map(
    ({ props }) => (props as { style: { width: { toString(): string } } }).style.width,
  )
  const read = () => {
    for (let reading = 0; reading < 100_000; reading += 1) String(lengths[reading % 2])
  }
  expect(String(lengths[0])).toBe('0%')
  expect(read).toThrow(EndlessPagination)
})
