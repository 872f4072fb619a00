/** `platen check` as people run it, in a process of its own. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const MAIN = join(ROOT, 'cli/src/main.ts')

const API = 'apiVersion: platen.dev/v1alpha1'
const PLAN = `${API}\nkind: Plan\nmetadata: {name: starter}\nspec: {}\n`
const TENANT = `${API}\nkind: Tenant\nmetadata: {name: acme}\nspec: {planRef: {name: starter}, namespaces: [team-acme]}\n`
const KEY = `${API}\nkind: ApiKey\nmetadata: {name: ci, namespace: team-acme}\nspec: {tenantRef: {name: acme}, secretName: ci-key}\n`
const template = (source: string) =>
  `${API}\nkind: Template\nmetadata: {name: letter, namespace: team-acme}\nspec:\n  tenantRef: {name: acme}\n  reactPdf: {source: {inline: "${source}"}}\n`
const GOOD = "import { Document } from '@react-pdf/renderer'; export default () => <Document />"

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platen-check-'))
})
afterEach(() => rm(folder, { recursive: true }))

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

function run(file: string, args: readonly string[]): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>()
  execFile(file, args, { cwd: ROOT }, (error, out, err) => {
    resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err })
  })
  return promise
}

const platen = (...args: string[]) => run(process.execPath, [MAIN, ...args])

describe('platen check', () => {
  test('finds no fault with the examples, called as the documents say', async () => {
    const { code, out, err } = await run('npx', ['--no', 'platen', 'check', 'examples'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^\d+ files, \d+ resources: no faults\n$/)
  })

  test('prints every fault with its place, and a sum', async () => {
    await writeFile(
      join(folder, 'a.yaml'),
      [PLAN.replace('spec: {}', 'spec:\n  asyncFairShare: 0\n  retentionDay: 3'), TENANT, KEY].join('---\n'),
    )
    await writeFile(
      join(folder, 'b.yaml'),
      [template('export default () => nothing(').replace('tenantRef', 'version: 0\n  tenantRef'), TENANT].join('---\n'),
    )
    await writeFile(join(folder, 'c.yaml'), 'kind: [\n')
    const { code, out } = await platen('check', folder)
    expect(code).toBe(1)
    expect(out.split('\n')).toEqual([
      `${folder}/a.yaml:5: Plan starter: /spec/asyncFairShare: must be >= 1`,
      `${folder}/a.yaml:6: Plan starter: /spec/retentionDay: is not a known field`,
      `${folder}/a.yaml:8: Tenant acme: PlanNotFound: there is no Plan starter`,
      `${folder}/a.yaml:13: ApiKey team-acme/ci: TenantNotReady: Tenant acme is not ready: see its conditions`,
      `${folder}/b.yaml:5: Template team-acme/letter: /spec/version: must be >= 1`,
      `${folder}/b.yaml:9: Tenant acme: is declared already in a.yaml, line 8`,
      expect.stringMatching(/c\.yaml:\d: .*flow sequence/i),
      '3 files, 2 resources: 7 faults',
      '',
    ])
  })

  test('checks templates as the service does, each by itself', async () => {
    const broken = template('export default () => {\\n  return nothing(').replace('name: letter', 'name: broken')
    const endless = template('for (;;) {}; export default () => null').replace('name: letter', 'name: endless')
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, template(GOOD), broken, endless].join('---\n'))
    const { code, out } = await platen('check', folder)
    expect(code).toBe(1)
    expect(out).toMatch(
      /^.*all\.yaml:\d+: Template team-acme\/broken: CompileError: template\.tsx:\d+:\d+: .*\n.*Template team-acme\/endless: CompileError: .*\n1 file, 5 resources: 2 faults\n$/,
    )
  })

  test('warns of what is no fault', async () => {
    const both = `${template(GOOD)}  html: {template: {inline: "<p>"}, javascript: true}\n`
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, both].join('---\n'))
    const { code, out } = await platen('check', folder)
    expect(code).toBe(0)
    expect(out.split('\n')).toEqual([
      expect.stringContaining('all.yaml:11: warning: Template team-acme/letter: EngineNotInPlan: '),
      '1 file, 3 resources: no faults',
      '',
    ])
  })

  test('prints no control characters of a template’s author', async () => {
    const rude = template('throw new Error(String.fromCharCode(27, 10, 7) + 1); export default () => null')
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, rude].join('---\n'))
    const { out } = await platen('check', folder)
    expect(out.split('\n')).toHaveLength(3)
    expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  })

  test('writes nothing', async () => {
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, KEY].join('---\n'))
    const before = await readdir(ROOT)
    expect((await platen('check', folder)).code).toBe(0)
    expect(await readdir(folder)).toEqual(['all.yaml'])
    expect(await readdir(ROOT)).toEqual(before)
  })

  test('finds fault with a folder without manifests', async () => {
    await mkdir(join(folder, 'empty'))
    const { code, out } = await platen('check', join(folder, 'empty'))
    expect([code, out]).toEqual([1, `${folder}/empty: the folder holds no *.yaml\n0 files, 0 resources: 1 fault\n`])
  })
})

describe('platen', () => {
  test.for([['--help'], ['-h'], ['help'], ['check', '--help']])('%j says how to call it', async (args) => {
    const { code, out, err } = await platen(...args)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('usage: platen check <folder>')
  })

  test.for([[], ['check'], ['check', 'a', 'b'], ['chekc', 'a'], ['check', 'a', '--fix']])(
    '%j is called wrongly',
    async (args) => {
      const { code, out, err } = await platen(...args)
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toContain('usage: platen check <folder>')
    },
  )

  test.for([
    ['/nowhere/manifests', 'ENOENT'],
    [MAIN, 'ENOTDIR'],
  ] as const)('check %s names the folder that cannot be read', async ([path, reason]) => {
    const { code, out, err } = await platen('check', path)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toBe(`platen: the folder ${path} cannot be read (${reason})\n`)
  })
})
