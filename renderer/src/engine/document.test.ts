import { expect, test } from 'vitest'
import { aRenderWork } from '../../../test/fixture/render/work.ts'
import { defaultFaces } from '../template/asset/font/default-fonts.ts'
import { openSandbox } from '../template/evaluate.ts'
import { openDocumentMap } from './layout/step/document-map.ts'
import { importDocument } from './thread/document-module.ts'

const { openDocumentRenderer } = await importDocument()
const render = await openDocumentRenderer(await openSandbox(), { faces: defaultFaces(), monotonic: () => 0 })

const IMPORT = "import { Document, Page, Text } from '@react-pdf/renderer'"

test.for([
  ['is made', 'export default () => <Document><Page><Text>a</Text></Page></Document>', true],
  ['fails', 'export default () => { throw new Error() }', false],
] as const)('a document that %s is forgotten', async ([, source, isMade]) => {
  const map = openDocumentMap<object, string>()
  const style = {}
  map.set(style, 'of the document')
  const work = aRenderWork({ template: { reactPdf: `${IMPORT}\n${source}` } })
  const made = await render(work).then(
    () => true,
    () => false,
  )
  expect([made, map.get(style)]).toEqual([isMade, undefined])
})
