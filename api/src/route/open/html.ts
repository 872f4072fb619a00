/** Markup that is safe to send. */
export interface Html {
  readonly markup: string
}

type Value = Html | string | number | undefined | readonly Html[]

/** Escapes every value that is not markup. Undefined becomes nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { markup: String.raw({ raw: parts }, ...values.map(markupOf)) }
}

function markupOf(value: Value): string {
  if (value === undefined) return ''
  if (typeof value !== 'object') return escape(String(value))
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}

/** Text in which backquotes enclose code. */
export function prose(text = ''): Html {
  return html`${text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`
}

export function joined(items: readonly Html[], between: string): Html {
  return html`${items.flatMap((item, at) => (at === 0 ? [item] : [html`${between}`, item]))}`
}
