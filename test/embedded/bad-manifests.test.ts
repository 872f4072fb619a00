/** Bad input: each is refused with a reason, and nothing else is affected by it. */
import { mkdir, rename } from 'node:fs/promises'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { ofTest } from '../fixture/lifetime.ts'
import { API } from '../fixture/manifests.ts'
import { type Folder, letter, letters, makeFolder, PLATFORM } from './followed-folder.ts'

const ACME = 'acme' as TenantId
const plan = (spec: string) => `${API}\nkind: Plan\nmetadata: {name: bad}\nspec: {${spec}}\n`
const tenant = (spec: string) => `${API}\nkind: Tenant\nmetadata: {name: bad}\nspec: {${spec}}\n`
const key = (spec: string) =>
  `${API}\nkind: ApiKey\nmetadata: {name: bad, namespace: team-acme}\nspec: {tenantRef: {name: acme}, ${spec}}\n`
const template = (spec: string) =>
  `${API}\nkind: Template\nmetadata: {name: bad, namespace: team-acme}\nspec: {tenantRef: {name: acme}, engine: Html, html: {template: {inline: "<p>"}}, ${spec}}\n`
const schema = (properties: string) => template(`variablesSchema: {type: object, ${properties}}`)
const sha256 = `"sha256:${'0a'.repeat(32)}"`
/** Of ten thousand million words. */
const laughs = [
  'l0: &l0 lol',
  ...Array.from({ length: 9 }, (_, at) => `l${at + 1}: &l${at + 1} [${`*l${at}, `.repeat(10)}]`),
].join('\n')

interface Bad {
  readonly text: string
  /** Of the log line that tells it. */
  readonly refused: 'manifest refused' | 'resource refused'
  readonly reason: string
}

const manifest = (text: string, reason: string): Bad => ({ text, reason, refused: 'manifest refused' })
const resource = (text: string, reason: string): Bad => ({ text, reason, refused: 'resource refused' })

const BAD: readonly (readonly [what: string, Bad])[] = [
  [
    'a plan that prices html out of its quota',
    resource(
      plan('htmlEngineEnabled: true, htmlEngineRenderMultiplier: 25, renderLimitMonthly: 24'),
      'the quota would never allow an html render',
    ),
  ],
  ['a plan with JavaScript and no html', resource(plan('javascriptEnabled: true'), 'needs htmlEngineEnabled')],
  ['a plan with an html rate and no html', manifest(plan('htmlRateLimitPerMinute: 1'), 'needs htmlEngineEnabled')],
  ['a rate past all sense', manifest(plan('syncRateLimitPerMinute: 1000001'), 'must be <= 1000000')],
  ['a tenant of no plan', resource(tenant('planRef: {name: nobody}'), 'there is no Plan nobody')],
  [
    'overrides that contradict the plan',
    resource(tenant('planRef: {name: starter}, overrides: {htmlRateLimitPerMinute: 5}'), 'needs htmlEngineEnabled'),
  ],
  ['overrides of nothing', manifest(tenant('planRef: {name: starter}, overrides: {}'), 'must not be empty')],
  [
    'the prefix of another tenant',
    resource(tenant('planRef: {name: starter}, storage: {prefix: acme/}'), 'overlaps that of Tenant acme'),
  ],
  [
    'a prefix inside another tenant’s',
    resource(tenant('planRef: {name: starter}, storage: {prefix: acme/a/b/}'), 'overlaps that of Tenant acme'),
  ],
  [
    'a prefix of the service',
    resource(tenant('planRef: {name: starter}, storage: {prefix: manifest/}'), 'overlaps that of the service'),
  ],
  [
    'a way out of the folder',
    manifest(tenant('planRef: {name: starter}, storage: {prefix: ../}'), 'does not have the required form'),
  ],
  ['a tenant declared twice', manifest(PLATFORM.split('---\n')[1] ?? '', 'is declared already in all.yaml')],
  [
    'a template of html alone that names no engine',
    manifest(template('').replace('engine: Html, ', ''), 'must be Html, because the template has only an html source'),
  ],
  ['a template of a code that is taken', resource(template('code: letter'), 'has the code letter: choose another')],
  [
    'a template of another tenant',
    resource(template('').replace('name: acme}', 'name: globex}'), 'there is no Tenant globex that lists team-acme'),
  ],
  [
    'a template from a namespace nobody lists',
    resource(template('').replace('team-acme', 'team-globex'), 'that lists team-globex'),
  ],
  [
    'a key that somebody has',
    resource(
      `${key(`sha256: ${sha256}`).replace('name: bad', 'name: a')}---\n${key(`sha256: ${sha256}`)}`,
      'bring or generate another',
    ),
  ],
  [
    'a key that expires never and nowhere',
    manifest(key('secretName: x, expiresAt: "2026-02-30T00:00:00Z"'), 'must be a time such as'),
  ],
  ['a schema that is none', resource(schema('properties: {a: {type: strin}}'), 'schema is invalid')],
  ['a schema of no object', resource(template('variablesSchema: {type: array}'), 'needs type: object')],
  [
    'a $ref to the web',
    resource(schema('$ref: "http://169.254.169.254/schema"'), "can't resolve reference http://169.254.169.254"),
  ],
  ['a $ref to a file', resource(schema('$ref: "file:///etc/passwd"'), "can't resolve reference file:///etc/passwd")],
  ['a $ref without end', resource(schema('$ref: "#"'), 'refers to itself endlessly')],
  [
    'a pattern that looks around',
    resource(schema('properties: {a: {pattern: "^(?=x)"}}'), 'look-around and back-references'),
  ],
  [
    'a pattern that looks back',
    resource(schema('properties: {a: {pattern: "(a+)\\\\1"}}'), 'look-around and back-references'),
  ],
  [
    'a pattern of megabytes',
    resource(schema(`properties: {a: {pattern: "${'a?'.repeat(40_000)}"}}`), 'bytes; at most'),
  ],
  [
    'a schema of thousands of properties',
    resource(
      schema(`properties: {${Array.from({ length: 2000 }, (_, at) => `a${at}: {}`).join()}}`),
      'it weighs more than',
    ),
  ],
  ['a source that does not compile', resource(template('').replace('<p>', '{% if %}'), 'template.html:1')],
  ['a billion laughs', manifest(laughs, 'Excessive alias count')],
  [
    'a billion laughs inside a resource',
    manifest(template(`sampleData: {${laughs.replaceAll('\n', ', ')}}`), 'Excessive alias count'),
  ],
  ['an anchor that contains itself', manifest(template('sampleData: &a {b: *a}'), 'nested more than')],
  ['a hundred thousand brackets', manifest('['.repeat(100_000), '')],
  ['a prototype', manifest(template('sampleData: {__proto__: {published: true}}'), '__proto__')],
]

let folder: Folder
beforeEach(async () => {
  folder = ofTest(await makeFolder())
})

describe('beside a good tenant', () => {
  test.for(BAD)('%s is refused with its reason', async ([, { text, refused, reason }]) => {
    await folder.write('all.yaml', `${PLATFORM}---\n${letter('Dear')}`)
    await using service = await folder.follow()
    const { tenants, templates } = service.current()
    await folder.write('bad.yaml', text)
    const line = await service.logged(refused)
    expect(line).toMatchObject({ file: 'bad.yaml', detail: expect.stringContaining(reason) })
    expect(service.current()).toMatchObject({ tenants, templates })
  })
})

describe('a folder', () => {
  test('of ten thousand tenants in one file is served, and a change to one of them followed', async () => {
    const named = (at: number, spec = '') =>
      `${API}\nkind: Tenant\nmetadata: {name: t${at}}\nspec: {planRef: {name: starter}${spec}}\n`
    const others = Array.from({ length: 9_999 }, (_, at) => named(at))
    await folder.write('all.yaml', [PLATFORM, ...others].join('---\n'))
    await using service = await folder.follow()
    expect(service.current().tenants.size).toBe(10_000)
    others[5_000] = named(5_000, ', suspend: true')
    await folder.write('all.yaml', [PLATFORM, ...others].join('---\n'))
    await service.logged('settings published')
    const suspended = [...service.current().tenants.values()].filter((tenant) => tenant.suspended)
    expect(suspended.map(({ id }) => id)).toEqual(['t5000'])
  })

  test('that vanishes and comes back is followed again, and revokes nothing meanwhile', async () => {
    await folder.write('all.yaml', `${PLATFORM}---\n${letter('one')}`)
    await using service = await folder.follow()
    const before = service.current()
    await rename(folder.dir, `${folder.dir}-away`)
    await service.logged('manifests not published, last good settings stay in force')
    expect(service.current()).toBe(before)
    await mkdir(folder.dir)
    await folder.write('all.yaml', `${PLATFORM}---\n${letter('two')}`)
    await service.logged('settings published')
    expect(await letters(service)).toEqual(['two'])
    expect(service.current().keys).toEqual(before.keys)
    expect(service.current().tenants.get(ACME)).toEqual(before.tenants.get(ACME))
  })
})
