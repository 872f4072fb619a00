import type { RenderOptions } from '@platen/contract/domain/render-options.ts'
import { describe, expect, test } from 'vitest'
import { marginFaultOf, needsSourcePage, pageRules, sideMargins } from './page-css.ts'

/** The declarations that apply to every page. */
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

test.for<[RenderOptions, boolean, boolean]>([
  [{}, false, false],
  [{ page_size: 'A4' }, false, false],
  [{ page_size: 'A4', orientation: 'landscape', margin: 1 }, true, false],
  [{ orientation: 'landscape' }, false, true],
  [{ margin: 1 }, false, true],
  [{}, true, true],
  [{ page_size: 'A4', margin: { left: 1 } }, true, true],
  [{ page_size: 'A4', margin: { left: 1, right: 1 } }, true, false],
])('%j, with header or footer (%s), needs the page of the source: %s', ([options, hasEdges, isNeeded]) => {
  expect(needsSourcePage(options, hasEdges)).toBe(isNeeded)
})

test.for<[RenderOptions, string, string, string]>([
  [{}, '', '', '1cm 1cm'],
  [{ margin: '1in' }, '3cm', '4cm', '72pt 72pt'],
  [{ margin: { left: 5 } }, '3cm', '4.5cm', '5pt 4.5cm'],
  [{}, 'auto', '10%', '1cm 1cm'],
  [{}, 'calc(1cm + 1px)', '1px;color:red', '1cm 1cm'],
])('%j beside %s and %s of the source give the side margins %s', ([options, left, right, sides]) => {
  const margins = sideMargins(options, { size: '', left, right })
  expect(`${margins.left} ${margins.right}`).toBe(sides)
})

test.for<[RenderOptions, string | undefined, string | undefined]>([
  [{ page_size: 'A6' }, undefined, undefined],
  [{ page_size: 'A6', margin: 100 }, undefined, undefined],
  [{ page_size: 'A6', margin: 500 }, undefined, '0 × 0 of a page of 297.6 × 419.5'],
  [{ page_size: 'A6', margin: { left: '10cm' } }, undefined, '14.2 × 419.5 of a page of 297.6 × 419.5'],
  [{ page_size: 'A6', orientation: 'landscape', margin: { left: '10cm' } }, undefined, undefined],
  [{ page_size: { width: 128, height: 128 }, margin: 50 }, undefined, undefined],
  [{ page_size: { width: 127, height: 128 }, margin: 50 }, undefined, '27 × 28 of a page of 127 × 128'],
  [{ margin: 300 }, undefined, '0 × 241.9 of a page of 595.3 × 841.9'],
  [{ margin: 150 }, 'a5', undefined],
  [{ margin: 150 }, 'a6', '0 × 119.5 of a page of 297.6 × 419.5'],
  [{ margin: { top: 250, bottom: 145 } }, 'a6', '297.6 × 24.5 of a page of 297.6 × 419.5'],
  [{ margin: { left: 250, right: 145 } }, 'a6 landscape', '24.5 × 297.6 of a page of 419.5 × 297.6'],
])('says of %j on %s: %s', ([options, sourceSize, left]) => {
  const rest = ' points; at least 28 × 28 must be left'
  expect(marginFaultOf(options, sourceSize)).toBe(
    left === undefined ? undefined : `options.margin leaves ${left}${rest}`,
  )
})
