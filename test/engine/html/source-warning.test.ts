/** What html documents are warned of that their sources show: styles without an effect, fonts that are not there, tags that are not closed. */
import { describe, expect, test } from 'vitest'
import { NEVER } from '../../fixture/build.ts'
import { shared } from '../../fixture/lifetime.ts'
import { anEngine, aWork, fontsOf, sizeOf, type WorkParts } from './html-fixture.ts'

const opened = shared(() => anEngine())

async function render(html: string, parts?: WorkParts) {
  return opened().engine.render(aWork(`<!doctype html>\n${html}`, parts), NEVER)
}

/** The warnings as lines: `code place: message`. */
async function linesOf(html: string, parts?: WorkParts): Promise<readonly string[]> {
  const { warnings } = await render(html, parts)
  return warnings.map(({ code, place = '-', message }) => `${code} ${place}: ${message}`)
}

describe('the size of a page', () => {
  test.for([
    ['A6', '298x420'],
    ['A6 landscape', '420x298'],
    ['landscape a6', '420x298'],
    ['A6 portrait', '298x420'],
    ['tabloid', '792x1224'],
    ['TABLOID LANDSCAPE', '1224x792'],
    ['A6 !important', '298x420'],
    ['{{ size }}', '298x420'],
  ])('may be each that the options name: %s', async ([size, points]) => {
    const { pdf, warnings } = await render(`<style>@page { margin: 0; size: ${size} }</style>x`, {
      data: { size: 'A6' },
    })
    expect([sizeOf(pdf), warnings]).toEqual([points, []])
  })

  test.for([
    ['A44', ''],
    ['210', ''],
    ['80mm auto', '; a page of html is not as high as its content, but that of react_pdf is'],
    ['110mm 220mm landscape', '; lengths have no orientation: write the width first'],
  ])('is named if it is none: %s', async ([size, hint]) => {
    const known =
      'write A3, A4, A5, A6, letter, legal or tabloid, also with landscape, or two lengths, such as 80mm 200mm'
    expect(await linesOf(`<style>\n@page { size: ${size} }</style>x`)).toEqual([
      `style_ignored template.html:3:9: size: ${size} has no effect: it is no page size${hint}; ${known}`,
    ])
  })
})

describe('style_ignored', () => {
  test.for<[string, string, string]>([
    [
      'a property',
      'p { colour: red }',
      '2:12: colour has no effect: Chromium has no such property (did you mean color?)',
    ],
    [
      'a length without a unit',
      'p { font-size: 12 }',
      '2:12: font-size: 12 has no effect: a length needs a unit, such as 12px',
    ],
    ['a value', 'p { color: redd }', '2:12: color: redd has no effect: Chromium does not know this value'],
    [
      'a missing ;',
      'p { color: red\nfont-size: 1em }',
      '2:12: color: red font-size: 1em has no effect: a ; is missing before font-size',
    ],
    [
      'a counter of a target',
      'a::after { content: target-counter(attr(href), clause) }',
      '2:19: content: target-counter(attr(href), clause) has no effect: Chromium does not know this value',
    ],
    [
      'a leader',
      'a::after { content: leader(".") }',
      '2:19: content: leader(".") has no effect: Chromium does not know this value',
    ],
    ['a footnote', '.fn { float: footnote }', '2:14: float: footnote has no effect: Chromium does not know this value'],
    [
      'a running head',
      'h1 { string-set: head content() }',
      '2:13: string-set has no effect: Chromium has no such property',
    ],
    [
      'a page number',
      'p::after { content: counter(page) " of " counter(pages) }',
      '2:19: counter(page) is 0 here: Chromium counts pages in the boxes of @page, such as @bottom-right, and in header and footer',
    ],
    [
      'a right page',
      'h1 { break-before: right }',
      '2:13: break-before: right: Chromium breaks to the next page, on whichever side it is',
    ],
    [
      'a right page of old',
      'h1 { page-break-after: recto }',
      '2:13: page-break-after: recto has no effect: Chromium does not know this value',
    ],
    [
      'hyphens',
      'p { hyphens: auto }',
      '2:12: hyphens: auto: Chromium has no dictionaries here: use the filter hyphenate',
    ],
    [
      'a selector',
      'p, h1:nth(2) { color: red }',
      '2:8: the rule of p, h1:nth(2) has no effect: Chromium does not know this selector',
    ],
    [
      'a comment',
      '// red\np { color: red }',
      '2:8: the rule of // red p has no effect: Chromium does not know this selector; comments of CSS are /* … */',
    ],
    ['a rule', '@tailwind base;', '2:8: @tailwind has no effect: Chromium has no such rule'],
    [
      'a misspelt rule',
      '@meda print { p { color: red } }',
      '2:8: @meda has no effect: Chromium has no such rule (did you mean media?)',
    ],
    ['a page', '@page :nth(2) { margin: 0 }', '2:8: @page :nth(2) has no effect: there is no such page'],
    ['a descriptor of a page', '@page { marks: crop }', '2:16: marks has no effect: Chromium has no such property'],
    [
      'a descriptor of a font',
      '@font-face { font-family: F; src: url(data:,); font-wieght: 700 }',
      '2:55: font-wieght has no effect: Chromium has no such property (did you mean font-weight?)',
    ],
    [
      'a nested rule',
      'p { & b:foo { color: red } }',
      '2:12: the rule of & b:foo has no effect: Chromium does not know this selector',
    ],
    [
      'a rule that is open',
      'p { color: red\n',
      '2:8: this rule is not closed: } is missing, so the rules after it count only within it',
    ],
    [
      'variables of SCSS',
      '$red: #f00;\np { color: $red }',
      '2:8: the rule of $red: #f00; p has no effect: Chromium does not know this selector',
    ],
    [
      'a rule on paper',
      '@media print { p { colour: red } }',
      '2:27: colour has no effect: Chromium has no such property (did you mean color?)',
    ],
  ])('names %s', async ([, css, line]) => {
    const [first, ...others] = await linesOf(`<style>${css}</style><p>x`)
    expect([first, others.filter((other) => !/\$red/.test(other))]).toEqual([`style_ignored template.html:${line}`, []])
  })

  test('lists the boxes of a page', async () => {
    const [line] = await linesOf('<style>@page { @top-middle { content: "x" } }</style>x')
    expect(line).toMatch(
      /^style_ignored template.html:2:16: @top-middle has no effect: a page has no such box; there are top-left-corner, /,
    )
  })

  test('is told once for equal styles, with their number, and for ten of a kind', async () => {
    const rule = '.a { colour: red }'
    expect(await linesOf(`<style>${rule}${rule}${rule}</style>x`)).toEqual([
      'style_ignored template.html:2:13: colour has no effect: Chromium has no such property (did you mean color?) (3 times)',
    ])
    const many = await linesOf(
      `<style>p { ${Array.from({ length: 30 }, (_, index) => `zz${index}: 1`).join(';')} }</style>x`,
    )
    expect([many.length, many.at(-1)]).toEqual([10, expect.stringMatching(/; and 20 more of this kind$/)])
  })

  test('is told of attributes, of header and footer, and of what the data write', async () => {
    const footer = '<b style="colour: red">x</b>'
    expect(await linesOf('<p style="colr: red">x', { footer })).toEqual([
      'style_ignored template.html:2:11: colr has no effect: Chromium has no such property (did you mean color?)',
      'style_ignored footer.html:1:11: colour has no effect: Chromium has no such property (did you mean color?)',
    ])
    const html = '{% for width in widths %}<p style="color: red; width: {{ width }}">x</p>{% endfor %}'
    expect(await linesOf(html, { data: { widths: ['10px', 12, 12, '1.5rem'] } })).toEqual([
      'style_ignored template.html:2:48: width: 12 has no effect: a length needs a unit, such as 12px',
    ])
    // The next document has the same questions, and others.
    expect(await linesOf(html, { data: { widths: ['10px'] } })).toEqual([])
    const sheet = '<style>\n{% for each in list %}\n  .c{{ each }} { color: {{ each }} }\n{% endfor %}</style>x'
    expect(await linesOf(sheet, { data: { list: ['red', 'rde'] } })).toEqual([
      'style_ignored template.html:4:18: color: rde has no effect: Chromium does not know this value',
    ])
  })

  test('knows that Chromium takes lengths without units where there is no doctype', async () => {
    const work = aWork('<style>p { font-size: 12 }</style><p>x')
    expect((await opened().engine.render(work, NEVER)).warnings).toEqual([])
    expect(await linesOf('<style>p { font-size: 12 }</style><p>x')).toHaveLength(1)
  })
})

describe('font_absent', () => {
  const listed =
    'there are DejaVu Sans, DejaVu Serif, DejaVu Sans Mono, Helvetica, Times, Courier, sans-serif, serif, monospace and families of other scripts'
  test.for([
    ['<style>p { font-family: Calibri }</style><p>x', '2:12: there is no font Calibri, so'],
    ['<style>p { font: bold 12px/1.5 "Open Sans", Lato }</style><p>x', '2:12: there is no font Open Sans, Lato, so'],
    ['<p style="font-family: Arail">x', '2:11: there is no font Arail (did you mean Arial?), so'],
    ['<font face="Comic Sans">x</font>', '2:13: there is no font Comic Sans, so'],
    ['<svg><text y="20" font-family="Futura">x</text></svg>', '2:32: there is no font Futura, so'],
  ] as const)('names the families of %s', async ([html, line]) => {
    expect(await linesOf(html)).toEqual([`font_absent template.html:${line} another one is taken; ${listed}`])
  })

  test('names a family of the data', async () => {
    expect(await linesOf('<p style="font-family: {{ font }}">x', { data: { font: 'Gotham' } })).toEqual([
      `font_absent template.html:2:11: there is no font Gotham, so another one is taken; ${listed}`,
    ])
  })

  test.for([
    'Calibri, sans-serif',
    '-apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, "Helvetica Neue", Arial',
    'verdana',
    'inherit',
    'var(--font)',
    '"DejaVu Sans Mono"',
    'Own',
    'cursive',
  ])('says nothing of %s', async (family) => {
    const face = '@font-face { font-family: Own; src: local("DejaVu Sans") }'
    expect(await linesOf(`<style>${face} p { font-family: ${family} }</style><p>x`)).toEqual([])
  })

  test.for(['Helvetica', 'Georgia', 'Verdana', 'Noto Sans Thai', 'Menlo'])(
    'agrees with Chromium: %s is there',
    async (family) => {
      const own = fontsOf((await render(`<style>p { font-family: "${family}", "DejaVu Serif" }</style><p>x`)).pdf)
      expect(own).not.toContain('DejaVuSerif')
    },
  )
})
