/** kill -9 at any moment of a rotation: each new webhook secret is created once, and earlier secrets keep their overlap. */
import { watch } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { WEBHOOK_SECRETS_MAX } from '@platen/contract/domain/limit.ts'
import { ROTATE_ANNOTATION } from '@platen/contract/domain/resource-spec.ts'
import type { Tenant } from '@platen/contract/domain/tenant.ts'
import { signingSecretsOf } from '@platen/contract/domain/webhook-secret.ts'
import { expect, test } from 'vitest'
import { manifestOf, plan, tenant } from '../fixture/manifests.ts'
import { type EmbeddedService, startEmbedded } from '../topology/embedded.ts'

/** The number of secrets that may sign at the same time, without the first one. */
const KILLS = WEBHOOK_SECRETS_MAX - 1

/** Manifests with one tenant. */
function declared(annotations: object = {}): string {
  const { metadata, ...acme } = tenant('acme', 'starter')
  return manifestOf([plan('starter', {}), { ...acme, metadata: { ...metadata, annotations } }])
}

const inFile = async ({ dataDir }: EmbeddedService) =>
  (await readFile(join(dataDir, 'webhook-secrets/acme'), 'utf8')).trim()

/** Returns the secrets that sign for the tenant, from the settings that were saved last. */
async function signing({ dataDir }: EmbeddedService): Promise<readonly string[]> {
  const key = Buffer.from(await readFile(join(dataDir, 'seal-key'), 'utf8'), 'base64url')
  const [, json = ''] = (await readFile(join(dataDir, 'last-good'), 'utf8')).split('\n', 2)
  const kept: { tenants: readonly (readonly [string, Tenant])[] } = JSON.parse(json)
  const acme = kept.tenants.find(([, { id }]) => id === 'acme')?.[1]
  return (acme && signingSecretsOf(acme, [key], Date.now())?.all) ?? []
}

/**
 * Resolves at change number `count` in the data folder or in the folder of secrets, but at the latest with the last change of a rotation.
 */
async function nthChange({ dataDir }: EmbeddedService, count: number): Promise<void> {
  const reached = Promise.withResolvers<void>()
  let changes = 0
  const onChange = (_kind: string, name: string | null) => {
    // The database may write at any time.
    if (name?.startsWith('platen.db') === true) return
    if (++changes >= count || name === 'last-good') reached.resolve()
  }
  const watchers = [dataDir, join(dataDir, 'webhook-secrets')].map((folder) => watch(folder, onChange))
  await reached.promise
  for (const watcher of watchers) watcher.close()
}

test(`of ${KILLS} rotations, each killed at another moment, each is made once`, async () => {
  await using service = await startEmbedded({ PLATEN_CHROMIUM: 'none', PLATEN_LOG_LEVEL: 'debug' }, declared())
  const secrets = [await inFile(service)]
  expect(await signing(service)).toEqual(secrets)
  let log = service.log()
  for (let round = 1; round <= KILLS; round++) {
    const changed = nthChange(service, 2 * round - 1)
    const asked = declared({ [ROTATE_ANNOTATION]: `2026-11-2${round}T00:00:00Z` })
    await writeFile(join(service.manifestsDir, 'all.yaml'), asked)
    await changed
    await service.kill()
    log += service.log()
    await service.start()
    secrets.unshift(await inFile(service))
    expect(new Set(secrets).size).toBe(round + 1)
    expect(await signing(service)).toEqual(secrets)
  }
  await service.stop()
  log += service.log()
  expect(secrets.filter((secret) => log.includes(secret))).toEqual([])
  expect(await filesWith(secrets, service)).toEqual([join(service.dataDir, 'webhook-secrets/acme')])
})

async function filesWith(texts: readonly string[], { dataDir }: EmbeddedService): Promise<readonly string[]> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true })
  const holding = entries
    .filter((entry) => entry.isFile())
    .map(async ({ parentPath, name }) => {
      const text = await readFile(join(parentPath, name), 'latin1')
      return texts.some((secret) => text.includes(secret)) ? [join(parentPath, name)] : []
    })
  return (await Promise.all(holding)).flat()
}
