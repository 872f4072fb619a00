import { expect, test } from 'vitest'
import { startOf } from './start.ts'

const LOG = { first: 3, end: 9 }

test.for([
  { name: 'nothing is committed', offset: -1, start: 3, isChecked: false },
  { name: 'retention has deleted the committed record', offset: 2, start: 3, isChecked: false },
  { name: 'retention has deleted the record before', offset: 3, start: 3, isChecked: false },
  { name: 'the record before is there', offset: 4, start: 4, isChecked: true },
  { name: 'all is committed', offset: 9, start: 9, isChecked: true },
  { name: 'more was committed than there is', offset: 10, start: 3, isChecked: false },
])('a partition starts in its log when $name', ({ offset, start, isChecked }) => {
  const fingerprint = '0123456789abcdef'
  expect(startOf({ offset, fingerprint }, LOG)).toEqual({
    offset: start,
    fingerprint: isChecked ? fingerprint : undefined,
  })
})
