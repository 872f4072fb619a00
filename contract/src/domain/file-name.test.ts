import { describe, expect, test } from 'vitest'
import { aRecord } from '../../../test/fixture/build.ts'
import { contentDisposition, fileNameOf } from './file-name.ts'

describe('fileNameOf', () => {
  test('is the name asked for', () => {
    expect(fileNameOf(aRecord({ options: { filename: 'offer.pdf' } }))).toBe('offer.pdf')
  })

  test.for([
    ['offer', 'offer.pdf'],
    ['offer.exe', 'offer.exe.pdf'],
    ['OFFER.PDF', 'OFFER.PDF'],
  ] as const)('ends in .pdf if %s was asked for', ([filename, name]) => {
    expect(fileNameOf(aRecord({ options: { filename } }))).toBe(name)
  })

  test('is made of template and id where none was asked for', () => {
    const record = aRecord()
    expect(fileNameOf(record)).toBe(`invoice-${record.id}.pdf`)
  })
})

describe('contentDisposition', () => {
  test.for([
    ['invoice.pdf', `inline; filename="invoice.pdf"; filename*=UTF-8''invoice.pdf`],
    ['Zażółć.pdf', `inline; filename="Za____.pdf"; filename*=UTF-8''Za%C5%BC%C3%B3%C5%82%C4%87.pdf`],
    ["it's (1)*.pdf", `inline; filename="it's (1)*.pdf"; filename*=UTF-8''it%27s%20%281%29%2A.pdf`],
    ['100%41.pdf', `inline; filename="100_41.pdf"; filename*=UTF-8''100%2541.pdf`],
    ['a"b\\c.pdf', `inline; filename="a_b_c.pdf"; filename*=UTF-8''a%22b%5Cc.pdf`],
    ['🧾.pdf', `inline; filename="_.pdf"; filename*=UTF-8''%F0%9F%A7%BE.pdf`],
    ['\ud800.pdf', `inline; filename="_.pdf"; filename*=UTF-8''%EF%BF%BD.pdf`],
  ] as const)('spells %s so that every client can read it', ([name, expected]) => {
    expect(contentDisposition(name)).toBe(expected)
  })
})
