/** `platen preview --watch` as people run it: in a process of its own, with the real engines, until they have enough. */
import { rename } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { ofTest } from '../fixture/lifetime.ts'
import { templateHead } from '../fixture/manifests.ts'
import { processOf, treeOf } from '../soak/process-tree.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { type Folder, html, LETTER, makeFolder, PLATFORM, reactPdf, SAMPLE, SCHEMA, works } from './command.ts'

let folder: Folder
beforeEach(async () => {
  folder = ofTest(await makeFolder())
  await folder.write('platform.yaml', PLATFORM)
})

const preview = (...args: string[]) => folder.platen(['preview', '.', ...args])
const textOf = async (name: string) => (await inspectPdf(await folder.read(name))).text

describe('a watched preview', () => {
  const both = (source: string) => `${templateHead('letter')}${SCHEMA}${reactPdf(source)}${html()}${SAMPLE}`

  test.for(['react_pdf', 'html'] as const)(
    'by %s follows the template, survives what is broken, and leaves no process',
    async (engine) => {
      const write = (greeting: string) =>
        folder.write('letter.yaml', both(LETTER).replaceAll('Dear {', `${greeting} {`))
      await write('Dear')
      const command = folder.follow('preview', '.', 'letter', '--engine', engine, '--watch')
      expect(await command.printed(/^watching/)).toMatch(/^letter\.pdf: 1 page.*\nwatching \.; Ctrl-C ends it\n$/)
      expect(await textOf('letter.pdf')).toContain('Dear Ada')

      await write('Hello')
      await command.printed(/^letter\.pdf: /)
      expect(await textOf('letter.pdf')).toContain('Hello Ada')

      const broken = engine === 'html' ? both(LETTER).replace('{{ name', '{{ name | nope') : both('nothing(')
      await folder.write('letter.yaml', broken)
      expect(await command.printed(/^ {4}> /)).toMatch(/^letter\.yaml:\d+:\d+: .*template_error/)
      await folder.write('letter.yaml', 'kind: [\n')
      expect(await command.printed(/there is no template/)).toMatch(/^letter\.yaml:\d:\d: /m)
      expect(await textOf('letter.pdf')).toContain('Hello Ada')

      await write('Salut')
      await command.printed(/^letter\.pdf: /)
      expect(await textOf('letter.pdf')).toContain('Salut Ada')
      const started = treeOf(command.pid).filter(({ pid }) => pid !== command.pid)
      expect(started.length > 0).toBe(engine === 'html')
      expect(await command.end('SIGINT')).toBe(0)
      expect(started.map(({ pid }) => processOf(pid))).toEqual(started.map(() => undefined))
      expect(await folder.names()).toEqual(['letter.pdf', 'letter.yaml', 'platform.yaml'])
    },
  )

  test('follows its data, also when an editor puts a new file in its place', async () => {
    await folder.write('letter.yaml', both(LETTER))
    await folder.write('data.json', '{"name": "Bob"}')
    const command = folder.follow('preview', '.', 'letter', '--data', 'data.json', '--watch')
    await command.printed(/^watching/)
    await folder.write('.data.json.swp', '{"name": "Cleo"}')
    await rename(`${folder.path}/.data.json.swp`, `${folder.path}/data.json`)
    await command.printed(/^letter\.pdf: /)
    expect(await textOf('letter.pdf')).toContain('Dear Cleo')
    await folder.write('data.json', '{"name": 3}')
    expect(await command.printed(/^ {4}> /)).toContain('data.json:1:10: /data/name: must be string\n')
    expect(await command.end('SIGTERM')).toBe(0)
  })

  test('ends a render that a newer change has made useless', async () => {
    await folder.write('letter.yaml', both(LETTER))
    const command = folder.follow('preview', '.', 'letter', '--watch')
    await command.printed(/^watching/)
    await folder.write('letter.yaml', both('for (;;) {}\nexport default () => null\n'))
    await works(command.pid)
    await folder.write('letter.yaml', both(LETTER.replace('Dear', 'Hello')))
    expect(await command.printed(/^letter\.pdf: /)).toMatch(/^letter\.pdf: 1 page.*\n$/)
    expect(await textOf('letter.pdf')).toContain('Hello Ada')
    expect(await command.end('SIGINT')).toBe(0)
  })

  test('begins with what is broken, and ends at once when it is called wrongly', async () => {
    await folder.write('letter.yaml', 'kind: [\n')
    const command = folder.follow('preview', '.', 'letter', '--watch')
    await command.printed(/^watching/)
    await folder.write('letter.yaml', both(LETTER))
    await command.printed(/^letter\.pdf: /)
    expect(await command.end('SIGINT')).toBe(0)
    expect(await preview('lettre', '--watch')).toMatchObject({ code: 2, out: '' })
    expect(await folder.platen(['preview', 'nowhere', 'letter', '--watch'])).toMatchObject({ code: 2, out: '' })
  })
})
