import { describe, expect, test } from 'vitest'
import { blankLiquid } from './blank.ts'
import { readMarkup } from './markup.ts'

/** The faults of a source as lines: `offset: message`, or 'doubtful' if only its filled HTML tells. */
function faultsOf(source: string): readonly string[] | 'doubtful' {
  const liquid = blankLiquid(source)
  expect(liquid.text).toHaveLength(source.length)
  const { faults, isBalanced } = readMarkup(liquid.text, liquid)
  return isBalanced ? faults.map(({ at, message }) => `${at}: ${message}`) : 'doubtful'
}

describe('finds', () => {
  test.for<[string, ...string[]]>([
    ['<p><b>x</p>', '3: <b> is not closed before </p>'],
    ['<b>x', '0: <b> is not closed'],
    ['<div><section>x</div>', '5: <section> is not closed before </div>'],
    ['<table><tr><td>x', '0: <table> is not closed'],
    ['x</div>', '1: </div> closes nothing: no <div> is open here'],
    ['<b><i>x</b></i>', '3: <i> is not closed before </b>'],
    ['<div/>x', '0: <div/> opens an element and does not close it: write <div></div>'],
    ['<div/>x</div>', '0: <div/> opens an element and does not close it: write <div></div>'],
    ['<div><table><tr><td></div></td></tr></table></div>', '20: </div> closes nothing: no <div> is open here'],
    ['<p class="a" class="b">', '0: <p> has two attributes class: the second has no effect'],
    ['<p a="class=x" CLASS=y b class=z>', '0: <p> has two attributes class: the second has no effect'],
    ['<p>x</p><!-- y', '8: this comment is not closed: --> is missing'],
    ['<p>x</p><p class="y', '8: this tag is not closed: > is missing'],
    ['<p class="y>x</p><p class="z">', '0: in this tag of <p> a > or a quote is missing, or there is one too many'],
    [
      '<p <b>x</b>',
      '0: in this tag of <p> a > or a quote is missing, or there is one too many',
      '7: </b> closes nothing: no <b> is open here',
    ],
    ['<style>p {}', '0: <style> is not closed'],
    ['<title>x', '0: <title> is not closed'],
    ['{% for x in y %}<tr><td><b>{{ x }}</td></tr>{% endfor %}', '24: <b> is not closed before </td>'],
  ])('in %j: %s', ([source, ...found]) => {
    expect(faultsOf(source)).toEqual(found)
  })
})

describe('finds nothing in', () => {
  test.for([
    '<!doctype html><html><head><meta charset="utf-8"><title>a<b</title><body><p>x<p>y<ul><li>a<li>b</ul>',
    '<table><thead><tr><th>a<th>b<tbody><tr><td>a<td>b<tr><td>c</table>',
    '<dl><dt>a<dd>b<dt>c</dl><select><option>a<option>b</select>',
    '<br><br/><hr /><img src=a><input><col></col></br>',
    '<svg><path d=""/><g><circle r="1"/></g><foreignObject><p>x</p></foreignObject></svg>',
    '<script>if (a < b) document.write("<b>")</script><style>a > b {}</style><textarea><b></textarea>',
    '<!-- <b> --><p title="<b>">x</p><?xml version="1.0"?>',
    '<table>{% if a %}<tr>{% endif %}<td>x</td>{% if a %}</tr>{% endif %}</table>',
    '<p>a<ul><li>x</li></ul></p>',
    'a < b & c',
    '{% if a %}<b>x</b>{% elsif b %}<i>y</i>{% else %}<u>z</u>{% endif %}',
    '{% for x in y %}<li>{{ x | append: "<b>" }}{% endfor %}',
    '{% comment %}<b>{% if %}</i>{% endcomment %}{% raw %}{{ <b>x</b> }}{% endraw %}{%- # <b> -%}',
    '<p {% if a %}class="a"{% else %}class="b"{% endif %}>x</p>',
    '<td class="{{ a }}" {{ b }}>x</td>',
    '{% case a %} {% when 1 %}<b>x</b>{% when 2 %}<i>y</i>{% endcase %}',
    '{% liquid\n if a\n echo "<b>"\n endif %}',
    '{% capture x %}<b>{{ y }}</b>{% endcapture %}',
  ])('%s', (source) => {
    expect(faultsOf(source)).toEqual([])
  })
})

describe('leaves to the filled HTML', () => {
  test.for([
    '{% if a %}<b>{% endif %}x</b>',
    '{% if a %}<div class="a">{% else %}<div class="b">{% endif %}x</div>',
    '{% for x in y %}{% if forloop.first %}<ul>{% endif %}<li>x</li>{% if forloop.last %}</ul>{% endif %}{% endfor %}',
  ])('%s', (source) => {
    expect(faultsOf(source)).toBe('doubtful')
  })
})

test('is linear in HTML that is made to be slow', () => {
  const long = (piece: string) => piece.repeat(Math.ceil(200_000 / piece.length))
  for (const html of [
    '<b>',
    '</b>',
    '<td><b></div>',
    '<li>',
    `<div>${long('<a>')}</b>`,
    '<p a b c d=">',
    '<',
    '<!--',
    '<p "',
    `<p ${long('a="')}`,
    '<b></td>',
  ])
    expect(readMarkup(long(html)).faults.length).toBeLessThanOrEqual(100)
})
