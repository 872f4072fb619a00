import { execFileSync } from 'node:child_process'
import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aReactPdfEngine, aWork } from './react-pdf-fixture.ts'

const engine = aReactPdfEngine()
/** Past it a render hangs: most of these take a fraction of a second. */
const DEADLINE_MS = 60_000

async function rendered(content: string, data = {}) {
  return await engine.render(aWork({ document: `<Page>\n${content}\n</Page>`, data }), AbortSignal.timeout(DEADLINE_MS))
}

/** The addresses that the PDF leads to, as another tool reads them. */
function addressesOf(pdf: Uint8Array): readonly string[] {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'links-'))
  const file = join(folder.path, 'a.pdf')
  writeFileSync(file, pdf)
  const json = execFileSync('qpdf', ['--json', '--json-key=qpdf', file]).toString()
  return Array.from(json.matchAll(/"\/URI": "(?:u|b):([^"]*)"/g), ([, address = '']) => address)
}

test.for([
  ['https://münchen.example/straße?q=ä b#ü', 'https://xn--mnchen-3ya.example/stra%C3%9Fe?q=%C3%A4%20b#%C3%BC'],
  ['https://acme.example/a%20b?x=1&y=2', 'https://acme.example/a%20b?x=1&y=2'],
  ['https://acme.example/order 7', 'https://acme.example/order%207'],
  ['HTTPS://acme.example/日本', 'https://acme.example/%E6%97%A5%E6%9C%AC'],
  ['mailto:käthe@acme.example?subject=Größe 7', 'mailto:k%C3%A4the@acme.example?subject=Gr%C3%B6%C3%9Fe%207'],
  ['tel:+49 40 1234', 'tel:+49%2040%201234'],
  ['tel:+49401234', 'tel:+49401234'],
])('a link to %s is %s in the PDF', async ([src, address]) => {
  const { pdf, warnings } = await rendered(
    '<Link src={data.src}>a</Link><Text>b <Link src={data.src}>c</Link></Text>',
    { src },
  )
  expect(addressesOf(pdf)).toEqual([address, address])
  expect(warnings).toEqual([])
})

test.for([
  ['/orders/7', 'a document has no address of its own: write the whole address, as in https://acme.example/terms'],
  [
    '//acme.example/x',
    'a document has no address of its own: write the whole address, as in https://acme.example/terms',
  ],
  [
    'www.acme.example',
    'a document has no address of its own: write the whole address, as in https://acme.example/terms',
  ],
  ['', 'it is empty: leave the link out'],
])('a link to "%s" leads nowhere, and is warned of with its place', async ([src, reason]) => {
  expect((await rendered('<Link src={data.src}>a</Link>', { src })).warnings).toEqual([
    { code: 'link_broken', place: 'template.tsx:4:7', message: `<Link src>: ${reason}` },
  ])
})

test.for([
  ['in the flow', '<Link src="#missing">a</Link>'],
  ['in a text', '<Text>see <Link src="#missing">a</Link></Text>'],
  ['made late', '<View render={() => <Link href="#missing">a</Link>} />'],
])('an anchor without its target is warned of: %s', async ([, content]) => {
  expect((await rendered(content ?? '')).warnings).toEqual([
    {
      code: 'link_broken',
      place: expect.stringMatching(/^template\.tsx:4:/),
      message: 'no element has the id "missing" that a link leads to',
    },
  ])
})

test('an anchor is not warned of if its target is anywhere, also on a later page or in a text', async () => {
  const content = `<Link src="#far">a</Link><Text><Link src="#late">b</Link></Text><Link src="#here" id="here">c</Link>
    <View break><Text id="far">d</Text></View><View id="late" render={() => <Text>e</Text>} />`
  expect((await rendered(content)).warnings).toEqual([])
})

test.for(['javascript:alert(1)', 'file:///etc/passwd', ' data:text/html,x', 'https://a b.example/ü'])(
  'a link to %s is refused',
  async (src) => {
    await expect(rendered('<Link src={data.src}>a</Link>', { src })).rejects.toMatchObject({ code: 'template_error' })
  },
)

test.for([
  ['an empty address', '<Image src={data.logo} style={{ width: 40 }} />', { logo: '' }],
  ['null', '<Image src={data.logo} style={{ width: 40 }} />', { logo: null }],
  ['no such variable', '<Image src={data.logo} style={{ width: 40 }} />', {}],
  ['a source without an address', '<Image source={{ uri: data.logo }} style={{ width: 40 }} />', {}],
  ['blanks', '<Image src={data.logo} />', { logo: '  ' }],
  ['nothing in a text', '<Text>a <Image src={data.logo} style={{ width: 10, height: 10 }} /></Text>', {}],
  ['nothing behind something', '<ImageBackground src={data.logo}><Text>a</Text></ImageBackground>', {}],
] as const)('an image of %s is not drawn, and warned of with its place', async ([, content, data]) => {
  expect((await rendered(`${content}<Text>the rest</Text>`, data)).warnings).toEqual([
    {
      code: 'image_absent',
      place: expect.stringMatching(/^template\.tsx:4:/),
      message: expect.stringMatching(/^<Image(?:Background)? src>: it has no address, so nothing is drawn$/),
    },
  ])
})
