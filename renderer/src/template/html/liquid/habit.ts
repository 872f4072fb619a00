/** Names from other template languages, and what Liquid has instead. */

const FILTERS: Readonly<Record<string, string>> = {
  ...named('upcase', 'upper uppercase toUpperCase'),
  ...named('downcase', 'lower lowercase toLowerCase'),
  ...named('capitalize', 'title ucfirst'),
  ...named('size', 'length count'),
  ...named('strip', 'trim'),
  ...named('raw', 'safe html unescape'),
  ...named('json', 'tojson to_json json_encode escapejs dump'),
  ...named('escape', 'e h forceescape html_escape'),
  ...named('newline_to_br', 'nl2br linebreaksbr linebreaks'),
  ...named('strip_html', 'striptags'),
  ...named('url_encode', 'urlencode url_param_escape'),
  ...named('plus', 'add'),
  ...named('minus', 'sub subtract'),
  ...named('times', 'multiply mul'),
  ...named('divided_by', 'divide div'),
  ...named('modulo', 'mod'),
  ...named('number', 'number_format floatformat format_number number_with_delimiter intcomma toFixed toLocaleString'),
  ...named('currency', 'money money_with_currency money_without_trailing_zeros format_currency'),
  ...named('date', 'strftime date_format format_date time_tag'),
  ...named('where', 'selectattr filter'),
  ...named('reject', 'rejectattr'),
  ...named('group_by', 'groupby'),
  ...named('sort', 'dictsort sort_by sortBy'),
  ...named('uniq', 'unique'),
  ...named('join', 'implode'),
  ...named('split', 'explode'),
  ...named('number_of_words', 'wordcount'),
  ...named('truncatewords', 'truncatechars_words'),
  ...named('truncate', 'truncatechars'),
  ...named('to_integer', 'int parseInt'),
  ...named('default', 'd default_if_none'),
  ...named('concat', 'merge'),
  ...named('slice', 'substring substr'),
  ...named('contains', 'includes'),
}

function named(filter: string, others: string): Readonly<Record<string, string>> {
  return Object.fromEntries(others.split(' ').map((other) => [other, filter]))
}

export function filterFor(name: string): string | undefined {
  return Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined
}

const FILE = 'a template is one file'
const TAGS: Readonly<Record<string, string>> = {
  set: 'write {% assign x = … %}',
  let: 'write {% assign x = … %}',
  var: 'write {% assign x = … %}',
  define: 'write {% assign x = … %}',
  with: 'write {% assign x = … %}',
  foreach: 'write {% for x in list %}',
  each: 'write {% for x in list %}',
  endforeach: 'write {% endfor %}',
  endeach: 'write {% endfor %}',
  switch: 'write {% case x %} and {% when … %}',
  endswitch: 'write {% endcase %}',
  default: 'write {% else %}',
  print: 'write {{ x }}',
  verbatim: 'write {% raw %}',
  endverbatim: 'write {% endraw %}',
  extends: FILE,
  import: FILE,
  from: FILE,
  partial: FILE,
  section: FILE,
  include_relative: FILE,
  macro: 'there are no macros; write {% capture %} for a text that is printed twice',
  now: 'there is no clock: pass the date in the data',
}

export function tagFor(name: string): string | undefined {
  return Object.hasOwn(TAGS, name) ? TAGS[name] : undefined
}
