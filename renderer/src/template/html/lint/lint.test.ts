import type { TemplateSource } from '@platen/contract/domain/tenant.ts'
import { expect, test } from 'vitest'
import { ignoredStyles } from './ignored.ts'
import { answerByDictionary } from './lexer.ts'
import { linted, lintSources } from './lint.ts'

/** The warnings of a source without a browser, as lines. */
function linesOf(template: string, html?: string): readonly string[] {
  const lints = lintSources({ html: { template, javascript: false } } as TemplateSource)
  const { warnings, questions } = linted(lints, html === undefined ? [] : [{ name: 'template.html', html }])
  const all = [...warnings, ...ignoredStyles(questions, answerByDictionary(questions))]
  return all.map(({ code, place = '-', message }) => `${code} ${place}: ${message}`)
}

test('the dictionary knows the usual mistakes', () => {
  const css = '@page { size: A44 }\np { colour: red; font-size: 12; color: redd }\n@meda print {}'
  expect(linesOf(`<style>${css}</style>`)).toEqual([
    expect.stringMatching(/^style_ignored template.html:1:16: size: A44 has no effect: it is no page size; /),
    'style_ignored template.html:2:5: colour has no effect: Chromium has no such property (did you mean color?)',
    'style_ignored template.html:2:18: font-size: 12 has no effect: a length needs a unit, such as 12px',
    'style_ignored template.html:2:33: color: redd has no effect: Chromium does not know this value',
    'style_ignored template.html:3:1: @meda has no effect: Chromium has no such rule (did you mean media?)',
  ])
})

test('nothing is said of what is written for other browsers, or asks first', () => {
  const css = `
    * { *zoom: 1; _height: 1px; filter: alpha(opacity=50); color: red\\9; -moz-foo: 1; mso-table-lspace: 0 }
    a::-moz-focus-inner { foo: bar }
    @supports (foo: bar) { p { foo: bar } }
    @media screen { p { foo: bar } }
    @-ms-viewport { width: device-width }
    p { width: 1px; width: newest(1px) }
    p { -webkit-newest: 1; newest: 1 }
    p { --own: { a: b }; color: var(--own) }
    .c { width: {{ width }}; color: {% if a %}red{% else %}{{ color }}{% endif %} }
    {{ css | raw }}
    {% for a in b %}.x{{ a }} { color: red } @page p{{ a }} { @top-left { content: counter(page) "{{ a }}" } }{% endfor %}`
  expect(linesOf(`<style>${css}</style><style media="screen">p { foo: bar }</style>`)).toEqual([])
})

test('branches of Liquid are looked at in the filled HTML', () => {
  const source = '{% if a %}<div class="a">{% else %}<div class="b">{% endif %}x'
  expect(linesOf(source)).toEqual([])
  expect(linesOf(`${source}</div>`, '<div class="a">x</div>')).toEqual([])
  expect(linesOf(`<p>\n${source}`, '<p>\n<div class="a">x')).toEqual(['markup_unclosed -: <div> is not closed'])
  const raw = '<p>{{ text | raw }}</p>'
  expect(linesOf(raw, '<p><b>x</p>')).toEqual(['markup_unclosed -: <b> is not closed before </p>'])
})

test('sources that are made to be slow are read in bounded steps', () => {
  const pieces = [
    'a{',
    '@media{',
    '@x{',
    'a{b:c}',
    '}',
    'a{b:url(',
    'p{font:12px a,',
    ':is(',
    '{{x}}',
    '<b style="{{a}}:b">',
    '\\',
    '"',
  ]
  for (const piece of pieces) {
    const source = `<style>${piece.repeat((64 * 1024) / piece.length)}`
    const { questions, warnings } = linted(
      lintSources({ html: { template: source, javascript: false } } as TemplateSource),
      [],
    )
    expect([questions.length < 400_000, warnings.length <= 30]).toEqual([true, true])
  }
})
