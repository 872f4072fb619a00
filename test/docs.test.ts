/** Reference documents that are made from the code: they can be read without it and cannot fall behind. `vitest -u` writes them. */
import { type ErrorEntry, FAILURES, HTTP_ERRORS, WARNINGS } from '@platen/contract/error.ts'
import { SETTINGS } from '@platen/embedded/config.ts'
import { expect, test } from 'vitest'
import { readText } from './architecture/source-tree.ts'

const SETTINGS_BEGIN = '<!-- settings: written by `npx vitest run test/docs.test.ts -u` -->'
const SETTINGS_END = '<!-- end of settings -->'

test('docs/errors.md is the error catalog', async () => {
  await expect(errorsDocument()).toMatchFileSnapshot('../docs/errors.md')
})

test('docs/operations.md lists every setting there is', async () => {
  const [before, rest] = split(readText('docs/operations.md'), SETTINGS_BEGIN)
  const [, after] = split(rest, SETTINGS_END)
  const document = [before, SETTINGS_BEGIN, '\n\n', settingsTable(), '\n', SETTINGS_END, after].join('')
  await expect(document).toMatchFileSnapshot('../docs/operations.md')
})

function errorsDocument(): string {
  return `# Errors

Made from \`contract/src/error.ts\` by \`npx vitest run test/docs.test.ts -u\`; do not edit.

Every refusal has the body \`{"error": {"code": …, "message": …, "request_id": …}}\`.
The message says what to do, and \`details\` names each fault by a JSON pointer where there are several.
Neither ever repeats a value that was sent.

The column *retry* says whether the same request, unchanged, may succeed later.
The column *fault* says who can mend it: the *caller*, the *tenant* (its template or its plan), or the *operator* of the service.

## Answers to a request

${table(['code', 'status', 'retry', 'fault', 'meaning'], rowsOf(HTTP_ERRORS))}
## How a render fails

These stand in \`error.code\` of a status record and in \`error_code\` of a webhook.
A sync render that fails is answered with \`INTERNAL_ERROR\`, and one of these codes opens the message.

${table(
  ['code', 'retry', 'fault', 'meaning'],
  rowsOf(FAILURES).map(([code, , ...rest]) => [code, ...rest]),
)}
## What a render warns of

These stand in \`warnings\` of the status record of a render that succeeded.

${table(
  ['code', 'meaning'],
  Object.entries(WARNINGS).map(([code, summary]) => [`\`${code}\``, summary]),
)}`
}

function rowsOf(catalog: Readonly<Record<string, ErrorEntry>>): readonly (readonly [string, ...string[]])[] {
  return Object.entries(catalog).map(([code, { status, retryable, fault, summary }]) => [
    `\`${code}\``,
    `${status}`,
    retryable ? 'yes' : 'no',
    fault,
    summary,
  ])
}

function settingsTable(): string {
  const rows = Object.entries(SETTINGS).map(([name, setting]) => [`\`${name}\``, setting.default, setting.description])
  return table(['setting', 'default', 'meaning'], rows)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, head.map(() => '---'), ...rows]
  return cells.map((row) => `| ${row.join(' | ')} |\n`).join('')
}

/** The text before and after a mark that stands in it once. */
function split(text: string, mark: string): readonly [before: string, after: string] {
  const [before, after, ...more] = text.split(mark)
  if (before === undefined || after === undefined || more.length > 0) throw new Error(`expected one line ${mark}`)
  return [before, after]
}
