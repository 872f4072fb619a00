/** The folder of manifests as the embedded service follows it: real files, real watches, the renderer's own publish check. */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { TemplateChecker } from '@platen/contract/domain/template-check.ts'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import { openTemplateChecker } from '@platen/renderer/engine/template-checker.ts'
import { spawnThreadFor } from '@platen/renderer/engine/thread/start.ts'
import { EMPTY_FOLDER, type Reader, readFolder } from '@platen/settings/manifest/folder.ts'
import { openReadAhead, READ_AT_ONCE_CHARS_MAX } from '@platen/settings/manifest/text/read-ahead.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { ofTest } from '../fixture/lifetime.ts'
import { template as aTemplate, htmlOnly, manifestOf, PLAN, plan, TENANT } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { type Folder, letter, letters, makeFolder, PLATFORM } from './followed-folder.ts'

const ROOT = join(import.meta.dirname, '../..')
const ACME = 'acme' as TenantId

let folder: Folder
let dir = ''
let dataDir = ''

beforeEach(async () => {
  folder = ofTest(await makeFolder())
  dir = folder.dir
  dataDir = folder.dataDir
})

const write = (name: string, text: string) => folder.write(name, text)
const follow = () => folder.follow(dir)
const template = letter

const GLOBEX = TENANT.replaceAll('acme', 'globex')

/** A template of acme that no count of steps ends: it ends with its thread. */
function hanging(name: string): string {
  const source = 'export default () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)'
  const html = /engine: Html\n  html: .*$/m
  return template('')
    .replace('letter', name)
    .replace(html, `sampleData: {}\n  reactPdf: {source: {inline: "${source}"}}`)
}

const account = (snapshot: DirectorySnapshot) => snapshot.tenants.get(ACME)?.account

describe('at start', () => {
  test('the example manifests are published without one refusal', async () => {
    dir = join(ROOT, 'examples')
    await using service = await follow()
    expect(service.lines.filter(({ message }) => !/ready|published|generated/.test(message))).toEqual([])
    const { tenants, templates, keys } = service.current()
    expect([...tenants.keys()].toSorted()).toEqual(['acme', 'globex'])
    const codes = [...templates.values()].flatMap((codes) => [...codes.keys()])
    expect(codes.sort()).toEqual([
      'certificate',
      'certificate-hi',
      'delivery-note',
      'invoice',
      'invoice-ar',
      'invoice-ja',
      'letter',
      'letter-th',
      'report',
    ])
    expect([...keys.values()].map(({ environment }) => environment).sort()).toEqual(['live', 'live', 'test'])
  })

  test('what a renderer needs is stored before anything is published', async () => {
    await write('all.yaml', `${PLATFORM}---\n${template('Dear {{ name }}')}`)
    await using service = await follow()
    expect(await letters(service)).toEqual(['Dear {{ name }}'])
  })

  test('a folder that does not exist is an error that names it', async () => {
    await rm(dir, { recursive: true })
    await expect(follow()).rejects.toThrow(`the folder of manifests ${dir} cannot be read (ENOENT)`)
  })

  test('an empty folder is served, with a warning', async () => {
    await using service = await follow()
    expect(service.lines.map(({ message }) => message)).toContain('no tenant ready, every request is refused')
  })

  test('generated keys are logged by their place and never by their text', async () => {
    await write('all.yaml', PLATFORM)
    await using service = await follow()
    const file = join(dataDir, 'keys/team-acme.ci-key')
    expect(service.lines).toContainEqual({
      message: 'api key generated',
      fields: { resource: 'ApiKey team-acme/ci', file },
    })
    const key = (await readFile(file, 'utf8')).trim()
    expect(JSON.stringify(service.lines)).not.toContain(key.slice(13))
  })

  test('a broken file costs the others nothing, and is reported by line', async () => {
    await write('a.yaml', 'kind: [')
    await write('b.yaml', PLATFORM)
    await using service = await follow()
    expect(service.current().tenants.size).toBe(1)
    expect(service.lines).toContainEqual({
      message: 'manifest refused',
      fields: { file: 'a.yaml', line: 1, column: 8, detail: expect.any(String) },
    })
  })

  test('only YAML files are read, and of two that declare the same the first wins', async () => {
    await write('a.yml', PLATFORM)
    await write('b.yaml', TENANT.replace('spec: {', 'spec: {suspend: true, '))
    await write('.hidden.yaml', '[')
    await write('notes.txt', '[')
    await using service = await follow()
    expect(service.current().tenants.get(ACME)?.suspended).toBe(false)
    expect(service.lines.filter(({ message }) => message === 'manifest refused')).toEqual([
      {
        message: 'manifest refused',
        fields: { file: 'b.yaml', line: 1, place: 'Tenant acme', detail: 'is declared already in a.yml, line 6' },
      },
    ])
  })
})

describe('a change', () => {
  test('is followed: added, changed, removed', async () => {
    await using service = await follow()
    await write('platform.yaml', PLATFORM)
    await service.logged('settings published')
    expect(service.current().keys.size).toBe(1)

    await write('platform.yaml', PLATFORM.replace('namespaces', 'suspend: true, namespaces'))
    await service.logged('settings published')
    expect(service.current().tenants.get(ACME)?.suspended).toBe(true)

    await rm(join(dir, 'platform.yaml'))
    await service.logged('settings published')
    expect(service.current()).toMatchObject({ tenants: { size: 0 }, keys: { size: 0 } })
  })

  test('of a tenant or key is in force while templates hang in their check', async () => {
    await using checker = openTemplateChecker({ clock: systemClock() })
    await write('all.yaml', [PLATFORM, GLOBEX, template('Dear')].join('---\n'))
    await using service = await folder.follow(dir, { checker })
    await write('hanging.yaml', Array.from({ length: 8 }, (_, at) => hanging(`hanging-${at}`)).join('---\n'))
    await write('all.yaml', [PLATFORM.replace('namespaces', 'suspend: true, namespaces'), GLOBEX].join('---\n'))
    await poll(service.current).until(({ tenants }) => tenants.get(ACME)?.suspended === true)
    await write('other.yaml', template('of globex').replaceAll('acme', 'globex'))
    await poll(service.current).until(({ templates }) => templates.has('globex' as TenantId))
    // Nothing is said of what is not known yet.
    expect(service.lines.filter(({ fields }) => String(fields['resource']).includes('hanging'))).toEqual([])
  })

  test('names each template that hangs in its check, once, and then the threads of the checks end', async () => {
    const exits: Promise<unknown>[] = []
    const spawnThread = spawnThreadFor(['check'])
    const spawn: typeof spawnThread = (...limits) => {
      const thread = spawnThread(...limits)
      exits.push(new Promise((resolve) => thread.once('exit', resolve)))
      return thread
    }
    await using threads = openTemplateChecker({ clock: systemClock(), spawn, checkCpuMsMax: 1000 })
    const asked: string[] = []
    const checker: TemplateChecker = {
      check(tenant, request, signal) {
        if (typeof request !== 'function') asked.push(request.source.code)
        return threads.check(tenant, request, signal)
      },
    }
    const names = ['one', 'two', 'three', 'four']
    await write('all.yaml', PLATFORM)
    await using service = await folder.follow(dir, { checker })
    await write('templates.yaml', [...names.map(hanging), template('Dear')].join('---\n'))
    const refused = new Map<unknown, unknown>()
    while (refused.size < names.length) {
      const { resource, reason, detail } = await service.logged('resource refused')
      // Html is not in the plan, which is said of the sound one.
      if (reason === 'CompileError') refused.set(resource, detail)
    }
    const told = 'it could not be checked: it or its types take more than 1 s of CPU'
    expect(refused).toEqual(new Map(names.map((name) => [`Template team-acme/${name}`, told])))
    expect(await letters(service)).toEqual(['Dear'])
    await Promise.all(exits)
    await write('other.yaml', template('anew').replace('letter', 'other'))
    await poll(() => letters(service)).until((all) => all.length === 2)
    expect(asked.toSorted()).toEqual([...names, 'letter', 'other'].toSorted())
  })

  test('may be a rename over the old file, as editors and kubelets do', async () => {
    await write('all.yaml', PLATFORM)
    await using service = await follow()
    await writeFile(join(folder.root, 'next.yaml'), `${PLATFORM}---\n${template('Dear')}`)
    await rename(join(folder.root, 'next.yaml'), join(dir, 'all.yaml'))
    await service.logged('settings published')
    expect(await letters(service)).toEqual(['Dear'])
  })

  test('that breaks a template leaves the last good one in force until it is mended', async () => {
    await write('all.yaml', `${PLATFORM}---\n${template('one')}`)
    await using service = await follow()
    await write('all.yaml', `${PLATFORM}---\n${template('{% if %}')}`)
    expect(await service.logged('resource refused')).toMatchObject({
      resource: 'Template team-acme/letter',
      file: 'all.yaml',
      reason: 'CompileError',
      detail: expect.stringMatching(/^template\.html:1:\d+: /),
    })
    expect(await letters(service)).toEqual(['one'])
    await write('all.yaml', `${PLATFORM}---\n${template('two')}`)
    await service.logged('settings published')
    expect(await letters(service)).toEqual(['two'])
  })

  test.for([
    ['cut off in the middle', `${PLATFORM}---\n`.slice(0, PLATFORM.indexOf('planRef') + 10)],
    ['emptied', ''],
    ['of a kind nobody knows', PLATFORM.replace('kind: Tenant', 'kind: Tenent')],
    ['with a field nobody knows', PLATFORM.replace('namespaces', 'namespace')],
    ['of another encoding', Buffer.from([0xff, 0xfe, 0x41])],
  ] as const)('to a file %s leaves its tenant in force, the same one', async ([, broken]) => {
    await write('all.yaml', PLATFORM)
    await using service = await follow()
    const before = service.current()
    await writeFile(join(dir, 'all.yaml'), broken)
    await service.logged('manifest refused')
    expect(service.current()).toEqual(before)
    await write('all.yaml', PLATFORM.replace('namespaces', 'suspend: true, namespaces'))
    await service.logged('settings published')
    expect(account(service.current())).toBe(account(before))
  })

  test('to what a ConfigMap holds is a change of the template', async () => {
    const source = (text: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: parts, namespace: team-acme}\ndata: {page: "${text}"}\n`
    const referring = template('').replace('inline: ""', 'configMapKeyRef: {name: parts, key: page}')
    await write('all.yaml', `${PLATFORM}---\n${referring}`)
    await using service = await follow()
    expect(await letters(service)).toEqual([])
    await write('parts.yaml', source('one'))
    await service.logged('settings published')
    expect(await letters(service)).toEqual(['one'])
    await write('parts.yaml', source('two'))
    await service.logged('settings published')
    expect(await letters(service)).toEqual(['two'])
  })

  test('is followed after the folder itself was removed and created again', async () => {
    await write('all.yaml', PLATFORM)
    await using service = await follow()
    const before = service.current()
    await rename(dir, `${dir}-old`)
    await service.logged('manifests not published, last good settings stay in force')
    expect(service.current()).toBe(before)
    await mkdir(dir)
    await write('all.yaml', `${PLATFORM}---\n${template('Dear')}`)
    await service.logged('settings published')
    expect(await letters(service)).toEqual(['Dear'])
    expect(account(service.current())).toBe(account(before))
  })
})

describe('a tenant', () => {
  test('is the same after a restart', async () => {
    await write('all.yaml', PLATFORM)
    const before = await (async () => {
      await using service = await follow()
      return service.current()
    })()
    await using service = await follow()
    expect(account(service.current())).toBe(account(before))
    expect([...service.current().keys.keys()]).toEqual([...before.keys.keys()])
  })

  test('is the same after a restart on a broken file, before it is mended', async () => {
    await write('all.yaml', PLATFORM)
    const before = await (async () => {
      await using service = await follow()
      return service.current()
    })()
    await write('all.yaml', 'kind: [')
    await using service = await follow()
    expect(service.current()).toEqual(before)
  })

  test('removed and declared again is another one', async () => {
    await write('plan.yaml', PLAN)
    await write('tenant.yaml', TENANT)
    await using service = await follow()
    const before = account(service.current())
    await rm(join(dir, 'tenant.yaml'))
    await service.logged('settings published')
    await write('tenant.yaml', TENANT)
    await service.logged('settings published')
    expect(account(service.current())).toMatch(/^[0-9a-f]{32}$/)
    expect(account(service.current())).not.toBe(before)
  })

  test('has an identity that only the service can read, and that is never made up anew', async () => {
    await write('all.yaml', PLATFORM)
    await (await follow())[Symbol.asyncDispose]()
    const path = join(dataDir, 'identities.json')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await readdir(dataDir)).sort()).toEqual([
      'identities.json',
      'keys',
      'last-good',
      'seal-key',
      'webhook-secrets',
    ])
    await writeFile(path, '{"Tenant acme": {}}')
    await expect(follow()).rejects.toThrow(`${path} is damaged: restore it from a backup`)
  })
})

const LARGE = aTemplate('acme', 'large', {
  ...htmlOnly('<p>'),
  sampleData: { rows: Array.from({ length: READ_AT_ONCE_CHARS_MAX / 4 }, () => ['x']) },
})
const BROKEN = aTemplate('acme', 'broken', { html: 'no object' })

/** Counts what is read on this thread. */
function counted(readAhead?: Reader['readAhead']) {
  const counts = { here: 0 }
  const read = resourceReader()
  const reader: Reader = {
    read(json) {
      counts.here++
      return read(json)
    },
    readAhead,
  }
  return { counts, reader }
}

describe('a large change of a file', () => {
  test('is read in a thread, comes to the same, and is not read again', async () => {
    await write('all.yaml', manifestOf([LARGE, BROKEN, plan('small', {})]))
    const plain = await readFolder(dir, EMPTY_FOLDER, counted().reader)
    const { counts, reader } = counted(openReadAhead(systemClock()))
    const folder = await readFolder(dir, EMPTY_FOLDER, reader)
    expect(folder).toEqual(plain)
    expect([folder.documents.length, folder.faults.length, counts.here]).toEqual([2, 1, 0])
    await write('all.yaml', manifestOf([LARGE, BROKEN, plan('other', {}), plan('small', {})]))
    const { documents } = await readFolder(dir, folder, reader)
    expect([documents.length, counts.here]).toEqual([3, 1])
  })

  test('that cannot be read in time is a fault of its file, which keeps what it had', async () => {
    await write('all.yaml', manifestOf([plan('small', {})]))
    const { reader } = counted(openReadAhead({ timeout: () => AbortSignal.abort() }))
    const before = await readFolder(dir, EMPTY_FOLDER, reader)
    await write('all.yaml', manifestOf([LARGE]))
    await write('other.yaml', manifestOf([plan('other', {})]))
    const { documents, faults } = await readFolder(dir, before, reader)
    expect(documents.map(({ place }) => place)).toEqual(['Plan small', 'Plan other'])
    expect(faults).toEqual([{ file: 'all.yaml', line: 1, column: 1, message: 'cannot be read: it takes too long' }])
  })
})

test('a file that is one too many says how large it is, how large all are, and which is the largest', async () => {
  const writePlan = (name: string, bytes: number) =>
    write(`${name}.yaml`, `${manifestOf([plan(name, {})])}\n# `.padEnd(bytes, 'x'))
  await writePlan('a', 5_000_000)
  await writePlan('b', 9_000_000)
  await writePlan('c', 3_000_000)
  await write('d.yaml', manifestOf([plan('small', {})]))
  const { documents, faults } = await readFolder(dir, EMPTY_FOLDER, counted().reader)
  const sizes = 'with its 3000000 bytes the manifests have 17000000, and 16777216 are allowed for all together'
  expect(faults).toEqual([{ file: 'c.yaml', message: `is too large: ${sizes}; the largest is b.yaml with 9000000` }])
  expect(documents.map(({ place }) => place)).toEqual(['Plan a', 'Plan b', 'Plan small'])
})
