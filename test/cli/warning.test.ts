/** What `platen preview` and `platen check` say of a document with warnings, with the real engines. */
import { expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { templateHead } from '../fixture/manifests.ts'
import { LETTER, makeFolder, PLATFORM, reactPdf, SAMPLE } from './command.ts'

const folder = shared(makeFolder)

test.for([
  ['', '', 0],
  ['  strict: true\n', '', 1],
  ['', 'strict: true, ', 1],
] as const)('a warning is a fault if template (%j) or plan (%j) are strict', async ([own, plan, code]) => {
  await folder().write('platform.yaml', PLATFORM.replace('spec: {html', `spec: {${plan}html`))
  // No font has a character for private use.
  const source = reactPdf(LETTER.replace('Dear', '\u{10fffd}'))
  await folder().write('letter.yaml', `${templateHead('letter')}${own}${source}${SAMPLE}`)
  const resource = 'Template team-acme/letter'
  const expected = [
    expect.stringMatching(
      new RegExp(`letter.yaml:\\d+:\\d+: warning: ${resource}: missing_glyph: template.tsx:4:5: .*U\\+10FFFD`),
    ),
    ...(code === 0 ? [] : [expect.stringMatching(new RegExp(`:\\d+: ${resource}: document_warnings: react_pdf: `))]),
  ]
  const output = `${folder().path}/${code}.pdf`
  for (const call of [
    ['preview', folder().path, 'letter', '-o', output],
    ['check', folder().path],
  ]) {
    const run = await folder().platen(call)
    const lines = run.out.split('\n').filter((line) => line.includes(resource))
    // A preview tells in the order in which it found, the check in that of the file.
    expect([run.code, lines.length]).toEqual([code, expected.length])
    expect(lines).toEqual(expect.arrayContaining(expected))
  }
  // Its author wants to see it.
  expect(await folder().names()).toContain(`${code}.pdf`)
})
