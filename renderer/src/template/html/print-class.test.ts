import { expect, test } from 'vitest'
import { withRenderDate } from './print-class.ts'

test.for<[html: string, printed: string]>([
  ['<span class="date"></span>', '<span class="print-date">D</span>'],
  ["<b class='small date x'>old</b>", '<b class="small print-date x">D</b>'],
  ['<i CLASS = date>old<u>x</u></i>', '<i CLASS = "print-date">D<u>x</u></i>'],
  ['<i title="a>b" class="date"></i>', '<i title="a>b" class="print-date">D</i>'],
  ['<i class="d&#97;te"></i>', '<i class="print-date">D</i>'],
  ['<i title=it\'s><b class="date"></b></i>', '<i title=it\'s><b class="print-date">D</b></i>'],
  ['<i/class=date></i>', '<i/class="print-date">D</i>'],
  ['<span class="url">x</span>', '<span class="print-url">x</span>'],
  [
    '<style>.date{color:red} p.url:x{} .dates{}</style><p class="url">',
    '<style>.print-date{color:red} p.print-url:x{} .dates{}</style><p class="print-url">',
  ],
  ['<p class="pageNumber title">date url</p>', '<p class="pageNumber title">date url</p>'],
  ['<p class="update curl">class="date"</p>', '<p class="update curl">class="date"</p>'],
  ['<p class="date', '<p class="date'],
])('%s becomes %s', ([html, printed]) => {
  expect(withRenderDate(html, () => 'D')).toBe(printed)
})

test('takes time in proportion to the length', () => {
  for (const part of ['<i class="', `<i title='class="date`, '<style class=date>', '<i class=date ']) {
    const html = `<b class="url"></b>${part.repeat(100_000)}`
    expect(withRenderDate(html, () => 'D').length).toBeGreaterThan(html.length)
  }
})
