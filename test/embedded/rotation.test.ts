/** Rotations that are asked for: made once, with an overlap, whatever is killed in between; and secrets that show nowhere. */
import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { memoryDirectory } from '@platen/adapters/memory/directory.ts'
import { WEBHOOK_SECRET_OVERLAP_MS } from '@platen/contract/domain/limit.ts'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import { sealWebhookSecret } from '@platen/contract/domain/webhook-secret.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { ofTest } from '../fixture/lifetime.ts'
import { TENANT } from '../fixture/manifests.ts'
import {
  aSecret,
  aSecretOf,
  GENERATED,
  makeSigningFolder,
  OWN,
  REFERRING,
  rotatedAt,
  type SigningFolder,
  tenantOf,
} from './signing-folder.ts'

let folder: SigningFolder
beforeEach(async () => {
  folder = ofTest(await makeSigningFolder())
})

describe('a rotation that is asked for', () => {
  test('is made once, whatever changes and restarts follow', async () => {
    await folder.declare(TENANT)
    const [first = ''] = await folder.once()
    await using service = await folder.follow()
    const before = Date.now()
    await folder.declare(rotatedAt('2026-11-21T10:00:00Z'))
    await service.logged('webhook secret rotated')
    const after = Date.now()
    const second = await folder.inFile()
    expect(second).toMatch(GENERATED)
    expect(await folder.signing(service)).toEqual([second, first])
    const until = tenantOf(service)?.webhookSecrets?.[0]?.until ?? 0
    expect(until).toBeGreaterThanOrEqual(before + WEBHOOK_SECRET_OVERLAP_MS)
    expect(until).toBeLessThanOrEqual(after + WEBHOOK_SECRET_OVERLAP_MS)
    // The same time in another spelling, another change, another look.
    await folder.declare(rotatedAt('2026-11-21T11:00:00+01:00').replace('spec: {', 'spec: {suspend: true, '))
    await service.logged('settings published')
    expect(tenantOf(service)?.webhookSecrets?.[0]?.until).toBe(until)
    await service[Symbol.asyncDispose]()
    expect(await folder.once()).toEqual([second, first])
    expect(await folder.once()).toEqual([second, first])
  })

  test('is created again for any other time, future or past, and not for one that was asked for before', async () => {
    await folder.declare(TENANT)
    const secrets = [...(await folder.once())]
    for (const time of ['2099-01-01T00:00:00Z', '2026-01-01T00:00:00Z']) {
      await folder.declare(rotatedAt(time))
      const signs = await folder.once()
      expect(signs).toEqual([await folder.inFile(), ...secrets])
      secrets.splice(0, secrets.length, ...signs)
    }
    for (const tenant of [TENANT, rotatedAt('2099-01-01T00:00:00Z'), rotatedAt('2026-01-01T00:00:00Z')]) {
      await folder.declare(tenant)
      expect(await folder.once()).toEqual(secrets)
    }
  })

  test('together with the tenant is its first secret', async () => {
    await folder.declare(rotatedAt('2026-11-21T10:00:00Z'))
    const first = await folder.once()
    expect(first).toHaveLength(1)
    expect(await folder.once()).toEqual(first)
  })

  test('keeps its overlap though the settings of before were lost', async () => {
    await folder.declare(TENANT)
    const first = await folder.once()
    await rm(join(folder.dataDir, 'last-good'))
    await folder.declare(rotatedAt('2026-11-21T10:00:00Z'))
    expect(await folder.once()).toEqual([await folder.inFile(), ...first])
  })

  test('has no effect with a reference, and says so once', async () => {
    await folder.declare(REFERRING, aSecretOf(OWN))
    await using service = await folder.follow()
    await folder.declare(rotatedAt('2026-11-21T10:00:00Z', REFERRING), aSecretOf(OWN))
    expect(await service.logged('field has no effect')).toEqual({
      resource: 'Tenant acme',
      file: 'all.yaml',
      path: '/metadata/annotations/platen.dev~1rotate-webhook-secret',
      detail: 'has no effect with webhookSecretRef: the secret rotates when the value in the Secret changes',
    })
    expect(await folder.signing(service)).toEqual([OWN])
    await folder.declare(rotatedAt('2026-11-21T10:00:00Z', REFERRING), aSecretOf('second-0123456789-0123456789'))
    await service.logged('webhook secret rotated')
    expect(service.lines.filter(({ message }) => message === 'field has no effect')).toHaveLength(1)
  })

  test('beside a reference has none later either, when the reference is gone', async () => {
    await folder.declare(TENANT)
    const [made = ''] = await folder.once()
    const time = '2026-11-21T10:00:00Z'
    await folder.declare(rotatedAt(time, REFERRING), aSecretOf(OWN))
    await folder.once()
    await folder.declare(rotatedAt(time))
    expect(await folder.once()).toEqual([made, OWN])
    await folder.declare(rotatedAt('2026-11-21T11:00:00Z'))
    expect(await folder.once()).toEqual([await folder.inFile(), OWN, made])
  })

  test('by what is no time is refused by line, and the tenant stays as it was', async () => {
    await folder.declare(TENANT)
    await using service = await folder.follow()
    const first = await folder.signing(service)
    await folder.declare(rotatedAt('tomorrow'))
    expect(await service.logged('manifest refused')).toMatchObject({
      place: 'Tenant acme',
      path: '/metadata/annotations/platen.dev~1rotate-webhook-secret',
      detail: 'must be an RFC 3339 time such as 2027-01-31T23:59:59Z',
    })
    expect(await folder.signing(service)).toEqual(first)
  })
})

describe('a kill in the middle of a rotation', () => {
  const identities = () => join(folder.dataDir, 'identities.json')

  /** Leaves the folder as a kill does between writing the new secret and publishing it. Gives the secret from before. */
  async function killedBeforePublishing(): Promise<string> {
    await folder.declare(TENANT)
    const [first = ''] = await folder.once()
    await folder.declare(rotatedAt('2026-11-21T10:00:00Z'))
    const publish = () => Promise.reject(new Error('killed'))
    await expect(folder.follow(folder.dir, { publisher: { ...memoryDirectory(), publish } })).rejects.toThrow('killed')
    return first
  }

  /** Puts a new secret, sealed, back to where it is kept until it stands in its file. */
  async function keepNext(next: string): Promise<void> {
    const kept: Record<string, { uid: string }> = JSON.parse(await readFile(identities(), 'utf8'))
    const { 'Tenant acme': identity } = kept
    const nextSecret = sealWebhookSecret(next, { account: identity?.uid ?? '', keys: [await folder.sealKey()] })
    await writeFile(identities(), JSON.stringify({ ...kept, 'Tenant acme': { ...identity, nextSecret } }))
  }

  test('before it is published: it goes on, once, with the overlap', async () => {
    const first = await killedBeforePublishing()
    const second = await folder.inFile()
    expect(second).not.toBe(first)
    expect(await folder.once()).toEqual([second, first])
    expect(await folder.once()).toEqual([second, first])
  })

  test.for(['before', 'after'])('%s the new secret is written to its file: the very same is, once', async (when) => {
    const first = await killedBeforePublishing()
    const second = 'service_webhook_0123456789abcdef'
    await keepNext(second)
    await folder.putInFile(`${when === 'before' ? first : second}\n`)
    expect(await folder.once()).toEqual([second, first])
    expect(await folder.inFile()).toBe(second)
    expect(await readFile(identities(), 'utf8')).not.toContain('nextSecret')
    expect(await folder.once()).toEqual([second, first])
  })

  test('after which the key that seals is lost: a new secret is made', async () => {
    const first = await killedBeforePublishing()
    await keepNext('service_webhook_0123456789abcdef')
    await folder.putInFile(first)
    await rm(join(folder.dataDir, 'seal-key'))
    // What was sealed before does not open any more, and the file was the last to know the first one.
    const signs = await folder.once()
    expect(signs[0]).toMatch(GENERATED)
    expect(signs).toEqual([await folder.inFile()])
  })

  test('is like a publisher that is away for a moment: what was begun is not begun again', async () => {
    await folder.declare(TENANT)
    const [first = ''] = await folder.once()
    const published: DirectorySnapshot[] = []
    const next = { isAway: false, arrived: Promise.withResolvers<void>() }
    const publish = async (snapshot: DirectorySnapshot) => {
      if (next.isAway) {
        next.isAway = false
        throw new Error('away')
      }
      published.push(snapshot)
      next.arrived.resolve()
    }
    await using service = await folder.follow(folder.dir, { publisher: { ...memoryDirectory(), publish } })
    Object.assign(next, { isAway: true, arrived: Promise.withResolvers<void>() })
    await folder.declare(rotatedAt('2026-11-21T10:00:00Z'))
    await service.logged('manifests not published, last good settings stay in force')
    const second = await folder.inFile()
    await next.arrived.promise
    const tenant = published.at(-1)?.tenants.get('acme' as TenantId)
    expect(await folder.signingOf(tenant)).toEqual([second, first])
    expect(await folder.inFile()).toBe(second)
  })
})

/** The files of the data folder that hold one of these texts in any usual spelling, the file of acme aside. */
async function filesWith(texts: readonly string[]): Promise<readonly string[]> {
  const spellings = texts.flatMap((text) => [text, Buffer.from(text).toString('base64').slice(0, -4)])
  const names = await readdir(folder.dataDir, { recursive: true, withFileTypes: true })
  const paths = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const holding = paths.map(async (path) => {
    const text = await readFile(path, 'latin1')
    return spellings.some((spelling) => text.includes(spelling)) ? [path] : []
  })
  return (await Promise.all(holding)).flat().filter((path) => path !== folder.file)
}

test('secrets are in their files and nowhere else: not in the data folder, not in the log', async () => {
  const log: string[] = []
  const secrets: string[] = []
  const look = async (...documents: readonly string[]) => {
    await folder.declare(...documents)
    await using service = await folder.follow()
    secrets.push(...(await folder.signing(service)))
    log.push(JSON.stringify(service.lines))
  }
  await look(TENANT)
  await look(rotatedAt('2026-11-21T10:00:00Z'))
  await look(REFERRING, aSecretOf(OWN))
  await look(REFERRING, aSecret(`data: {signing: ${Buffer.from('second-0123456789-0123456789').toString('base64')}}`))
  await look(REFERRING, aSecretOf(`unsound ${OWN}`))
  await look(REFERRING)
  await look(TENANT)
  const known = [...new Set(secrets), `unsound ${OWN}`]
  expect(known).toHaveLength(5)
  expect(await filesWith(known)).toEqual([])
  expect(known.filter((text) => log.join('').includes(text))).toEqual([])
  // The search finds what is there.
  await appendFile(join(folder.dataDir, 'last-good'), OWN)
  expect(await filesWith(known)).toHaveLength(1)
})
