import { JSON_DEPTH_MAX } from '@platen/contract/domain/limit.ts'
import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import { describe, expect, test } from 'vitest'
import { MANIFEST_DOCUMENTS_MAX } from '../limit.ts'
import { parseManifests } from './parse.ts'

const read = resourceReader()
const parse = (text: string) => parseManifests({ text, file: 'all.yaml', read })

const plan = (name: string) => `apiVersion: platen.dev/v1alpha1\nkind: Plan\nmetadata: {name: ${name}}\n`

describe('a file', () => {
  test('may hold several documents, and empty ones between them', () => {
    const { documents, faults } = parse(
      `# none\n---\n${plan('one')}spec: {}\n---\n---\n${plan('two')}spec: {}\n---\n# end\n`,
    )
    expect(documents.map(({ place, line }) => [place, line])).toEqual([
      ['Plan one', 3],
      ['Plan two', 9],
    ])
    expect(faults).toEqual([])
  })

  test.for([
    ['nothing', ''],
    ['white space', '\n\n'],
    ['a comment', '# here be manifests\n'],
  ] as const)('of %s may be half written, so nothing is known of what it held', ([, text]) => {
    expect(parse(text)).toMatchObject({ documents: [], faults: [{ file: 'all.yaml' }], hasUnknown: true })
  })

  test('places a resource without a namespace in the default one', () => {
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: "1"}'
    expect(parse(text).documents.map(({ place }) => place)).toEqual(['ConfigMap default/a'])
  })
})

describe('a file that was parsed before', () => {
  const files = [`${plan('one')}spec: {}\n---\n${plan('two')}spec: {}\n---\nkind: [\n`, 'a: 1\n'] as const

  test('gives the same again, its documents where they stand now', () => {
    const before = parse(files[0])
    const after = parseManifests({
      text: `---\n${files[1]}---\n${files[0]}`,
      file: 'all.yaml',
      read,
      known: before.parts,
    })
    expect(after.documents.map(({ place, line }) => [place, line])).toEqual([
      ['Plan one', 4],
      ['Plan two', 9],
    ])
    expect(after.faults.map(({ line }) => line)).toEqual([2, 15])
  })

  test('is asked only for what is new in it', () => {
    const { parts } = parse(files[0])
    const asked: unknown[] = []
    const counting: typeof read = (value) => {
      asked.push(value['metadata'])
      return read(value)
    }
    const text = `${files[0]}---\n${plan('three')}spec: {}\n`
    expect(parseManifests({ text, file: 'all.yaml', read: counting, known: parts }).documents).toHaveLength(3)
    expect(asked).toEqual([{ name: 'three' }])
  })
})

test('three dashes that begin no document are a part of their text', () => {
  const text =
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: |\n    ---\n    ---- \n  y: "a\n    --- b"\n'
  expect(parse(text).documents[0]?.written).toMatchObject({ data: { x: '---\n---- \n', y: 'a --- b' } })
})

test('a file of more documents than anybody looks at is left as it was', () => {
  const { documents, faults, hasUnknown } = parse('---\n'.repeat(MANIFEST_DOCUMENTS_MAX + 1))
  expect([documents, hasUnknown]).toEqual([[], true])
  expect(faults).toEqual([{ file: 'all.yaml', message: `contains more than ${MANIFEST_DOCUMENTS_MAX} documents` }])
})

describe('a faulty document', () => {
  test('costs the others nothing', () => {
    const { documents, refused } = parse(`${plan('bad')}spec: {x: 1}\n---\n${plan('good')}spec: {}\n`)
    expect(documents.map(({ place }) => place)).toEqual(['Plan good'])
    expect([...refused]).toEqual(['Plan bad'])
  })

  test('is reported by file, line, resource and field', () => {
    expect(parse(`\n\n${plan('bad')}spec:\n  retentionDays: 30\n  asyncFairShare: 0\n`).faults).toEqual([
      {
        file: 'all.yaml',
        line: 8,
        column: 19,
        place: 'Plan bad',
        path: '/spec/asyncFairShare',
        message: 'must be >= 1',
      },
    ])
  })

  test('is reported by the line of what is around a field that is missing', () => {
    const [fault] = parse(`---\n${plan('bad').replace('Plan', 'Tenant')}spec:\n  suspend: true\n`).faults
    expect(fault).toMatchObject({ line: 6, path: '/spec/planRef', message: 'is required' })
  })

  test.for([
    ['an unfinished list', 'a: [1,', 1],
    ['a key given twice', `${plan('x')}spec: {}\nkind: Plan\n`, 5],
    ['a tab for indentation', 'a:\n\tb: 1\n', 2],
    ['an alias of nothing', 'a: *nothing\n', 1],
    ['bytes', 'a: !!binary aGk=\n', 1],
    ['infinity', 'a: .inf\n', 1],
    ['a field that would be a prototype', '__proto__: {a: 1}\n', 1],
    ['something that contains itself', 'a: &a [*a]\n', 1],
    ['a list where a mapping is due', '- a\n', 1],
    ['a word where a mapping is due', 'hello\n', 1],
    ['a billion laughs', laughs(), 1],
    ['a directive nobody knows', '%YAML 9.9\n---\na: 1\n', 1],
    ['one level too many', `a: ${'['.repeat(JSON_DEPTH_MAX)}${']'.repeat(JSON_DEPTH_MAX)}\n`, 1],
    ['a hundred thousand levels', '['.repeat(100_000), 1],
  ] as const)('of %s is refused as of nobody knows whom', ([, text, line]) => {
    const { documents, faults, hasUnknown } = parse(text)
    expect(documents).toEqual([])
    expect(faults).toEqual([{ file: 'all.yaml', line, column: expect.any(Number), message: expect.any(String) }])
    expect(hasUnknown).toBe(true)
  })

  test('of another kind is refused as of nobody knows whom: it may be a misspelt tenant', () => {
    const { faults, hasUnknown } = parse(
      'apiVersion: platen.dev/v1alpha1\nkind: Tenent\nmetadata: {name: acme}\nspec: {}\n',
    )
    expect(faults).toMatchObject([{ line: 2, path: '/kind' }])
    expect(hasUnknown).toBe(true)
  })

  test('has no part of the file in its message', () => {
    const { faults } = parse('apiVersion: v1\nkind: Secret\nstringData:\n  key: "service_live_secret\n')
    expect(faults).toHaveLength(1)
    expect(JSON.stringify(faults)).not.toContain('service_live')
  })
})

test('an anchor may save a few lines', () => {
  const text = `${plan('one')}spec: &limits {retentionDays: 3}\n---\n`
  expect(parse(text).faults).toEqual([])
  const twice = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: &x "1", y: *x}\n'
  expect(parse(twice).documents[0]?.written).toMatchObject({ data: { x: '1', y: '1' } })
})

/** Ten lines that expand to ten thousand million words. */
function laughs(): string {
  const levels = Array.from({ length: 9 }, (_, level) => `l${level + 1}: &l${level + 1} [${`*l${level}, `.repeat(10)}]`)
  return ['l0: &l0 lol', ...levels].join('\n')
}
