import { readFileSync } from 'node:fs'
import { array, assert, constantFrom, property } from 'fast-check'
import { Liquid, type Template, TypeGuards, Value } from 'liquidjs'
import { describe, expect, test } from 'vitest'
import { syntaxFaults } from './syntax.ts'
import { walkLiquid } from './walk.ts'

function faultsIn(source: string): readonly string[] {
  return syntaxFaults(source).map(({ position, message }) => `${position.join(':')} ${message}`)
}

describe('what Liquid does not know', () => {
  test.for([
    ['{% if a = b %}{% endif %}', '1:9', 'write == to compare'],
    ['{% if a === b %}{% endif %}', '1:9', 'write == to compare'],
    ['{% if a !== b %}{% endif %}', '1:9', 'write != to compare'],
    ['{% if a <> b %}{% endif %}', '1:9', 'write != to compare'],
    ['{% if a => b %}{% endif %}', '1:9', 'write >='],
    ['{% if a && b %}{% endif %}', '1:9', 'write and'],
    ['{% if a || b %}{% endif %}', '1:9', 'write or'],
    ['{% if !a %}{% endif %}', '1:7', 'write not a'],
    ['{% if a AND b %}{% endif %}', '1:9', 'write and'],
    ['{% if a eq b %}{% endif %}', '1:9', 'write =='],
    ['{% if a is defined %}{% endif %}', '1:9', 'write {% if a %}'],
    ['{% if a is not none %}{% endif %}', '1:9', 'write a != nil'],
    ['{% if a in b %}{% endif %}', '1:9', 'write b contains a'],
    ['{% if a not in b.c %}{% endif %}', '1:9', 'write not b.c contains a'],
    ['{% if a and (b or c) %}{% endif %}', '1:13', /^Liquid has no parentheses: /],
    ['{% if a * b > 3 %}{% endif %}', '1:9', 'write {% assign n = a | times: b %} before it, and n here'],
    ['{% if a | size > 3 %}{% endif %}', '1:16', 'write {% assign n = a | size %} before it, and compare n'],
    ['{{ a * b }}', '1:6', 'write a | times: b'],
    ['{{ a + b.c }}', '1:6', 'write a | plus: b.c'],
    ['{{ a - b }}', '1:6', 'write a | minus: b'],
    ['{{ a -5 }}', '1:6', 'write a | minus: 5'],
    ['{{ a / 100 }}', '1:6', 'write a | divided_by: 100'],
    ['{{ a % 2 }}', '1:6', 'write a | modulo: 2'],
    ['{{ "a" + b }}', '1:8', 'write "a" | append: b'],
    ['{{ "a" ~ b }}', '1:8', 'write "a" | append: b'],
    ['{{ -a }}', '1:4', 'write 0 | minus: a'],
    ['{{ .5 }}', '1:4', 'write 0.5'],
    ['{{ rows[i+1] }}', '1:10', 'write {% assign n = i | plus: 1 %} before it, and n here'],
    ['{{ x ? y : z }}', '1:6', 'write {% if x %} … {% else %} … {% endif %}'],
    ['{{ x?y:z }}', '1:7', 'write {% if x %} … {% else %} … {% endif %}'],
    ['{{ x ?? "-" }}', '1:6', 'write x | default: …'],
    ['{{ x || "-" }}', '1:6', 'write x | default: …'],
    ['{{ x?.y }}', '1:5', 'write . for ?. because a field of nothing is nothing'],
    ['{{ x.toFixed(2) }}', '1:13', 'a value has no methods: write x | number: "en-US", 2'],
    ['{{ x.y.toUpperCase() }}', '1:19', 'a value has no methods: write x.y | upcase'],
    ['{{ format(x) }}', '1:10', 'a value has no methods: write a filter, as in x | upcase'],
    ['{{ x | default("-") }}', '1:15', 'write default: … for the arguments of a filter'],
    ['{{ x | date "%d" }}', '1:13', 'write date: … for the arguments of a filter'],
    ['{{ “a” }}', '1:4', 'write straight quotes, " or \''],
    ['<img src="{{ url" alt="{{ text }}">', '1:17', '}} is missing'],
    ['{{ a %}<p>{{ b }}', '1:6', '}} is missing'],
    ['{% if a }}{% endif %}', '1:9', '%} is missing'],
    ["{% if a %}{% else foo = 'blah' %}{% endif %}", '1:19', 'nothing follows else'],
    ['{% assign foo = 1 + 2 %}', '1:19', 'write 1 | plus: 2'],
    ['{{ $x }}', '1:4', 'no name begins with $'],
    ['{% assign a = [] %}', '1:15', 'Liquid has no lists of its own: write "a,b" | split: ","'],
    ['{% assign a = {"b": 1} %}', '1:15', 'Liquid has no objects of its own: pass it in the data'],
    ['{% assign a += 1 %}', '1:13', 'write a = a | plus: …'],
    ['{% assign a.b = 1 %}', '1:12', 'a field cannot be set: assign to a variable of its own'],
    ['{% assign a b %}', '1:13', 'write a = …'],
    ['{% set a = 1 %}', '1:1', 'there is no tag set: write {% assign x = … %}'],
    ['{% extends "a" %}', '1:1', 'there is no tag extends: a template is one file'],
    ['{% for x of xs %}{% endfor %}', '1:10', 'write {% for x in list %}'],
    ['{% for x in 1..5 %}{% endfor %}', '1:12', 'write (1..5)'],
    ['{% for k, v in map %}{% endfor %}', '1:9', /^a loop has one variable: write \{% for pair in map %\}/],
    ['{% case x %}{% when > 5 %}{% endcase %}', '1:21', 'when takes values; write {% if %} and {% elsif %} for >'],
    ['{% for x in xs %}{% end %}', '1:18', 'write {% endfor %}'],
    ['{{#each rows}}', '1:3', 'this is Liquid: write {% for item in rows %} … {% endfor %}'],
    ['{{/if}}', '1:3', 'this is Liquid: write {% endif %}'],
    ['{{else}}', '1:3', 'write {% else %}'],
    ['{{> partial}}', '1:3', 'there are no partials: a template is one file'],
    ['{{{ raw }}}', '1:3', 'this is Liquid: write {{ raw | raw }}'],
    ['{{^rows}}', '1:3', 'this is Liquid: write {% unless rows %} … {% endunless %}'],
    ['{{@index}}', '1:3', 'this is Liquid: write forloop.index0 for @index'],
    ['{{ .Name }}', '1:4', 'write the name without a dot before it'],
    ['{{ if x }}', '1:4', 'a tag stands in {% %}: write {% if x %}'],
    ['é\n  {% liquid\n  assign a = b * c\n%}', '3:16', 'write b | times: c'],
  ] as const)('%s is reported at %s: %s', ([source, place, message]) => {
    const [fault = ''] = faultsIn(source)
    const [, at, said] = /^(\d+:\d+) [^]*?(?:[%}]\}|\* c): ([^]*)$/.exec(fault) ?? []
    expect(at).toBe(place)
    if (typeof message === 'string') expect(said).toBe(message)
    else expect(said).toMatch(message)
  })
})

describe('what Liquid leaves out', () => {
  test.for([
    ['{{ a if b else "-" }}', '1:6 {{ a if b else "-" }}: write {% if b %}{{ a }}{% else %}{{ "-" }}{% endif %}'],
    ['{{ a b }}', '1:6 {{ a b }}: an operator or a filter is missing between two values'],
    ['{{ a, b }}', '1:5 {{ a, b }}: a comma stands only between arguments'],
    ['{{ a ) b }}', '1:6 {{ a ) b }}: ) closes nothing'],
    ['{{ a | upcase, b }}', '1:14 {{ a | upcase, b }}: a comma stands only between arguments'],
    ['{{ a[0 b] }}', '1:8 {{ a[0 b] }}: write ] after the index'],
    ['{{ a.b. }}', '1:7 {{ a.b. }}: the name of a field is missing after the dot'],
    ['{{ a | plus: b c }}', '1:16 {{ a | plus: b c }}: write a comma between the arguments of plus'],
    ['{% if a b %}{% endif %}', '1:9 {% if a b %}: an operator or a filter is missing between two values'],
    ['{% if a or or b %}{% endif %}', '1:12 {% if a or or b %}: a value is missing before or'],
    ['{% if a == %}{% endif %}', '1:11 {% if a == %}: a value is missing after =='],
    [
      '{% for x in xs foo %}{% endfor %}',
      '1:16 {% for x in xs foo %}: a loop takes limit, offset and reversed after its list, and no foo',
    ],
    [
      '{% for x in xs | sort %}{% endfor %}',
      '1:16 {% for x in xs | sort %}: a loop takes no filter: write {% assign x = xs | sort %} before it',
    ],
    ['{% for x in xs limit=3 %}{% endfor %}', '1:21 {% for x in xs limit=3 %}: write limit: …'],
    [
      '{% for x in xs limit: n - 1 %}{% endfor %}',
      '1:25 {% for x in xs limit: n - 1 %}: write {% assign n = n | minus: 1 %} before it, and n here',
    ],
    [
      '{% for x in xs limit: 1 limit: 2 %}{% endfor %}',
      '1:25 {% for x in xs limit: 1 limit: 2 %}: limit is there twice',
    ],
    ['{% qrcode a, width: 1, width: 2 %}', '1:24 {% qrcode a, width: 1, width: 2 %}: width is there twice'],
    ['{% assign a = b c %}', '1:17 {% assign a = b c %}: an operator or a filter is missing between two values'],
    ['{% capture a b %}{% endcapture %}', '1:14 {% capture a b %}: nothing follows the name'],
    [
      '{% increment a by 2 %}',
      '1:16 {% increment a by 2 %}: it counts by one; write {% assign x = x | plus: … %} for another step',
    ],
    ['{% cycle "a" "b" %}', '1:14 {% cycle "a" "b" %}: write a comma between the values'],
    ['{% break if x %}', '1:10 {% break if x %}: write it inside of {% if x %}'],
    ['{% if x %}{% endif x %}', '1:20 {% endif x %}: nothing follows endif'],
    ['{% unless x %}{% else if y %}{% endunless %}', '1:23 {% else if y %}: write {% elsif y %}'],
    ['{% unless x %}{% else %}{% else %}{% endunless %}', '1:25 {% else %}: else after else is never printed'],
    ['{% case x %}{% else %}{% when 1 %}{% endcase %}', '1:23 {% when 1 %}: when after else is never printed'],
    ['{% case x %} a {% when 1 %}{% endcase %}', '1:13 a: what is between case and its first when is never printed'],
    ['{% case x %}{% when 1 2 %}{% endcase %}', '1:23 {% when 1 2 %}: write a comma or "or" between the values'],
    ['{% case x %}{% when "a" | upcase %}{% endcase %}', '1:25 {% when "a" | upcase %}: when takes no filter'],
    [
      '{% qrcode a | upcase, width: 3 %}',
      '1:13 {% qrcode a | upcase, width: 3 %}: this tag takes no filter: write {% assign x = … %} before it',
    ],
  ])('%s is reported', ([source = '', fault]) => {
    expect(faultsIn(source)).toEqual([fault])
  })

  const LEXEMES = [
    'a',
    'b.c',
    '"x"',
    "'y'",
    '12',
    '-3',
    'nil',
    '==',
    '<',
    'contains',
    'and',
    'or',
    'not',
    '|',
    '| upcase',
    '| append: a',
    ':',
    ',',
    '(',
    ')',
    '(1..2)',
    '[0]',
    'd[e]',
    '=',
    '+',
    '-',
    '*',
    '?',
    'if',
    'else',
    'in',
    '..',
    '.',
    '&&',
    '!',
    'limit: 2',
    'reversed',
    '{',
    '%',
  ]
  const TAGS = [
    '{{ _ }}',
    '{% if _ %}{% endif %}',
    '{% assign v = _ %}',
    '{% for v in _ %}{% endfor %}',
    '{% case a %}{% when _ %}{% endcase %}',
    '{% cycle _ %}',
  ]
  const liquid = new Liquid()

  test('is all that is between what it reads', () => {
    let read = 0
    assert(
      property(
        constantFrom(...TAGS),
        array(constantFrom(...LEXEMES), { minLength: 1, maxLength: 6 }),
        (tag, lexemes) => {
          const source = tag.replace('_', () => lexemes.join(' '))
          if (syntaxFaults(source).length > 0) return
          // Whatever has no fault is parsed, and each of its values is read.
          const templates = liquid.parse(source)
          read += 1
          expect(valuesRead(templates).toSorted()).toEqual(valuesOf(source).toSorted())
        },
      ),
      { numRuns: 20_000 },
    )
    expect(read).toBeGreaterThan(500)
  })

  /** The words, texts and numbers that are values. */
  function valuesOf(source: string): readonly string[] {
    const words = source.match(/"x"|'y'|[\w.]+|-\d/g) ?? []
    const others =
      /^(?:if|endif|assign|v|for|in|endfor|case|when|endcase|cycle|contains|and|or|not|upcase|append|limit|reversed|\.\.)$/
    return words.flatMap((word) => word.split('..')).filter((word) => !others.test(word))
  }

  function valuesRead(templates: readonly Template[]): readonly string[] {
    const texts: string[] = []
    walkLiquid(templates, (template) => {
      for (const argument of template.arguments?.() ?? []) {
        // A loop has one for `reversed`.
        if (argument === undefined) continue
        const isValue = argument instanceof Value || 'filters' in argument
        const args = isValue ? argument.filters.flatMap(({ name, args }) => [name, ...args.flat()]) : []
        const tokens = isValue ? [...argument.initial.postfix, ...args] : [argument]
        for (const token of tokens)
          if (typeof token === 'string') texts.push(token)
          else if (token !== undefined && !TypeGuards.isOperatorToken(token)) texts.push(token.getText())
      }
      return undefined
    })
    return texts.flatMap((text) => valuesOf(text))
  }
})

describe('Liquid', () => {
  test.for([
    '{% if not a and b contains "x" or c != blank %}{%- elsif d == (1..3) -%}{% else %}{% endif %}',
    '{{ x[0] }}{{ x[-1].y }}{{ x["a b"].c }}{{ ["a b"] }}{{ x[y.z[1]] }}{{ "abc".size }}{{ grüße.名前 }}{{ a-b }}{{ a.b? }}',
    '{{ x | default: "-", allow_false: true | date: "%d.%m.%Y" | slice: -3, 2 }}{{x|upcase|append:"a"}}{{ x | date: "%d", }}',
    '{{ 1.5 }}{{ -3 | abs }}{{ "a\\"b" | append: \'c\' }}{{ a == b }}',
    '{% for x in xs limit: 3, offset: 2 reversed %}{% else %}{% endfor %}{% for x in (1..n) offset: continue %}{% endfor %}',
    '{% tablerow x in xs cols:2 limit:3 %}{% endtablerow %}{% cycle "g": "a", b | upcase %}{% cycle a, b.c %}{% echo %}',
    '{% case x %} {% comment %}a b * c{% endcomment %} {% when 1 or 2, "3" %}{% else %}{% endcase %}{% increment a %}',
    '{% capture "a b" %}{% endcapture %}{% raw %}{{ a * b }}{% endraw %}{% # a = b %}{% comment %}{{ a * b }}{% endcomment %}',
    '{% qrcode url, width: "30mm" %}{% chart rows type: "bar", x: "m" %}{% paymentcode scheme: "epc", amount: total, text: false %}',
    '{% liquid\n assign a = b | plus: 1\n if a > 1 \n echo a\n endif\n # a = b\n%}{{ range | join }}{{ end }}{{ case }}',
  ])('%s has no fault', (source) => {
    expect(faultsIn(source)).toEqual([])
  })

  test('in the documentation of templates has no fault', () => {
    const page = readFileSync(new URL('../../../../../docs/templates.md', import.meta.url), 'utf8')
    const sources = Array.from(page.matchAll(/```html\n([^]*?)```/g), ([, source = '']) => source)
    expect(sources.length).toBeGreaterThan(5)
    expect(sources.flatMap(faultsIn)).toEqual([])
  })

  test('of hostile length and depth is read to its end', () => {
    expect(faultsIn('{{ a b }}'.repeat(9000))).toHaveLength(10)
    expect(faultsIn(`{{ ${'a['.repeat(40_000)} }}`).length).toBeLessThan(2)
    expect(faultsIn(`{{ a ${'| b: c, d '.repeat(9000)} }}`)).toEqual([])
    expect(faultsIn(`{{ a ${' '.repeat(120_000)} b }}`)).toHaveLength(1)
    expect(faultsIn(`{{ ${'(1..'.repeat(9000)} }}{{ "${'\\"'.repeat(50_000)} }}`)).toEqual([])
  })
})
