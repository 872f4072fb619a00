/** Reads what docs/logs.md says of each message. People write it there; the other columns of the table are made from the sources. */
import { readText } from './source-tree.ts'

export interface Explanation {
  readonly meaning: string
  readonly action: string
}

/** Returns the explanations by message, in the order of the document. */
export function explainedMessages(text = readText('docs/logs.md')): ReadonlyMap<string, Explanation> {
  const made = text.slice(text.indexOf('<!-- messages:'), text.indexOf('<!-- end of messages'))
  const rows = made.split('\n').filter((line) => line.startsWith('| `'))
  return new Map(
    rows.map((row) => {
      const [message = '', , , meaning = '', action = ''] = row.slice(2, -2).split(' | ')
      return [message.replaceAll('`', ''), { meaning, action }]
    }),
  )
}
