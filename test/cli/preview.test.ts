/** `platen preview` as people run it, with the real engines. */
import { rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { httpEgress } from '@platen/adapters/http/egress.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { openPreview, type Previewer } from '@platen/cli/preview.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { NEVER, SILENT } from '../fixture/build.ts'
import { PLAN, TENANT, templateHead } from '../fixture/manifests.ts'
import { inspectPdf } from '../topology/oracle.ts'
import {
  block,
  ENGINE_HTML,
  type Folder,
  HTML,
  html,
  LETTER,
  makeFolder,
  PLATFORM,
  ROOT,
  reactPdf,
  SAMPLE,
  SCHEMA,
  works,
} from './command.ts'

const head = templateHead('letter')

let folder: Folder
let letter: Previewer
beforeAll(async () => {
  folder = await makeFolder()
  // Previews name files as they are called from where one is.
  process.chdir(folder.path)
  const clock = systemClock()
  const egress = httpEgress({ clock, allowCidrs: [] })
  const ports = {
    clock,
    ids: systemIds(),
    log: SILENT,
    egress,
    chromium: process.env['PLATEN_CHROMIUM'],
    stdin: process.stdin,
  }
  letter = openPreview({ dir: '.', template: 'letter' }, ports, NEVER)
})
afterAll(async () => {
  await letter[Symbol.asyncDispose]()
  process.chdir(ROOT)
  await folder[Symbol.asyncDispose]()
})
beforeEach(async () => {
  for (const name of await folder.names()) await rm(join(folder.path, name), { recursive: true })
  await folder.write('platform.yaml', PLATFORM)
})

/** What `preview('letter')` comes to, by engines that are warm: a round of one that goes on, as with `--watch`. */
async function previewLetter() {
  const { isRendered, text } = await letter.render(NEVER)
  return { code: isRendered ? 0 : 1, out: text }
}

const preview = (...args: string[]) => folder.platen(['preview', '.', ...args])
const inodesOf = (...names: string[]) =>
  Promise.all(names.map(async (name) => (await stat(`${folder.path}/${name}`)).ino))
const textOf = async (name: string) => (await inspectPdf(await folder.read(name))).text

describe('a preview', () => {
  test.for([
    [
      'react_pdf',
      reactPdf(LETTER.replace('<Text>', '<Image src={data.name} /><Text>').replace('Text }', 'Text, Image }')),
    ],
    ['html', `${ENGINE_HTML}${html('<img src="{{ name }}">')}`],
  ] as const)('in %s fetches from the hosts its template lists, as the service does', async ([, source]) => {
    const egress = '  egress: {allowedHosts: [127.77.7.7]}\n'
    await folder.write('letter.yaml', `${head}${egress}${source}  sampleData:\n    name: https://127.77.7.7/\n`)
    const run = (cidrs: string) =>
      folder.platen(['preview', '.', 'letter'], { env: { PLATEN_EGRESS_ALLOW_CIDRS: cidrs } })
    const closed = await run('')
    expect([closed.code, closed.out]).toEqual([
      1,
      expect.stringContaining('127.77.7.7: it does not lead to a public address'),
    ])
    expect((await run('127.77.0.0/16')).out).toContain(
      '127.77.7.7: it could not be reached, or the connection broke (ECONNREFUSED)',
    )
  })

  test('is a PDF of the sample data, and one line about it', async () => {
    await folder.write('letter.yaml', `${head}  code: welcome\n${SCHEMA}${reactPdf()}${SAMPLE}`)
    const { code, out, err } = await folder.spawned(['preview', '.', 'welcome'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^welcome\.pdf: 1 page, \d+ KiB, \d+ ms \(react_pdf\)\n$/)
    expect(await textOf('welcome.pdf')).toContain('Dear Ada, this is react_pdf.')
    expect(await folder.names()).toEqual(['letter.yaml', 'platform.yaml', 'welcome.pdf'])
  })

  test('is by the template’s own engine, else by react_pdf, and says how to have the other', async () => {
    await folder.write('letter.yaml', `${head}${reactPdf()}${html(HTML)}${SAMPLE}`)
    expect((await preview('letter')).out).toContain('(react_pdf; --engine html renders its other source)')
    expect((await preview('letter', '--engine', 'html', '-o', 'html.pdf')).out).toContain(' ms (html)\n')
    await folder.write('letter.yaml', `${head}${ENGINE_HTML}${reactPdf()}${html(HTML)}${SAMPLE}`)
    expect((await preview('letter', '-o', 'own.pdf')).out).toContain(
      '(html; --engine react_pdf renders its other source)',
    )
    expect(await textOf('letter.pdf')).toContain('this is react_pdf')
    expect(await textOf('html.pdf')).toContain('Dear Ada, this is html.')
    expect(await textOf('own.pdf')).toContain('this is html')
  })

  test('counts the pages of either engine, bookmarks and all', async () => {
    const pages = '<Page bookmark="one" /><Page bookmark="two" /><Page bookmark="three" />'
    const source = `import { Document, Page } from '@react-pdf/renderer'\nexport default () => <Document>${pages}</Document>\n`
    const breaks = '<p>page</p>\n'.repeat(23)
    const style = '<style>p { break-after: page }</style>\n'
    await folder.write('letter.yaml', `${head}${reactPdf(source)}${html(style + breaks)}${SAMPLE}`)
    expect((await preview('letter')).out).toContain('letter.pdf: 3 pages')
    const { pages: counted } = await inspectPdf(await folder.read('letter.pdf'))
    expect(counted).toBe(3)
    expect((await preview('letter', '--engine', 'html')).out).toContain('letter.pdf: 23 pages')
  })

  test('finds a template by its name and namespace, too', async () => {
    await folder.write('letter.yaml', `${head}${reactPdf()}${SAMPLE}`)
    expect((await preview('team-acme/letter')).code).toBe(0)
  })

  test('goes where it is told to, through links, and never over anything but a PDF', async () => {
    await folder.write('letter.yaml', `${head}${reactPdf()}${SAMPLE}`)
    expect((await preview('letter', '-o', 'real.pdf')).code).toBe(0)
    await symlink('real.pdf', `${folder.path}/link.pdf`)
    await folder.write('letter.yaml', `${head}${reactPdf(LETTER.replace('Dear', 'Hello'))}${SAMPLE}`)
    const [was] = await inodesOf('real.pdf')
    expect((await preview('letter', '-o', 'link.pdf')).code).toBe(0)
    expect(await textOf('real.pdf')).toContain('Hello Ada')
    // Another file in its place: who has the old one open reads it to its end.
    expect(await inodesOf('real.pdf', 'link.pdf')).not.toContain(was)
    const before = await folder.read('letter.yaml')
    const { code, out, err } = await preview('letter', '-o', 'letter.yaml')
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toBe('platen: letter.yaml exists and is not a PDF: choose another file with -o\n')
    expect(await folder.read('letter.yaml')).toEqual(before)
  })
})

describe('data of one’s own', () => {
  beforeEach(() => folder.write('letter.yaml', `${head}${SCHEMA}${reactPdf()}${SAMPLE}`))

  test('comes from a file', async () => {
    await folder.write('bob.json', '{"name": "Bob"}')
    expect((await preview('letter', '--data', 'bob.json')).code).toBe(0)
    expect(await textOf('letter.pdf')).toContain('Dear Bob')
  })

  test('comes from the standard input', async () => {
    const { code } = await folder.spawned(['preview', '.', 'letter', '--data', '-'], { stdin: '{"name": "Cleo"}' })
    expect(code).toBe(0)
    expect(await textOf('letter.pdf')).toContain('Dear Cleo')
  })

  test.for([
    [
      'does not fit the schema',
      '{\n  "name": "Bartholomew",\n  "age": 3\n}',
      `data.json:2:11: /data/name: must have at most 9 characters
      1 | {
    > 2 |   "name": "Bartholomew",
        |           ^
      3 |   "age": 3
      4 | }
data.json:3:10: /data/age: is not a known field
      1 | {
      2 |   "name": "Bartholomew",
    > 3 |   "age": 3
        |          ^
      4 | }
`,
    ],
    ['lacks what the schema requires', '{}', 'data.json:1:1: /data/name: is required\n    > 1 | {}\n        | ^\n'],
    [
      'is not JSON',
      '{"name": "Bob",}',
      `data.json:1:16: is not JSON: Expected double-quoted property name in JSON at position 15 (line 1 column 16)
    > 1 | {"name": "Bob",}
        |                ^
`,
    ],
    ['is no object', '[]', 'data.json: is not a JSON object\n'],
    [
      'is nested too deeply',
      `{"name": ${'['.repeat(100)}${']'.repeat(100)}}`,
      'data.json: is nested more than 64 levels deep\n',
    ],
  ] as const)('that %s is refused with the place', async ([, text, printed]) => {
    await folder.write('data.json', text)
    expect(await preview('letter', '--data', 'data.json')).toEqual({ code: 1, out: printed, err: '' })
    expect(await folder.names()).not.toContain('letter.pdf')
  })

  test('that cannot be read is named', async () => {
    const { code, err } = await preview('letter', '--data', 'none.json')
    expect([code, err]).toEqual([2, 'platen: the data none.json cannot be read (ENOENT)\n'])
  })

  test('is needed where there is no sample', async () => {
    await folder.write('letter.yaml', `${head}${reactPdf()}`)
    const { code, out } = await previewLetter()
    expect([code, out]).toEqual([
      1,
      'letter.yaml:5:3: Template team-acme/letter: has no sampleData: add it, or pass data with --data <file>\n',
    ])
  })
})

describe('a fault', () => {
  const printed = async (text: string) => {
    await folder.write('letter.yaml', text)
    const { code, out } = await previewLetter()
    expect(code).toBe(1)
    return out
  }

  test('of a component is reported by its place in the YAML file', async () => {
    const text = `${head}${reactPdf(LETTER.replace('data.name', 'data.name.first.last'))}${SAMPLE}`
    expect(await printed(text)).toBe(`\
letter.yaml:12:40: Template team-acme/letter: template_error: template.tsx:4:32: TypeError: cannot read property 'last' of undefined
      10 | export default ({ data }) => (
      11 |   <Document><Page>
    > 12 |     <Text>Dear {data.name.first.last}, this is react_pdf.</Text>
         |                                ^
      13 |   </Page></Document>
      14 | )
`)
  })

  test('of html in a ConfigMap is reported by its place there', async () => {
    const page = block('page', '<p>\n{{ name | upcsae }}\n</p>\n', 2)
    const map = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: parts, namespace: team-acme}\ndata:\n${page}`
    await folder.write('parts.yaml', `# parts\n---\n${map}`)
    expect(
      await printed(`${head}${ENGINE_HTML}  html: {template: {configMapKeyRef: {name: parts, key: page}}}\n${SAMPLE}`),
    ).toMatch(
      /^parts\.yaml:9:5: Template team-acme\/letter: template_error: template\.html:2:1: there is no filter upcsae \(did you mean upcase\?\)\n {7}8 \| <p>\n {4}> {2}9 \| \{\{ name \| upcsae \}\}\n {9}\| \^\n {6}10 \| <\/p>\n$/,
    )
  })

  test.for([
    ['quoted', '"<b>\\n{% nope %}"'],
    ['folded', '>\n        <b>\n\n        {% nope %}\n'],
  ] as const)('of a %s source is reported by the line of the field, with the source beside it', async ([, source]) => {
    expect(
      await printed(
        `${head}${ENGINE_HTML}  html:\n    template: {}\n${SAMPLE}`.replace('{}', `\n      inline: ${source}`),
      ),
    ).toMatch(
      /^letter\.yaml:9:15: Template team-acme\/letter: template_error: template\.html:2:1: .*\n {6}1 \| <b>\n {4}> 2 \| \{% nope %\}\n {8}\| \^\n$/,
    )
  })

  test('of the schema is reported by its place in it', async () => {
    const schema = '  variablesSchema:\n    type: object\n    properties:\n      name: {type: strin}\n'
    const out = await printed(`${head}${schema}${reactPdf()}${SAMPLE}`)
    expect(out).toMatch(/^letter\.yaml:9:20: Template team-acme\/letter: SchemaInvalid: variablesSchema: /)
    expect(out).toContain('    >  9 |       name: {type: strin}\n         |                    ^\n')
    await folder.write('platform.yaml', PLAN)
    expect((await previewLetter()).out).toBe(out)
  })

  test('of the sample data is reported by its place', async () => {
    expect(await printed(`${head}${SCHEMA}${reactPdf()}  sampleData:\n    name: 3\n`)).toMatch(
      /^letter\.yaml:17:11: Template team-acme\/letter: \/spec\/sampleData\/name: must be string\n/,
    )
  })

  test('of the document is told as check does', async () => {
    expect(await printed(`${head}  version: 0\n${reactPdf()}`)).toMatch(
      /^letter\.yaml:6:12: Template team-acme\/letter: \/spec\/version: must be >= 1\n(?: {4}.*\n)+$/,
    )
  })

  test('of a source that is not there is told', async () => {
    expect(
      await printed(`${head}${ENGINE_HTML}  html: {template: {configMapKeyRef: {name: parts, key: page}}}\n${SAMPLE}`),
    ).toBe('letter.yaml:1:1: Template team-acme/letter: ConfigMapNotFound: there is no ConfigMap team-acme/parts\n')
  })

  test('of an endless template is reported by the deadline of its plan', async () => {
    await folder.write('platform.yaml', PLATFORM.replace('spec: {html', 'spec: {renderTimeoutSeconds: 1, html'))
    const source = 'for (;;) {}\nexport default () => null\n'
    expect(await printed(`${head}${reactPdf(source)}${SAMPLE}`)).toBe(
      'letter.yaml:7:5: Template team-acme/letter: render_timeout: react_pdf: the render did not finish within its deadline of 1 s\n',
    )
  })

  test('never brings control characters of an author to the terminal', async () => {
    const rude = LETTER.replace('data.name', 'data.x.\u0085\u202ey').replace('Dear', '\u001b[31m')
    const throwing = 'export default () => { throw new Error("\\x1b]0;owned\\x07\\u202e") }\n'
    const outs = [
      await printed(`${head}${reactPdf(throwing)}${SAMPLE}`),
      await printed(`${head}${reactPdf(rude)}${SAMPLE}`),
    ]
    expect(outs.join('').replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
  })
})

describe('what the service would hold against it', () => {
  test('is a warning: html that the plan has not', async () => {
    await folder.write('platform.yaml', [PLAN, TENANT].join('---\n'))
    await folder.write('letter.yaml', `${head}${ENGINE_HTML}${html(HTML)}${SAMPLE}`)
    const { code, out } = await previewLetter()
    expect(code).toBe(0)
    expect(out.split('\n').slice(1)).toEqual([
      'letter.yaml:8:5: warning: Template team-acme/letter: EngineNotInPlan: the limits of Tenant acme have no htmlEngineEnabled: html renders are refused with 402',
      '',
    ])
  })

  test('is a warning: page JavaScript that the plan has not', async () => {
    await folder.write('letter.yaml', `${head}${ENGINE_HTML}${html(HTML)}    javascriptEnabled: true\n${SAMPLE}`)
    const { code, out } = await previewLetter()
    expect(code).toBe(0)
    expect(out).toContain('letter.yaml:12:24: warning: Template team-acme/letter: JavaScriptNotInPlan: ')
    expect(out.trimEnd().split('\n')).toHaveLength(2)
  })

  test('is a warning: a tenant that there is not', async () => {
    await folder.write('platform.yaml', PLAN)
    await folder.write('letter.yaml', `${head}${reactPdf()}${SAMPLE}`)
    const { code, out } = await previewLetter()
    expect(code).toBe(0)
    expect(out).toContain(
      'letter.yaml:5:21: warning: Template team-acme/letter: TenantNotFound: there is no Tenant acme that lists team-acme in spec.namespaces\n',
    )
  })
})

describe('a template', () => {
  beforeEach(() => folder.write('letter.yaml', `${head}${reactPdf()}${SAMPLE}`))

  test.for([
    ['lettre', 'there is no template lettre in . (did you mean letter?)'],
    ['team-acme/leter', 'there is no template team-acme/leter in . (did you mean team-acme/letter?)'],
    ['invoice', 'there is no template invoice in .'],
  ] as const)('%s that is not there is named, with what is near', async ([name, printed]) => {
    expect(await preview(name)).toEqual({ code: 2, out: '', err: `platen: ${printed}\n` })
  })

  test('that is one of several must be named in full', async () => {
    await folder.write('other.yaml', `${templateHead('letter', 'team-b')}${reactPdf()}${SAMPLE}`)
    const printed = 'letter is the name of more than one template; say which: team-acme/letter, team-b/letter'
    expect(await preview('letter')).toEqual({ code: 2, out: '', err: `platen: ${printed}\n` })
    expect((await preview('team-b/letter')).code).toBe(0)
  })

  test('that is not there beside a file that cannot be read may be in that', async () => {
    await folder.write('broken.yaml', 'kind: [\n')
    const { code, out } = await preview('invoice')
    expect(code).toBe(1)
    expect(out).toMatch(/^broken\.yaml:\d:\d: .*\n(?: {4}.*\n)+\.: there is no template invoice in \.\n$/)
  })

  test('is not rendered by an engine it has no source for', async () => {
    const printed = 'Template team-acme/letter has no html source: it has react_pdf'
    expect(await preview('letter', '--engine', 'html')).toEqual({ code: 2, out: '', err: `platen: ${printed}\n` })
  })
})

test('a preview that is interrupted cleans up and says so', async () => {
  await folder.write('letter.yaml', `${head}${reactPdf('for (;;) {}\nexport default () => null\n')}${SAMPLE}`)
  const command = folder.follow('preview', '.', 'letter')
  await works(command.pid)
  expect(await command.end('SIGINT')).toBe(130)
  expect(await folder.names()).toEqual(['letter.yaml', 'platform.yaml'])
})

test('without a browser html is not rendered, and the command says what to do', async () => {
  await folder.write('letter.yaml', `${head}${ENGINE_HTML}${html(HTML)}${SAMPLE}`)
  const printed = 'there is no Chromium to render html: renderer/install-chromium.sh installs it'
  const { code, err } = await folder.platen(['preview', '.', 'letter'], { env: { PLATEN_CHROMIUM: 'none' } })
  expect([code, err]).toEqual([2, `platen: ${printed}\n`])
  const wrong = await folder.platen(['preview', '.', 'letter'], { env: { PLATEN_CHROMIUM: '/nowhere' } })
  expect([wrong.code, wrong.err]).toEqual([2, 'platen: the configured Chromium is not an executable file: /nowhere\n'])
})

test('a setting that is wrong is named', async () => {
  const { code, err } = await folder.platen(['preview', '.', 'letter'], {
    env: { PLATEN_EGRESS_ALLOW_CIDRS: '10.0.0.1' },
  })
  expect([code, err]).toEqual([
    2,
    'platen: PLATEN_EGRESS_ALLOW_CIDRS must be networks such as 10.1.0.0/16, separated by commas\n',
  ])
})
