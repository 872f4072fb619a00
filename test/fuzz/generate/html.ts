/** Templates in Liquid and HTML: well-formed for the most part, and noise. */
import * as fc from 'fast-check'
import { name, text, words } from './json.ts'

const expression = fc.oneof(
  name.map((field) => `data['${field}']`),
  fc.constantFrom(
    'a',
    'b.c',
    'rows',
    'rows.size',
    'rows[0].a',
    'rows.first',
    "'x'",
    '1',
    '-1',
    '1e9',
    '(1..9)',
    '(1..99999999)',
    'nil',
    'empty',
    'forloop.index',
    'constructor',
    'a.__proto__',
    'options.filename',
  ),
)
const filter = fc.oneof(
  fc.constantFrom(
    'upcase',
    'size',
    'first',
    'last',
    'join: ","',
    'split: ""',
    'reverse',
    'sort',
    'uniq',
    'map: "a"',
    'where: "a", 1',
    'date: "%Y"',
    'date: "%99999Y"',
    'default: 1',
    'escape',
    'raw',
    'json',
    'times: 1e300',
    'divided_by: 0',
    'modulo: 0',
    'round: 400',
    'slice: -1, 9',
    'truncate: 3',
    'replace: "", "aa"',
    'append: a',
    'url_encode',
    'strip_html',
    'sum',
    'concat: rows',
    'nothing',
  ),
  fc
    .tuple(
      fc.constantFrom('currency', 'number', 'date_time', 'percent', 'date_long'),
      fc.constantFrom('', ': a', ': "EUR"', ': "EUR", "de"', ': 1, "x-y-z-"', ': "de", 99', ': rows'),
    )
    .map(([each, given]) => each + given),
)
const output = fc
  .tuple(expression, fc.array(filter, { maxLength: 3 }))
  .map(([each, filters]) => `{{ ${[each, ...filters].join(' | ')} }}`)
const tag = words(
  'p div table tr td ul li h1 span svg rect style script textarea template math details iframe title base' +
    ' noscript plaintext b form select frameset',
)
const style = fc.constantFrom(
  'color:red',
  'position:fixed',
  'page-break-before:always',
  'columns:2;height:10px',
  'width:1e9px',
  'font:999px serif',
  'float:left',
  'display:grid',
  'transform:rotate(45deg)',
  'break-inside:avoid',
  'background:url(asset:logo.png)',
  'background:url(file:///etc/passwd)',
  'height:1e6px',
  'content:"x"',
  'margin:-99px',
  'zoom:0.001',
  'writing-mode:vertical-rl',
  'filter:blur(9px)',
)
const attribute = fc.oneof(
  style.map((given) => `style="${given}"`),
  fc
    .tuple(
      fc.constantFrom('href', 'src', 'srcset', 'class', 'id', 'onload', 'colspan', 'content'),
      fc.oneof(
        output,
        fc.constantFrom(
          'asset:logo.png',
          'asset:',
          'javascript:1',
          'data:text/html,x',
          '#a',
          '99999',
          '//a.example',
          'https://a.example/a.png',
        ),
      ),
    )
    .map(([each, given]) => `${each}="${given}"`),
)

const body: fc.Arbitrary<string> = fc.letrec<{ node: string; nodes: string }>((tie) => ({
  nodes: fc.array(tie('node'), { maxLength: 5 }).map((nodes) => nodes.join('')),
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    output,
    fc
      .tuple(tag, fc.array(attribute, { maxLength: 3 }), tie('nodes'))
      .map(([each, attributes, inner]) => `<${[each, ...attributes].join(' ')}>${inner}</${each}>`),
    fc.tuple(expression, tie('nodes')).map(([each, inner]) => `{% for x in ${each} limit: 20 %}${inner}{% endfor %}`),
    fc
      .tuple(expression, fc.constantFrom('== 1', '> a', 'contains "x"', 'and rows', ''), tie('nodes'))
      .map(([each, test, inner]) => `{% if ${each} ${test} %}${inner}{% else %}-{% endif %}`),
    fc
      .tuple(expression, tie('nodes'))
      .map(([each, inner]) => `{% assign a = ${each} %}{% capture b %}${inner}{% endcapture %}`),
    fc.constantFrom(
      '{% include "x" %}',
      '{% render "x" %}',
      '{% layout "x" %}',
      '{% raw %}{{',
      '{% endfor %}',
      '{{',
      '{% tablerow x in rows %}x{% endtablerow %}',
      '{% cycle 1, 2 %}',
      '{% increment a %}',
      '{% liquid echo a %}',
      '<!--',
      ']]>',
      '<![CDATA[',
      '&#0;',
      '&#xd800;',
      '</html>',
      '<meta http-equiv="refresh" content="0">',
      '<link rel="stylesheet" href="asset:a.css">',
    ),
  ),
})).nodes

export const html = fc.record({
  template: body,
  header: fc.option(body, { nil: undefined, freq: 4 }),
  footer: fc.option(body, { nil: undefined, freq: 4 }),
})
