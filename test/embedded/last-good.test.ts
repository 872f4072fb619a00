/** What was in force stays in force: over changes that may not be made, and over restarts. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { readFolder } from '@platen/settings/manifest/folder.ts'
import { loadLastGood } from '@platen/settings/manifest/last-good.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { ofTest } from '../fixture/lifetime.ts'
import { KEY, PLAN, TENANT, templateHead } from '../fixture/manifests.ts'
import { type Folder, letter, letters, makeFolder, PLATFORM } from './followed-folder.ts'

const ACME = 'acme' as TenantId

let folder: Folder
beforeEach(async () => {
  folder = ofTest(await makeFolder())
})

const page = (source: string) =>
  `${templateHead('page')}  reactPdf: {source: {inline: "import { Document } from '@react-pdf/renderer'; ${source}"}}\n`
const versioned = (version: number) => letter('Dear').replace('spec:\n', `spec:\n  version: ${version}\n`)
const versionOf = ({
  current,
}: {
  current: () => { templates: ReadonlyMap<TenantId, ReadonlyMap<string, { version: number }>> }
}) => [...(current().templates.get(ACME)?.values() ?? [])].map(({ version }) => version)

describe('a change that may not be made', () => {
  test('leaves the resource as it was, is reported by file, and may be made by removing it first', async () => {
    await folder.write('platform.yaml', PLATFORM)
    await folder.write('letter.yaml', versioned(3))
    await using service = await folder.follow()
    await folder.write('letter.yaml', versioned(2))
    expect(await service.logged('manifest refused')).toEqual({
      file: 'letter.yaml',
      line: 1,
      place: 'Template team-acme/letter',
      path: '/spec/version',
      detail: 'cannot be decreased: it was 3',
    })
    expect(versionOf(service)).toEqual([3])
    await rm(join(folder.dir, 'letter.yaml'))
    await service.logged('settings published')
    await folder.write('letter.yaml', versioned(1))
    await service.logged('settings published')
    expect(versionOf(service)).toEqual([1])
  })

  test('is told in its new file, too', async () => {
    await folder.write('platform.yaml', PLATFORM)
    await using service = await folder.follow()
    const before = service.current()
    await folder.write('key.yaml', KEY.replace('secretName', 'environment: Test, secretName'))
    await folder.write('platform.yaml', [PLAN, TENANT].join('---\n'))
    expect(await service.logged('manifest refused')).toMatchObject({ file: 'key.yaml', path: '/spec/environment' })
    expect(service.current().keys).toEqual(before.keys)
  })

  test('is refused after a restart as well', async () => {
    await folder.write('all.yaml', `${PLATFORM}---\n${versioned(3)}`)
    await (await folder.follow())[Symbol.asyncDispose]()
    await folder.write('all.yaml', `${PLATFORM}---\n${versioned(2)}`)
    await using service = await folder.follow()
    expect(versionOf(service)).toEqual([3])
  })
})

describe('after a restart', () => {
  const broken: readonly (readonly [string, string])[] = [
    ['a plan that is gone', [TENANT, KEY, letter('one')].join('---\n')],
    [
      'limits that contradict each other',
      `${PLATFORM.replace('spec: {planRef', 'spec: {overrides: {javascriptEnabled: true}, planRef')}---\n${letter('one')}`,
    ],
    ['a template that does not compile', `${PLATFORM}---\n${letter('{% if %}')}`],
    ['a document nobody can read', `${PLATFORM}---\n${letter('one').replace('spec:', 'spec: [')}`],
    [
      'a source that is nowhere',
      `${PLATFORM}---\n${letter('x').replace('inline: "x"', 'configMapKeyRef: {name: a, key: b}')}`,
    ],
  ]

  test.for(broken)('%s leaves what was in force', async ([, text]) => {
    await folder.write('all.yaml', `${PLATFORM}---\n${letter('one')}`)
    const before = await (async () => {
      await using service = await folder.follow()
      return service.current()
    })()
    await folder.write('all.yaml', text)
    await using service = await folder.follow()
    expect(service.current()).toEqual(before)
    expect(await letters(service)).toEqual(['one'])
    expect(service.lines.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^(resource|manifest) refused$/),
    )
  })

  test('what was removed meanwhile is gone', async () => {
    await folder.write('all.yaml', PLATFORM)
    await folder.write('letter.yaml', letter('one'))
    await (await folder.follow())[Symbol.asyncDispose]()
    await rm(join(folder.dir, 'letter.yaml'))
    await folder.write('all.yaml', [PLAN, TENANT].join('---\n'))
    await using service = await folder.follow()
    expect(service.current()).toMatchObject({ templates: { size: 0 }, keys: { size: 0 } })
  })

  test('settings that were kept before there was one more limit have its default', async () => {
    await folder.write('all.yaml', PLATFORM)
    await folder.write('page.yaml', page('export default () => <Document />'))
    const before = await (async () => {
      await using service = await folder.follow()
      return service.current()
    })()
    const path = join(folder.dataDir, 'last-good')
    const [digest, json = ''] = (await readFile(path, 'utf8')).split('\n', 2)
    const version = Array.from({ length: 100 }, (_, i) => i).find((i) => sha256(`${i} ${json}`) === digest)
    const limit = /"asyncFairShare":\d+,/g
    expect(json).toMatch(limit)
    const fewer = json.replaceAll(limit, '')
    await writeFile(path, `${sha256(`${version} ${fewer}`)}\n${fewer}\n`)
    // Its plan is gone, and its template is broken, so that what was kept stays in force.
    await folder.write('all.yaml', [TENANT, KEY].join('---\n'))
    await folder.write('page.yaml', page('export default ('))
    await using service = await folder.follow()
    expect(service.current()).toEqual(before)
  })

  test.for([
    ['emptied', () => ''],
    ['cut off', (text: string) => text.slice(0, -20)],
    ['changed by hand', (text: string) => text.replace('acme/', 'evil/')],
  ] as const)('what was kept and is %s is left aside, with a warning', async ([, damage]) => {
    await folder.write('all.yaml', PLATFORM)
    await (await folder.follow())[Symbol.asyncDispose]()
    const path = join(folder.dataDir, 'last-good')
    await writeFile(path, damage(await readFile(path, 'utf8')))
    await using service = await folder.follow()
    expect(service.lines.map(({ message }) => message)).toContain(
      'last good settings unreadable, refused resources have no settings',
    )
    expect(service.current().tenants.get(ACME)?.storage.prefix).toBe('acme/')
  })

  test('nothing secret was kept', async () => {
    const secret =
      'apiVersion: v1\nkind: Secret\nmetadata: {name: hook, namespace: team-acme}\nstringData: {secret: hunter2}\n'
    await folder.write('all.yaml', `${PLATFORM}---\n${secret}`)
    await (await folder.follow())[Symbol.asyncDispose]()
    const key = (await readFile(join(folder.dataDir, 'keys/team-acme.ci-key'), 'utf8')).trim()
    const kept = await readFile(join(folder.dataDir, 'last-good'), 'utf8')
    expect(kept).toContain('starter')
    expect(kept).not.toContain('hunter2')
    expect(kept).not.toContain(key.slice(13))
  })
})

describe('the next start', () => {
  const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: hook, namespace: team-acme}\n'
  /** The names of the resources that a start reads again, after `change`. */
  const readAgain = async (change: () => Promise<unknown> = async () => undefined) => {
    await (await folder.follow())[Symbol.asyncDispose]()
    await change()
    const read = resourceReader()
    const sealKey = Buffer.from(await readFile(join(folder.dataDir, 'seal-key'), 'utf8'), 'base64url')
    const kept = await loadLastGood({ dataDir: folder.dataDir, sealKeys: [sealKey] }, read)
    if (kept === undefined || kept === 'damaged') throw new Error('nothing was kept')
    const places: unknown[] = []
    const state = await readFolder(folder.dir, kept.folder, {
      read(value) {
        places.push(value['kind'])
        return read(value)
      },
    })
    return { places, files: [...state.files.keys()], documents: state.documents.map(({ place }) => place) }
  }
  beforeEach(async () => {
    await folder.write('a.yaml', PLATFORM)
    await folder.write('b.yaml', letter('one'))
  })

  test('parses no file that has not changed', async () => {
    expect(await readAgain()).toEqual({
      places: [],
      files: ['a.yaml', 'b.yaml'],
      documents: ['Plan starter', 'Tenant acme', 'ApiKey team-acme/ci', 'Template team-acme/letter'],
    })
  })

  test('writes nothing again if nothing has changed', async () => {
    await folder.write('b.yaml', secret)
    await (await folder.follow())[Symbol.asyncDispose]()
    // A file that is written again is another one of the same name.
    const file = async () => (await stat(join(folder.dataDir, 'last-good'))).ino
    const before = await file()
    await (await folder.follow())[Symbol.asyncDispose]()
    expect(await file()).toBe(before)
  })

  test('parses a changed file, and no other', async () => {
    const { places } = await readAgain(() => folder.write('b.yaml', letter('two')))
    expect(places).toEqual(['Template'])
  })

  test('parses no file with a Secret either, and knows the Secret', async () => {
    await folder.write('a.yaml', `${secret}---\n${PLATFORM}`)
    expect(await readAgain()).toMatchObject({
      places: [],
      documents: expect.arrayContaining(['Plan starter', 'Secret team-acme/hook']),
    })
  })

  test('parses only the files with a Secret if the key that sealed it is lost', async () => {
    await folder.write('b.yaml', secret)
    const { places, documents } = await readAgain(async () => {
      await writeFile(join(folder.dataDir, 'seal-key'), Buffer.alloc(32).toString('base64url'))
    })
    expect([places, documents.includes('Secret team-acme/hook')]).toEqual([['Secret'], true])
  })

  test('parses all of a folder with a fault, to say so again', async () => {
    await folder.write('b.yaml', letter('one').replace('spec:', 'spec: ['))
    expect((await readAgain()).places).toEqual(['Plan', 'Tenant', 'ApiKey'])
  })

  test('parses all that was read by other schemas', async () => {
    const reread = readAgain(async () => {
      const path = join(folder.dataDir, 'last-good')
      const [digest, json = ''] = (await readFile(path, 'utf8')).split('\n', 2)
      const version = Array.from({ length: 100 }, (_, i) => i).find((i) => sha256(`${i} ${json}`) === digest)
      const other = json.replace(/"reader":"\w+"/, '"reader":"other"')
      await writeFile(path, `${sha256(`${version} ${other}`)}\n${other}\n`)
    })
    expect((await reread).places).toEqual(['Plan', 'Tenant', 'ApiKey', 'Template'])
  })
})
