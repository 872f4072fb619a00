/**
 * Secrets that the embedded service generates and must find again: API keys, webhook secrets, the ring that signs render ids, and the keys
 * that sign URLs and seal secrets. Each is one file of mode 0600 in a folder of mode 0700. An existing file is never replaced: a new key
 * instead of a damaged one would lock out every caller and orphan every render id. The only exception is a webhook secret when a new one
 * was requested.
 */
import assert from 'node:assert/strict'
import { link, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { flushFolder, isErrno, makeDurableFolder } from '@platen/adapters/fs/durable-folder.ts'
import { environmentReader, hashOfKey, keyPrefix, newApiKey } from '@platen/contract/domain/api-key.ts'
import type { Environment, KeyHash } from '@platen/contract/domain/tenant.ts'
import { isWebhookSecret, WEBHOOK_SECRET_FORMAT } from '@platen/contract/domain/webhook-secret.ts'
import type { Ids } from '@platen/lib/ids.ts'

/** A file or folder cannot be used as it is. The message names it; whoever started the process can put it right. */
export class FileUnfit extends Error {
  override readonly name = 'FileUnfit'
}

/** In the data folder. */
const KEYS = 'keys'
const WEBHOOK_SECRETS = 'webhook-secrets'

export interface ApiKeyFile {
  readonly dataDir: string
  readonly namespace: string
  readonly secretName: string
  readonly brand: string
  readonly environment: Environment
}

/** For an ApiKey with `secretName`. A namespace has no dots, so no two share a file. */
export function apiKeyPath({ dataDir, namespace, secretName }: ApiKeyFile): string {
  return join(dataDir, KEYS, `${namespace}.${secretName}`)
}

/**
 * The SHA-256 of the key in that file; the key is generated if there is no file. Throws `FileUnfit` that names the file, but never its
 * content, if it cannot be read or written or holds no key of this brand and environment.
 */
export async function loadOrCreateApiKey(
  file: ApiKeyFile,
  ids: Ids,
): Promise<{ readonly hash: KeyHash; readonly path: string; readonly isNew: boolean }> {
  const { brand, environment } = file
  const path = apiKeyPath(file)
  const { text, isNew } = await loadOrCreate(path, () => `${newApiKey(brand, environment, ids)}\n`)
  const key = text.trim()
  if (environmentReader(brand)(key) !== environment)
    throw new FileUnfit(
      `${path} holds no key that begins with ${keyPrefix(brand, environment)}: remove it to have a new one generated`,
    )
  return { hash: hashOfKey(key), path, isNew }
}

interface WebhookSecretFile {
  readonly dataDir: string
  /** The name of the Tenant. */
  readonly tenant: string
}

/** For a tenant that references no webhook secret. */
export function webhookSecretPath({ dataDir, tenant }: WebhookSecretFile): string {
  return join(dataDir, WEBHOOK_SECRETS, tenant)
}

/**
 * The webhook secret in that file; generated if there is no file. Throws `FileUnfit` that names the file, but never its content, if it
 * cannot be read or written or holds no valid secret.
 */
export async function loadOrCreateWebhookSecret(
  file: WebhookSecretFile,
  make: () => string,
): Promise<{ readonly secret: string; readonly isNew: boolean }> {
  const path = webhookSecretPath(file)
  const { text, isNew } = await loadOrCreate(path, () => `${make()}\n`)
  const secret = soundSecret(text)
  if (secret !== undefined) return { secret, isNew }
  throw new FileUnfit(
    `${path} does not hold ${WEBHOOK_SECRET_FORMAT}: fix it, or remove it to have a new one generated, and start again`,
  )
}

/** Undefined if there is no valid secret. Throws `FileUnfit` that names the file. */
export async function readWebhookSecret(file: WebhookSecretFile): Promise<string | undefined> {
  return soundSecret((await readText(webhookSecretPath(file))) ?? '')
}

/** On disk when it resolves. Throws `FileUnfit` that names the file. */
export async function replaceWebhookSecret(file: WebhookSecretFile, secret: string): Promise<void> {
  await writePrivateFile(webhookSecretPath(file), `${secret}\n`, { isReplacing: true })
}

/** Editors add a line end to a file. */
function soundSecret(text: string): string | undefined {
  const secret = text.trim()
  return isWebhookSecret(secret) ? secret : undefined
}

/**
 * Key material of `bytes` bytes, stored as one line of base64url in `path`, and generated if there is no file. Throws `FileUnfit` that
 * names the file if it cannot be read or written or has another length.
 */
export async function loadOrCreateKeyFile(path: string, bytes: number, ids: Ids): Promise<Uint8Array> {
  const { text } = await loadOrCreate(path, () => `${Buffer.from(ids.random(bytes)).toString('base64url')}\n`)
  const key = Buffer.from(text.trim(), 'base64url')
  if (key.length !== bytes) throw new FileUnfit(`${path} holds no key of ${bytes} bytes: restore it from a backup`)
  return key
}

/** If two processes start at once, one writes, and both read what it wrote. */
async function loadOrCreate(path: string, make: () => string): Promise<{ text: string; isNew: boolean }> {
  const found = await readText(path)
  if (found !== undefined) return { text: found, isNew: false }
  const isNew = await writePrivateFile(path, make(), { isReplacing: false })
  const text = await readText(path)
  assert(text !== undefined, 'a file just written is there')
  return { text, isNew }
}

/** Undefined if there is no file. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) return undefined
    throw new FileUnfit(`${path} cannot be read`, { cause })
  }
}

/**
 * Writes a file that only its owner can read, entirely or not at all. On disk when it resolves. Without `isReplacing`, an existing file
 * stays as it is and the result is false.
 */
export async function writePrivateFile(
  path: string,
  text: string,
  { isReplacing }: { isReplacing: boolean },
): Promise<boolean> {
  const folder = dirname(path)
  const temporary = join(folder, `.${basename(path).slice(0, 200)}.${process.pid}`)
  try {
    await makeDurableFolder(folder)
    await rm(temporary, { force: true })
    await writeDurably(temporary, text)
    if (isReplacing) await rename(temporary, path)
    else await link(temporary, path)
    await flushFolder(folder)
    return true
  } catch (cause) {
    if (!isReplacing && isErrno(cause, 'EEXIST')) return false
    throw new FileUnfit(`${path} cannot be written`, { cause })
  } finally {
    await rm(temporary, { force: true })
  }
}

const TEMPORARY = /^\..+\.\d+$/

/**
 * Removes files that a kill left half-written: each may hold a secret that belongs to somebody else by now. Only for the one process that
 * owns the data folder, before it writes anything there.
 */
export async function removeTemporaryFiles(dataDir: string): Promise<void> {
  for (const folder of [dataDir, join(dataDir, KEYS), join(dataDir, WEBHOOK_SECRETS)]) {
    const names = await readdir(folder).catch((cause: unknown) => {
      if (isErrno(cause, 'ENOENT')) return []
      throw new FileUnfit(`${folder} cannot be read`, { cause })
    })
    for (const name of names) if (TEMPORARY.test(name)) await rm(join(folder, name), { force: true })
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  await file.writeFile(text)
  await file.sync()
}
