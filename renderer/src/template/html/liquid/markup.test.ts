import type { JsonObject } from '@platen/lib/brand.ts'
import { array, assert, constantFrom, jsonValue, property, record, tuple } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aRenderWork } from '../../../../../test/fixture/render/work.ts'
import { fillHtml } from '../fill.ts'

const DATA: JsonObject = {
  address: 'Acme & Sons\n1 <Main> St\r\nLeeds',
  name: 'Tom & Co',
  list: ['a<b', 'c&d'],
  rows: [{ name: `O'Neil </script><b>"x"\u2028` }],
  body: '<i>body</i>\nend',
  page: '<p>Tom &amp; <b>Co</b> &copy;</p>',
  icon: '\ufdd0\ue000<',
}

function fill(template: string, data = DATA): string {
  return fillHtml(aRenderWork({ data, template: { html: { template, javascript: false } } })).html
}

describe('a filter that gives HTML', () => {
  test.for([
    ['{{ address | newline_to_br }}', 'Acme &amp; Sons<br />\n1 &lt;Main&gt; St<br />\nLeeds'],
    ['{{ address | escape | newline_to_br }}', 'Acme &amp; Sons<br />\n1 &lt;Main&gt; St<br />\nLeeds'],
    ['{{ address | newline_to_br | escape }}', 'Acme &amp; Sons&lt;br /&gt;\n1 &lt;Main&gt; St&lt;br /&gt;\nLeeds'],
    ['{{ address | newline_to_br | strip_newlines }}', 'Acme &amp; Sons<br />1 &lt;Main&gt; St<br />Leeds'],
    ['{{ address | newline_to_br | upcase }}', 'ACME &amp; SONS<br />\n1 &lt;MAIN&gt; ST<br />\nLEEDS'],
    ['{{ address | newline_to_br | strip_html }}', 'Acme &amp; Sons\n1 &lt;Main&gt; St\nLeeds'],
    ['{{ address | newline_to_br | truncate: 16 }}', 'Acme &amp; Sons<br />\n...'],
    ['{{ address | newline_to_br | replace: "<br />", "," }}', 'Acme &amp; Sons,\n1 &lt;Main&gt; St,\nLeeds'],
    ['{% assign x = address | newline_to_br %}{{ x }}', 'Acme &amp; Sons<br />\n1 &lt;Main&gt; St<br />\nLeeds'],
    ['{% echo address | newline_to_br %}', 'Acme &amp; Sons<br />\n1 &lt;Main&gt; St<br />\nLeeds'],
    [
      '{% assign lines = address | newline_to_br | split: "<br />" %}{% for line in lines %}[{{ line | strip }}]{% endfor %}',
      '[Acme &amp; Sons][1 &lt;Main&gt; St][Leeds]',
    ],
    [
      '{{ name | escape }} {{ name | xml_escape }} {{ name | escape | escape }}',
      'Tom &amp; Co Tom &amp; Co Tom &amp; Co',
    ],
    ['{{ name | escape | upcase | truncate: 6, "" }}', 'TOM &amp; '],
    ['{{ name | escape | url_encode }} {{ name | escape | size }}', 'Tom+%26+Co 8'],
    ['{{ name | escape | append: list.first }}', 'Tom &amp; Coa&lt;b'],
    ['{{ page | escape_once }}', '&lt;p&gt;Tom &amp; &lt;b&gt;Co&lt;/b&gt; &copy;&lt;/p&gt;'],
    ['{{ page | strip_html }}', 'Tom &amp; Co &copy;'],
    ['{{ page | strip_html | truncatewords: 2, "&hellip;" }}', 'Tom &amp;&hellip;'],
    ['{{ list | join: "<br>" }}', 'a&lt;b<br>c&amp;d'],
    ['{% assign br = "<br>" %}{{ list | join: br }}', 'a&lt;b<br>c&amp;d'],
    ['{{ list | array_to_sentence_string: "&amp;" }}', 'a&lt;b &amp; c&amp;d'],
    ['{{ name | append: "<br>" | append: name }}', 'Tom &amp; Co<br>Tom &amp; Co'],
    ['{{ address | replace: "\n", "<br>" }}', 'Acme &amp; Sons<br>1 &lt;Main&gt; St\r<br>Leeds'],
    ['{{ nothing | default: "<i>none</i>" }} {{ name | default: "&ndash;" }}', '<i>none</i> Tom &amp; Co'],
    ['{{ "2026-11-21" | date: "%d&nbsp;%B" }}', '21&nbsp;November'],
    ['{% cycle "<br>", name %}{{ "Terms &amp; Conditions" }}', '<br>Terms &amp; Conditions'],
    ['<a title="{{ name | escape }}">', '<a title="Tom &amp; Co">'],
    ['{{ icon | append: "<br>" | upcase }}', '\ufdd0\ue000&lt;<br>'],
  ])('%s prints what it prints without automatic escaping, and data escaped', ([template = '', html]) => {
    expect(fill(template)).toBe(html)
  })

  test.for([
    ['{{ name | append: "<b>" }}', 'Tom &amp; Co&lt;b&gt;'],
    ['{{ name | prepend: "<a href=" | append: ">x</a>" }}', '&lt;a href=Tom &amp; Co&gt;x&lt;/a&gt;'],
    ['{{ "<info@example.com>" }} {{ "a < b & c" }}', '&lt;info@example.com&gt; a &lt; b &amp; c'],
  ])('%s has no whole HTML, and its text is printed', ([template = '', html]) => {
    expect(fill(template)).toBe(html)
  })

  test.for([
    ['{{ body | append: "<hr>" | raw }}', '<i>body</i>\nend<hr>'],
    ['{{ body | newline_to_br | raw }}', '<i>body</i><br />\nend'],
    ['{{ name | escape | newline_to_br | raw }}', 'Tom &amp; Co'],
    ['{{ body | escape | replace: "&lt;i&gt;", "<i>" | raw }}', '<i>body&lt;/i&gt;\nend'],
    ['{% assign x = body | replace: "\n", "<br>" %}{{ x | raw }}', '<i>body</i><br>end'],
    ['{% capture c %}<b>{{ name }}</b>{% endcapture %}{{ c | raw }}', '<b>Tom &amp; Co</b>'],
  ])('%s prints with raw what Liquid gives', ([template = '', html]) => {
    expect(fill(template)).toBe(html)
  })
})

describe('a capture', () => {
  test('is a text to a code', () => {
    const capture = '{% capture c %}{{ name }}{% endcapture %}'
    const code = '{% barcode PLACE, type: "code128" %}'
    expect(fill(capture + code.replace('PLACE', 'c'))).toBe(fill(code.replace('PLACE', 'name')))
  })

  test.for([
    ['{% capture c %}<b>{{ name }}</b>{% endcapture %}{{ c }}', '<b>Tom &amp; Co</b>'],
    ['{% capture c %}<b>{{ name }}</b>{% endcapture %}{{ c | upcase }}', '<b>TOM &amp; CO</b>'],
    ['{% capture c %} class="{{ name }}" {% endcapture %}<p {{ c | strip }}>', '<p class="Tom &amp; Co">'],
    ['{% capture c %}{{ name }}{% endcapture %}{% if c == name and name == c %}same{% endif %}', 'same'],
    ['{% capture c %}{{ name }}{% endcapture %}{% case c %}{% when "Tom & Co" %}same{% endcase %}', 'same'],
    ['{% capture c %}{{ name }}{% endcapture %}{% if c contains "& C" %}{{ c.size }}{% endif %}', '8'],
    ['{% capture c %}{% endcapture %}{% if c == blank and c == "" %}{{ c | default: "none" }}{% endif %}', 'none'],
    ['{% capture c %}9{% endcapture %}{% if c > 8 %}{{ c | plus: 1 }}{% endif %}', '10'],
    [
      '{% capture c %}{% for x in (1..2) %}{{ name }},{{ list | join: "," }},{% endfor %}{% endcapture %}{{ c | split: "," | uniq | sort | join: "; " }}',
      'Tom &amp; Co; a&lt;b; c&amp;d',
    ],
    [
      '{% capture c %}{{ name }}{% endcapture %}<a href="?q={{ c | url_encode }}" data-c="{{ c | json }}">',
      '<a href="?q=Tom+%26+Co" data-c="&#34;Tom &amp; Co&#34;">',
    ],
    ["{% capture c %}Don't {{ name }}{% endcapture %}{% for x in c %}{{ x }}{% endfor %}", "Don't Tom &amp; Co"],
  ])('%s is HTML where it is printed, and its text elsewhere', ([template = '', html]) => {
    expect(fill(template)).toBe(html)
  })
})

describe('json', () => {
  const code = String.raw`[{"name":"O\u0027Neil \u003c/script\u003e\u003cb\u003e\"x\"\u2028"}]`

  test.for([
    ['<script>const rows = {{ rows | json }}</script>', `<script>const rows = ${code}</script>`],
    [
      '<SCRIPT type=module>{% if rows %}f({{ rows | json }}){% endif %}</SCRIPT >',
      `<SCRIPT type=module>f(${code})</SCRIPT >`,
    ],
    ['{% assign j = rows | json %}<script>{{ j }}{% echo j %}</script>', `<script>${code}${code}</script>`],
    ['<script>{{ rows | json | raw }}</script>', `<script>${code}</script>`],
    ['{{ rows | json | raw }}', code],
    ['{% capture c %}{{ rows | json | raw }}{% endcapture %}<script>{{ c }}</script>', `<script>${code}</script>`],
    ['<script>f({{ nothing | json }}, {{ nothing | json | default: "1" }})</script>', '<script>f(null, 1)</script>'],
    [
      "<script nonce='{{ name }}' async>{{ rows | json }}</script>",
      `<script nonce='Tom &amp; Co' async>${code}</script>`,
    ],
  ])('%s is code', ([template = '', html]) => {
    expect(fill(template)).toBe(html)
  })

  const text = '[{&#34;name&#34;:&#34;O&#39;Neil &lt;/script&gt;&lt;b&gt;\\&#34;x\\&#34;\u2028&#34;}]'
  test.for([
    '<script></script><p data-x="{{ rows | json }}">',
    '<div title="<script>" data-x="{{ rows | json }}">',
    '<div title=\'<script>\' data-x="{{ rows | json }}">',
    '<p a=<script> data-x="{{ rows | json }}">',
    '<!-- <script> --><p>{{ rows | json }}',
    '<style><script></style><p>{{ rows | json }}',
    '<textarea><script></textarea>{{ rows | json }}',
    '{% comment %}<script>{% endcomment %}{{ rows | json }}',
    '<script data-x="{{ rows | json }}">',
    '<scripts>{{ rows | json }}',
    '{{ "<script>" }}{{ rows | json }}',
    '<script src="a.js"></script><script>1</script>{% for x in (1..1) %}{{ rows | json }}{% endfor %}',
  ])('%s is a text', (template) => {
    expect(fill(template)).toContain(text)
  })

  test('in a script is read by JavaScript as the data, whatever they are', () => {
    assert(
      property(jsonValue(), array(constantFrom(...HOSTILE)), (value, texts) => {
        const data = { value, texts } as JsonObject
        const html = fill('<script>{{ value | json }}//{{ texts | json }}</script>', data)
        const [, first = '', second = ''] =
          /^<script>([^<>&'`\u2028\u2029]*)\/\/([^<>&'`\u2028\u2029]*)<\/script>$/.exec(html) ?? []
        expect([JSON.parse(first), JSON.parse(second)]).toEqual([JSON.parse(JSON.stringify(value)), texts])
      }),
    )
  })
})

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '<br />',
  '<b',
  ' onclick=x ',
  '</p><svg/onload=x>',
  '&lt;i&gt;',
  '&#60;i&#x3e;&amp;lt;',
  '&',
  ';',
  '\n',
  '\r\n',
  '<!--',
  '-->',
  ']]>',
  '\ufdd0',
  '\ufdd1\ue000',
  '{{ x }}',
  'Tom & Co',
  '\ud800',
  '\u2028',
  '0',
  '<<b>i>',
  '</script',
]

/** What a template may print of its own: the only signs in what is printed. */
const OWN = ['<br />', '<br>', '<i title="a">', '</i>']

/** Chains of filters without `raw`. `y` and `z` are data. */
const FILTERS = [
  'escape',
  'xml_escape',
  'escape_once',
  'newline_to_br',
  'strip_html',
  'strip_newlines',
  'strip',
  'lstrip',
  'rstrip',
  'squish',
  'normalize_whitespace',
  'upcase',
  'downcase',
  'capitalize',
  'truncate: 7',
  'truncate: 3, y',
  'truncate: 9, "<br>"',
  'truncatewords: 2',
  'truncatewords: 1, z',
  'slice: 2, 9',
  'slice: -5, 4',
  'append: y',
  'append: "<br>"',
  'prepend: z',
  'prepend: "<br />"',
  'append: c',
  'prepend: c',
  'replace: y, z',
  'replace: "<", y',
  'replace: "<br />", z',
  'replace: "\n", "<br>"',
  'replace: "r", c',
  'replace_first: "&", "<br>"',
  'replace_last: ";", y',
  'remove: "br"',
  'remove: "/"',
  'remove: ">"',
  'remove: "&#34;"',
  'remove_first: c',
  'remove_last: y',
  'split: "<br />"',
  'split: ""',
  'split: y',
  'split: "b"',
  'join: "<br>"',
  'join: z',
  'join: c',
  'join',
  'first',
  'last',
  'reverse',
  'uniq',
  'compact',
  'sort',
  'sort_natural',
  'concat: list',
  'push: c',
  'unshift: "<br>"',
  'size',
  'default: c',
  'json',
  'inspect',
  'jsonify',
  'url_encode',
  'cgi_escape',
  'uri_escape',
  'slugify',
  'array_to_sentence_string: y',
  'array_to_sentence_string: "<br>"',
  'strip: "<"',
  'rstrip: ">"',
  'lstrip: z',
  'base64_encode',
  'sha256',
  'hyphenate: "en"',
  'map: "size"',
  'where: "size"',
  'group_by: "size"',
]

const chain = array(constantFrom(...FILTERS), { maxLength: 6 })
const hostile = array(constantFrom(...HOSTILE), { maxLength: 4 }).map((parts) => parts.join(''))

describe('no data', () => {
  test('become markup through any chain of filters without raw', () => {
    const value = constantFrom('x', 'list', 'c', 'y', '"<br>"')
    const given = tuple(value, record({ x: hostile, y: hostile, z: hostile, list: array(hostile, { maxLength: 3 }) }))
    let printed = 0
    assert(
      property(given, array(chain, { minLength: 2, maxLength: 2 }), ([start, data], [first = [], second = []]) => {
        const template = [
          '{% capture c %}<i title="a">{{ x }}</i>{{ y | newline_to_br }}{% endcapture %}',
          `{% assign s = ${[start, ...first].join(' | ')} %}`,
          `{{ ${['s', ...second].join(' | ')} }}{% echo s %}{% cycle s %}`,
          '{% capture d %}{{ s }}{% endcapture %}{{ d }}{{ d | strip }}{{ d | truncate: 9 }}',
        ]
        const html = filledOrNothing(template.join(''), data)
        printed += html === '' ? 0 : 1
        const rest = OWN.reduce((left, own) => left.replaceAll(own, ''), html)
        expect(rest).not.toMatch(/[<>"']/)
      }),
      { numRuns: 500 },
    )
    expect(printed).toBeGreaterThan(250)
  })
})

/** A filter may refuse what another gave. */
function filledOrNothing(template: string, data: JsonObject): string {
  try {
    return fill(template, data)
  } catch (error) {
    expect(String(error)).toMatch(/a value does not fit its filter or tag|the value is not a text$/)
    return ''
  }
}
