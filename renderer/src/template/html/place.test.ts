import { describe, expect, test } from 'vitest'
import { placeOfAddress, placeOfLine, placeOfTag } from './place.ts'

const source = (template: string, edges: { header?: string; footer?: string } = {}) => ({
  template,
  javascript: true,
  ...edges,
})

describe('the place of an address', () => {
  test.for<[string, string, string, string | undefined]>([
    ['an attribute', '<p>\n <img src="a.png">', 'a.png', 'template.html:2:12'],
    ['an attribute without quotes', '<img src=a.png>', 'a.png', 'template.html:1:10'],
    ['a style', "p { background: url( 'a.png' ) }", 'a.png', 'template.html:1:23'],
    [
      'its second mention, if the first is part of another',
      '<img src="b/a.png" srcset="a.png 2x">',
      'a.png',
      'template.html:1:28',
    ],
    ['an address as HTML escapes it', '<a href="x?a=1&amp;b=2">', 'x?a=1&b=2', 'template.html:1:10'],
    ['an origin as Chromium completes it', '<img src="https://a.test">', 'https://a.test/', 'template.html:1:11'],
    ['an address without its scheme', '<img src="//a.test/b">', 'https://a.test/b', 'template.html:1:11'],
    ['one that a value completes', '<img src="{{ base }}/a.png">', 'https://a.test/a.png', undefined],
    ['one that is only part of a word', '<p>a.png</p>', 'a.png', undefined],
    ['none', '', '', undefined],
  ])('is found for %s', ([, template, address, place]) => {
    expect(placeOfAddress(source(template), address)).toBe(place)
  })

  test('is that of the template before those of its header and footer', () => {
    const img = '\n<img src="a.png">'
    expect(placeOfAddress(source('', { header: img, footer: img }), 'a.png')).toBe('header.html:2:11')
    expect(placeOfAddress(source(img, { footer: img }), 'a.png')).toBe('template.html:2:11')
    expect(placeOfAddress(source('', { footer: img }), 'a.png')).toBe('footer.html:2:11')
  })
})

test('the place of a tag does not depend on its case', () => {
  expect(placeOfTag(source('<p>\n<SCRIPT>'), '<script')).toBe('template.html:2:1')
  expect(placeOfTag(source('<p>'), '<script')).toBeUndefined()
})

describe('the place of a line', () => {
  const html = ['<p>1</p>', '<p>2</p>', '    fail()', 'value("secret")'].join('\n')
  test.for<[string, string, number, number, string | undefined]>([
    ['was moved', '<p>{{ n }}</p>\n  fail()', 3, 7, 'template.html:2:5'],
    ['is twice in the source', 'fail()\nfail()', 3, 7, undefined],
    ['has a value', 'value("{{ x }}")', 4, 1, undefined],
    ['is not there', '', 9, 1, undefined],
    ['is shorter than said', '  fail()', 3, 500, 'template.html:1:1'],
  ])('is found, or not, if it %s', ([, template, line, column, place]) => {
    expect(placeOfLine(source(template), html, { line, column })).toBe(place)
  })

  test('is not looked for in a minified library', () => {
    const long = 'x'.repeat(3000)
    expect(placeOfLine(source(long), long, { line: 1, column: 1 })).toBeUndefined()
  })
})
