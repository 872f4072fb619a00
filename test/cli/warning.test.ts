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

test.for([
  ['with its preview, where Chromium answers', ['check'], SAMPLE],
  ['without sample data, from a dictionary', ['check'], ''],
  ['without a preview', ['check', '--no-render'], SAMPLE],
] as const)('what an html source loses is told once, with its place: %s', async ([, [command, ...flags], sample]) => {
  await folder().write('platform.yaml', PLATFORM)
  const lines = ['<!doctype html>', '<style>p { colour: red; font: 1em Arail }</style>', '<p><b>Dear</p>']
  const html = `  engine: Html\n  html:\n    template:\n      inline: |\n${lines.map((line) => `        ${line}\n`).join('')}`
  await folder().write('letter.yaml', `${templateHead('letter')}${html}${sample}`)
  const run = await folder().platen([command, folder().path, ...flags])
  const told = run.out.split('\n').filter((line) => line.includes('Template team-acme/letter'))
  const start = (code: string, place: string) =>
    expect.stringMatching(
      new RegExp(`letter.yaml:\\d+:\\d+: warning: Template team-acme/letter: ${code}: template.html:${place}: `),
    )
  expect([run.code, told]).toEqual([
    0,
    [start('style_ignored', '2:12'), start('font_absent', '2:25'), start('markup_unclosed', '3:4')],
  ])
})
