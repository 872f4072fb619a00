import type { RenderOptions } from '@platen/contract/render.ts'
import { describe, expect, test } from 'vitest'
import { pageRules, turnsSourcePage } from './paper.ts'

/** The declarations in force on every page. */
function declarations(options: RenderOptions, sourceSize?: string): string {
  return /^@page\{(.*?)\}/.exec(pageRules(options, sourceSize))?.[1]?.replaceAll(' !important', '') ?? ''
}

describe('pageRules', () => {
  test.for<[RenderOptions, string]>([
    [{}, ''],
    [{ filename: 'x.pdf' }, ''],
    [{ page_size: 'A5' }, 'size:419.5276pt 595.2756pt'],
    [{ page_size: 'A5', orientation: 'landscape' }, 'size:595.2756pt 419.5276pt'],
    [{ page_size: 'LETTER', orientation: 'portrait' }, 'size:612pt 792pt'],
    [{ page_size: 'TABLOID' }, 'size:792pt 1224pt'],
    [{ page_size: { width: 500, height: 300 } }, 'size:500pt 300pt'],
    [{ page_size: { width: 500, height: 300 }, orientation: 'portrait' }, 'size:300pt 500pt'],
    [{ margin: 20 }, 'margin:20pt'],
    [{ margin: '1in' }, 'margin:72pt'],
    [{ margin: { top: '10mm', left: 0 } }, 'margin-top:28.3465pt;margin-left:0pt'],
    [{ margin: {} }, ''],
    [{ page_size: 'LEGAL', margin: 1 }, 'size:612pt 1008pt;margin:1pt'],
  ])('turns %j into %s', ([options, css]) => {
    expect(declarations(options)).toBe(css)
  })

  test.for<[string | undefined, string]>([
    [undefined, '841.8898pt 595.2756pt'],
    ['auto', '841.8898pt 595.2756pt'],
    ['portrait', '841.8898pt 595.2756pt'],
    ['a5', '595.2756pt 419.5276pt'],
    ['letter portrait', '792pt 612pt'],
    ['ledger', '1224pt 792pt'],
    ['100mm 200mm', '566.9291pt 283.4646pt'],
    ['300pt', '300pt 300pt'],
    ['nonsense 3furlong', '841.8898pt 595.2756pt'],
  ])('turns a page whose source says %s', ([sourceSize, size]) => {
    expect(declarations({ orientation: 'landscape' }, sourceSize)).toBe(`size:${size}`)
  })

  test('beats the rules a source may have for the first, left, right and blank pages', () => {
    expect(pageRules({ margin: 0 })).toBe(
      ['', ' :blank', ' :left', ' :right', ' :first'].map((page) => `@page${page}{margin:0pt !important}`).join(''),
    )
  })
})

test.for<[RenderOptions, boolean]>([
  [{}, false],
  [{ page_size: 'A4' }, false],
  [{ page_size: 'A4', orientation: 'landscape' }, false],
  [{ orientation: 'landscape' }, true],
])('%j turns the page of the source: %s', ([options, isTurned]) => {
  expect(turnsSourcePage(options)).toBe(isTurned)
})
