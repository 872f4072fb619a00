/** CONTRIBUTING.md lists every file that a change of each kind needs, by hand or by a command. */
import { describe, expect, test } from 'vitest'
import { EXAMPLES } from './architecture/change.ts'
import { listFiles, readText } from './architecture/source-tree.ts'

const [, ...sections] = chapter('To add …').split(/^### /m)
const texts = new Map(sections.map((section) => [section.split('\n')[0], section]))

/** A test, an example or the changelog may name anything. The lists have only the tests that a change of the kind must extend. */
const MAY_NAME = /^(test|examples)\/|\.test\.ts$|^clients\/python\/tests\/|^(CHANGELOG|CONTRIBUTING)\.md$/
const files = listFiles()
  .filter((file) => /\.(ts|py|lua|json|md|yaml)$/.test(file))
  .map((file) => ({ file, text: readText(file) }))

test('each kind of change has an example', () => {
  expect([...texts.keys()]).toEqual(Object.keys(EXAMPLES))
})

describe.for(Object.entries(EXAMPLES))('to add %s', ([kind, words]) => {
  const section = texts.get(kind) ?? ''
  const listed = [...section.matchAll(/^\|.*$/gm)].flatMap(([row]) => linksIn(row))
  const found = files.filter(({ text }) => new RegExp(`\\b(${words.join('|')})\\b`).test(text)).map(({ file }) => file)

  test('names the example', () => {
    for (const word of words) expect(section).toContain(`\`${word}\``)
  })

  test('lists the files that have it, and no other', () => {
    const demanded = found.filter((file) => listed.includes(file) || !MAY_NAME.test(file))
    expect(listed.toSorted()).toEqual(demanded)
  })
})

/** What is under a heading of CONTRIBUTING.md. */
function chapter(heading: string): string {
  return (
    readText('CONTRIBUTING.md')
      .split(/^## /m)
      .find((text) => text.startsWith(`${heading}\n`)) ?? ''
  )
}

function linksIn(row: string): readonly string[] {
  return [...row.matchAll(/\]\(([^)]+)\)/g)].map(([, file]) => file ?? '')
}
