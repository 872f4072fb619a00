import type { TemplateResource } from '@platen/contract/domain/resource.ts'
import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import type { FolderState } from '@platen/settings/manifest/folder.ts'
import { parseManifests } from '@platen/settings/manifest/text/parse.ts'
import { describe, expect, test } from 'vitest'
import { aTemplateResource } from '../../../test/fixture/resource.ts'
import { formatDiagnostics } from './diagnostic.ts'
import { locationsIn } from './location.ts'

const read = resourceReader()

/** Builds the state of a folder with these files, as if it had just been read. */
function folderOf(texts: Readonly<Record<string, string>>): FolderState {
  const parsed = Object.entries(texts).map(([file, text]) => ({ file, text, ...parseManifests({ text, file, read }) }))
  return {
    files: new Map(parsed.map(({ file, ...state }) => [file, state])),
    documents: parsed.flatMap(({ documents }) => documents),
    faults: parsed.flatMap(({ faults }) => faults),
  }
}

const LETTER = `\
# A letter.
---
apiVersion: platen.dev/v1alpha1
kind: Template
metadata: {name: letter, namespace: team-acme}
spec:
  tenantRef: {name: acme}
  html:
    template:
      inline: |
        <h1>
        {{ name }}
    header: {configMapKeyRef: {name: parts, key: header.html}}
    footer: {inline: "<p>\\n{{ page }}"}
  engine: Html
`
const PARTS = `\
apiVersion: v1
kind: ConfigMap
metadata: {name: parts, namespace: team-acme}
data:
  header.html: |
    <b>

      {{ title }}
`

const folder = folderOf({ 'letter.yaml': LETTER, 'parts.yaml': PARTS })
const places = locationsIn(folder, 'manifests')

/** Returns the template as it is in the folder. */
function template(): TemplateResource {
  const [written] = folder.documents.flatMap(({ written }) => (written.kind === 'Template' ? [written] : []))
  if (written === undefined) throw new Error(JSON.stringify(folder.faults))
  return { ...aTemplateResource({ metadata: { name: 'letter' } }), spec: written.spec }
}

const shown = (message: string) => {
  const place = places.ofSource(template(), message)
  return place && formatDiagnostics([{ ...place, message, isWarning: false }])
}

describe('a message about a source', () => {
  test('leads to the line and column of a literal block, numbered as in the file', () => {
    expect(shown('template.html:2:4: no')).toEqual([
      'manifests/letter.yaml:12:12: template.html:2:4: no',
      '      11 | <h1>',
      '    > 12 | {{ name }}',
      '         |    ^',
    ])
  })

  test('leads into the ConfigMap that holds it', () => {
    expect(shown('header.html:3:6: no')).toEqual([
      'manifests/parts.yaml:8:10: header.html:3:6: no',
      '      6 | <b>',
      '      7 |',
      '    > 8 |   {{ title }}',
      '        |      ^',
    ])
  })

  test('leads to the first word of the line where it has no column', () => {
    expect(shown('header.html:3: no')?.[0]).toBe('manifests/parts.yaml:8:7: header.html:3: no')
    expect(shown('header.html:3: no')?.at(-1)).toBe('    > 8 |   {{ title }}')
  })

  test('leads to the field where the text is quoted, and shows the text', () => {
    expect(shown('footer.html:2:4: no')).toEqual([
      'manifests/letter.yaml:14:22: footer.html:2:4: no',
      '      1 | <p>',
      '    > 2 | {{ page }}',
      '        |    ^',
    ])
  })

  test('leads to the end of a text that ends too early', () => {
    expect(shown('template.html:3:1: no')).toEqual([
      'manifests/letter.yaml:12:19: template.html:3:1: no',
      '      11 | <h1>',
      '    > 12 | {{ name }}',
      '         |           ^',
    ])
  })

  test('leads to the field where it has no line', () => {
    expect(shown('template.html: too long')).toEqual(['manifests/letter.yaml:10:15: template.html: too long'])
  })

  test.for([
    'the document is too large',
    'template.css:1:1: no',
    'constructor.html:1:1: no',
    'see template.html:1:1: no',
  ])('leads nowhere when it is %j', (message) => {
    expect(shown(message)).toBeUndefined()
  })

  test('leads to the spec where the source is not there', () => {
    expect(places.ofSource(template(), 'template.tsx:1:1: no')).toEqual({
      file: 'manifests/letter.yaml',
      line: 7,
      column: 3,
    })
  })
})

describe('a field', () => {
  test('is shown as it stands in its document and no further', () => {
    const place = places.ofValue('Template team-acme/letter', '/spec/tenantRef/name')
    expect(place).toMatchObject({ file: 'manifests/letter.yaml', line: 7, column: 21 })
    expect(place.excerpt?.text).toBe(LETTER.slice('# A letter.\n'.length))
  })

  test('of nobody is in the folder', () => {
    expect(places.ofField('Template team-acme/other', '/spec')).toEqual({ file: 'manifests' })
  })
})

describe('a fault', () => {
  const broken = folderOf({
    'all.yaml': `${LETTER.replace('template:', 'tempalte:')}---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {key: [service_live_1]}\n`,
  })
  const locations = broken.faults.map((fault) => locationsIn(broken, '.').ofFault(fault))

  test('of a template is shown', () => {
    expect(locations[0]).toMatchObject({ file: 'all.yaml', excerpt: { firstLine: 2 } })
  })

  test('of a secret is not', () => {
    expect(locations.at(-1)).toEqual({ file: 'all.yaml', line: 20, column: 19 })
    expect(JSON.stringify(locations)).not.toContain('service_live_1')
  })
})
