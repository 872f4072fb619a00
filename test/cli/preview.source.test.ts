/** What `platen preview` says of a source beside the document, as the publish check judges it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { templateHead } from '../fixture/manifests.ts'
import { type Folder, LETTER, makeFolder, PLATFORM, ROOT, reactPdf, SAMPLE, SCHEMA } from './command.ts'

const head = templateHead('letter')

let folder: Folder
beforeAll(async () => {
  folder = await makeFolder()
  // Previews name files as they are called from where one is.
  process.chdir(folder.path)
  await folder.write('platform.yaml', PLATFORM)
})
afterAll(async () => {
  process.chdir(ROOT)
  await folder[Symbol.asyncDispose]()
})

describe('a preview', () => {
  test('prints what the check would refuse, and says so', async () => {
    const source = LETTER.replace('data.name', 'data.name || data.nmae')
    await folder.write('letter.yaml', `${head}${SCHEMA}${reactPdf(source)}${SAMPLE}`)
    const { code, out } = await folder.platen(['preview', '.', 'letter'])
    expect([code, out.split('\n').slice(0, 2)]).toEqual([
      0,
      [
        expect.stringMatching(/^letter\.pdf: 1 page, /),
        expect.stringMatching(
          /^letter\.yaml:\d+:\d+: warning: Template team-acme\/letter: Source: template\.tsx:4:35: data\.nmae: variablesSchema has no such variable \(did you mean name\?\)$/,
        ),
      ],
    ])
  })

  test('says of a source that does not parse, which tag is not closed', async () => {
    await folder.write('letter.yaml', `${head}${SCHEMA}${reactPdf(LETTER.replace('</Text>', ''))}${SAMPLE}`)
    const { code, out } = await folder.platen(['preview', '.', 'letter'])
    expect([code, out.split('\n')[0]]).toEqual([
      1,
      expect.stringMatching(
        /letter: template_error: template\.tsx:4:6: JSX element Text has no corresponding closing tag$/,
      ),
    ])
  })
})
