/** The webhook secrets of a followed folder: generated or referenced, missing and found again. */
import { readFile, rm, stat } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { ofTest } from '../fixture/lifetime.ts'
import { KEY, PLAN, TENANT } from '../fixture/manifests.ts'
import {
  aSecret,
  aSecretOf,
  GENERATED,
  makeSigningFolder,
  OWN,
  REFERRING,
  type SigningFolder,
  tenantOf,
} from './signing-folder.ts'

let folder: SigningFolder
beforeEach(async () => {
  folder = ofTest(await makeSigningFolder())
})

describe('a tenant that references no secret', () => {
  test('is given one, in a file that is its owner’s alone to read', async () => {
    await folder.declare(TENANT)
    await using service = await folder.follow()
    const made = await folder.inFile()
    expect(made).toMatch(GENERATED)
    expect(await folder.signing(service)).toEqual([made])
    expect((await stat(folder.file)).mode & 0o777).toBe(0o600)
    expect(service.lines).toContainEqual({
      message: 'webhook secret generated',
      fields: { resource: 'Tenant acme', file: folder.file },
    })
  })

  test('has the same over restarts, and no settings change for it', async () => {
    await folder.declare(TENANT)
    const first = await folder.once()
    expect(await folder.once()).toEqual(first)
    await using service = await folder.follow()
    await folder.declare(TENANT, '# Nothing of a resource.\n')
    await folder.write('other.yaml', PLAN.replace('starter', 'other'))
    const revision = service.current().revision
    await folder.write('other.yaml', 'kind: [')
    await service.logged('manifest refused')
    expect(service.current().revision).toBe(revision)
    expect(await folder.signing(service)).toEqual(first)
  })

  test('may be given one by its owner, who may also replace it', async () => {
    await folder.declare(TENANT)
    await folder.putInFile(`${OWN}\n`)
    expect(await folder.once()).toEqual([OWN])
    await folder.putInFile('another-0123456789-0123456789')
    expect(await folder.once()).toEqual(['another-0123456789-0123456789', OWN])
  })

  test.for(['', 'short', 'with a space in the middle of it', 'ä'.repeat(30)])(
    'is served, and says so, where its file holds %j; nothing is replaced or quoted',
    async (text) => {
      await folder.declare(TENANT)
      await folder.putInFile(text)
      await using service = await folder.follow()
      expect(tenantOf(service)).toMatchObject({ suspended: false })
      expect(tenantOf(service)).not.toHaveProperty('webhookSecrets')
      const detail = `${folder.file} does not hold 24 to 512 printable ASCII characters without spaces or line ends: fix it, or remove it to have a new one generated, and start again; webhooks wait until then`
      expect(service.lines).toContainEqual({
        message: 'resource refused',
        fields: { resource: 'Tenant acme', file: 'all.yaml', reason: 'SecretMissing', detail },
      })
      expect(await readFile(folder.file, 'utf8')).toBe(text)
    },
  )

  test('whose file is lost or spoilt keeps the secret in force, and a new one is made for the lost one', async () => {
    await folder.declare(TENANT)
    const first = await folder.once()
    await folder.putInFile('spoilt')
    expect(await folder.once()).toEqual(first)
    await rm(folder.file)
    const both = await folder.once()
    expect(both).toEqual([await folder.inFile(), ...first])
    expect(both[0]).toMatch(GENERATED)
  })

  test('created again under an old name has another, and the old one is put aside', async () => {
    await folder.declare(TENANT)
    await using service = await folder.follow()
    const [old] = await folder.signing(service)
    const uid = tenantOf(service)?.account
    await folder.declare()
    await service.logged('settings published')
    await folder.declare(TENANT)
    await service.logged('settings published')
    const inForce = await folder.signing(service)
    expect(inForce).toEqual([await folder.inFile()])
    expect(inForce).not.toContain(old)
    expect((await readFile(`${folder.file}.${uid}`, 'utf8')).trim()).toBe(old)
  })

  test('keeps its file while its manifest cannot be read', async () => {
    await folder.declare(TENANT)
    await using service = await folder.follow()
    const first = await folder.signing(service)
    await folder.write('all.yaml', 'kind: [')
    await service.logged('manifest refused')
    expect(await folder.inFile()).toBe(first[0])
    expect(await folder.signing(service)).toEqual(first)
  })
})

describe('a secret that is referenced', () => {
  const encoded = (text: string) => Buffer.from(text).toString('base64')

  test.for([
    ['a text', `stringData: {signing: ${OWN}}`],
    ['base64', `data: {signing: ${encoded(OWN)}}`],
    [
      'base64 over several lines',
      `data:\n  signing: |\n    ${encoded(OWN).slice(0, 20)}\n    ${encoded(OWN).slice(20)}`,
    ],
    [
      'a text beside base64, before which it goes',
      `stringData: {signing: ${OWN}}\ndata: {signing: ${encoded('x'.repeat(30))}}`,
    ],
  ])('may be written as %s', async ([, fields = '']) => {
    await folder.declare(REFERRING, aSecret(fields))
    expect(await folder.once()).toEqual([OWN])
  })

  const lead = 'webhookSecretRef names team-acme/hook/signing, but'
  const form = '24 to 512 printable ASCII characters without spaces or line ends'
  test.for([
    [
      'is nowhere',
      KEY.replace('name: ci,', 'name: other,').replace('ci-key', 'other'),
      `${lead} there is no such Secret: declare it`,
    ],
    [
      'is in another namespace',
      aSecretOf(OWN).replace('team-acme', 'team-globex'),
      `${lead} there is no such Secret: declare it`,
    ],
    ['has no such key', aSecret(`stringData: {other: ${OWN}}`), `${lead} the Secret has no such key: add it`],
    ['is empty', aSecret(''), `${lead} the Secret has no such key: add it`],
    [
      'is not base64',
      aSecret(`data: {signing: ${OWN}}`),
      `${lead} its data is not base64: encode it, or use stringData`,
    ],
    ['is too short', aSecretOf('x'.repeat(23)), `${lead} its value is not ${form}: change it`],
    ['ends in a line end', aSecretOf(`${OWN}\n`), `${lead} its value is not ${form}: change it`],
    [
      'is no text',
      aSecret(`data: {signing: ${Buffer.alloc(32, 0xff).toString('base64')}}`),
      `${lead} its value is not ${form}: change it`,
    ],
  ])(
    'that %s leaves its tenant served, and is told; once it is there, it signs',
    async ([, document = '', detail = '']) => {
      await folder.declare(REFERRING, document)
      await using service = await folder.follow()
      expect(tenantOf(service)).toMatchObject({ suspended: false, limits: { retentionDays: 30 } })
      expect(service.current().keys.size).toBeGreaterThan(0)
      expect(await folder.signing(service)).toEqual([])
      const missing = service.lines.filter(({ fields }) => fields['reason'] === 'SecretMissing')
      expect(missing).toEqual([
        {
          message: 'resource refused',
          fields: {
            resource: 'Tenant acme',
            file: 'all.yaml',
            reason: 'SecretMissing',
            detail: `${detail}; webhooks wait until then`,
          },
        },
      ])
      await folder.declare(REFERRING, aSecretOf(OWN))
      expect(await service.logged('resource ready')).toMatchObject({ resource: 'Tenant acme' })
      expect(await folder.signing(service)).toEqual([OWN])
      await expect(stat(folder.file)).rejects.toThrow('ENOENT')
    },
  )

  test('under a name that every object has is not there', async () => {
    await folder.declare(REFERRING.replace('key: signing', 'key: constructor'), aSecretOf(OWN))
    await using service = await folder.follow()
    const missing = service.lines.filter(({ fields }) => fields['reason'] === 'SecretMissing')
    expect(missing.map(({ fields }) => fields['detail'])).toEqual([
      expect.stringContaining('the Secret has no such key'),
    ])
  })

  test('rotates when it has another value, with the overlap for both', async () => {
    await folder.declare(REFERRING, aSecretOf(OWN))
    await using service = await folder.follow()
    await folder.declare(REFERRING, aSecretOf('second-0123456789-0123456789'))
    expect(await service.logged('webhook secret rotated')).toEqual({ resource: 'Tenant acme' })
    expect(await folder.signing(service)).toEqual(['second-0123456789-0123456789', OWN])
    expect(await folder.signing(service, 23.9)).toHaveLength(2)
    expect(await folder.signing(service, 24.1)).toEqual(['second-0123456789-0123456789'])
  })

  test('rotates as well when it was changed while nobody looked', async () => {
    await folder.declare(REFERRING, aSecretOf(OWN))
    await folder.once()
    await folder.declare(REFERRING, aSecretOf('second-0123456789-0123456789'))
    expect(await folder.once()).toEqual(['second-0123456789-0123456789', OWN])
  })

  test('that is gone stays in force, over a restart too, and the condition says so', async () => {
    await folder.declare(REFERRING, aSecretOf(OWN))
    await folder.once()
    await folder.declare(REFERRING)
    await using service = await folder.follow()
    expect(await folder.signing(service)).toEqual([OWN])
    expect(service.lines).toContainEqual({
      message: 'resource refused',
      fields: expect.objectContaining({
        reason: 'SecretMissing',
        detail: expect.stringMatching(/; the one published earlier stays in force until then$/),
      }),
    })
  })

  test('takes over from a generated one, and the other way around', async () => {
    await folder.declare(TENANT)
    const [made = ''] = await folder.once()
    await folder.declare(REFERRING, aSecretOf(OWN))
    expect(await folder.once()).toEqual([OWN, made])
    await folder.declare(TENANT)
    expect(await folder.once()).toEqual([made, OWN])
  })
})
