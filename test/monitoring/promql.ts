/** What a query of Prometheus names, by the grammar that its own editor uses. */
import { parser } from '@prometheus-io/lezer-promql'

export interface Query {
  readonly selectors: readonly Selector[]
  /** Labels by which it groups and matches. */
  readonly labels: readonly string[]
}

export interface Selector {
  readonly metric: string
  readonly matchers: readonly { readonly label: string; readonly isPattern: boolean; readonly value: string }[]
}

/** Reads a query. Throws where it is none. */
export function readQuery(text: string): Query {
  const selectors: (Selector & { matchers: { label: string; isPattern: boolean; value: string }[] })[] = []
  const labels: string[] = []
  let matcher: { label: string; isPattern: boolean; value: string } | undefined
  parser.parse(text).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`no query, from ${JSON.stringify(text.slice(node.from))}`)
      const word = text.slice(node.from, node.to)
      if (node.name === 'GroupingLabels') {
        labels.push(...(word.match(/\w+/g) ?? []))
        return false
      }
      if (node.name === 'Identifier') selectors.push({ metric: word, matchers: [] })
      if (node.name === 'UnquotedLabelMatcher') {
        matcher = { label: '', isPattern: false, value: '' }
        selectors.at(-1)?.matchers.push(matcher)
      }
      if (matcher !== undefined && node.name === 'LabelName') matcher.label = word
      if (matcher !== undefined && node.name === 'EqlRegex') matcher.isPattern = true
      if (matcher !== undefined && node.name === 'StringLiteral') matcher.value = word.slice(1, -1)
      return true
    },
  })
  return { selectors, labels }
}
