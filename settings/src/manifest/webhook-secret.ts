/**
 * Webhook secrets of a folder's tenants, from a Secret among its documents, or from a file in the data folder that is created if missing. A
 * rotation requested by an annotation is made once, whatever kill interrupts it: the new secret is stored, sealed, with the tenant's
 * identity; then it is written to its file; then the identity records that. Each step can be repeated with the same result.
 */

import { rename } from 'node:fs/promises'
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import type { Resource, TenantResource, Uid } from '@platen/contract/domain/resource.ts'
import type { ResourceManifest } from '@platen/contract/domain/resource-spec.ts'
import {
  newWebhookSecret,
  openWebhookSecret,
  type ReferencedSecret,
  referencedSecret,
  sealWebhookSecret,
  type WebhookSecretReference,
} from '@platen/contract/domain/webhook-secret.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import type { SealKeys } from '@platen/lib/seal.ts'
import { labelOf } from '../compile/condition.ts'
import type { FoundSecret, FoundSecrets } from '../compile/tenant.ts'
import {
  FileUnfit,
  loadOrCreateWebhookSecret,
  readWebhookSecret,
  replaceWebhookSecret,
  webhookSecretPath,
} from '../secrets.ts'
import type { Identities } from './identity.ts'
import type { ManifestDocument } from './text/parse.ts'

/** Files that are read or created at once: the disk flushes several as quickly as one. */
const WEBHOOK_SECRET_FILES_AT_ONCE = 32

/** Rotations of one tenant that are remembered, so that none is made twice: more than anyone goes back in a manifest. */
const WEBHOOK_ROTATIONS_KEPT_MAX = 32

interface SecretOptions {
  readonly dataDir: string
  /** Start of the prefix of generated secrets. */
  readonly brand: string
  readonly sealKeys: SealKeys
  readonly ids: Ids
  readonly log: Log
}

/**
 * Stores newly requested rotations in the identities; returns `identities` itself if there are none. A referenced secret rotates with its
 * Secret, so only the request is remembered.
 */
export function beginRotations(
  resources: readonly Resource[],
  identities: Identities,
  { brand, sealKeys, ids }: SecretOptions,
): Identities {
  const begun = resources.flatMap((resource): readonly (readonly [string, Identities[string]])[] => {
    if (resource.kind !== 'Tenant') return []
    const { rotateWebhookSecretAt: asked, account } = resource.metadata
    const place = labelOf(resource)
    const identity = identities[place]
    if (asked === undefined || identity === undefined || identity.rotations?.includes(asked)) return []
    const rotations = [...(identity.rotations ?? []), asked].slice(-WEBHOOK_ROTATIONS_KEPT_MAX)
    if (resource.spec.webhookSecretRef !== undefined) return [[place, { ...identity, rotations }]]
    const nextSecret = sealWebhookSecret(newWebhookSecret(brand, ids), { account, keys: sealKeys })
    return [[place, { ...identity, rotations, nextSecret }]]
  })
  return begun.length === 0 ? identities : { ...identities, ...Object.fromEntries(begun) }
}

/** Renames the files of removed tenants by their uid: a new tenant with the same name is a different one. */
export async function setAsideSecretFiles(
  dataDir: string,
  { before, after }: { readonly before: Identities; readonly after: Identities },
): Promise<void> {
  for (const [place, { uid }] of Object.entries(before)) {
    const [, tenant] = /^Tenant (.+)$/.exec(place) ?? []
    if (tenant === undefined || Object.hasOwn(after, place)) continue
    const path = webhookSecretPath({ dataDir, tenant })
    await rename(path, `${path}.${uid}`).catch((cause: unknown) => {
      if (!isErrno(cause, 'ENOENT')) throw new FileUnfit(`${path} cannot be renamed`, { cause })
    })
  }
}

interface FindSecretsInput {
  readonly documents: readonly ManifestDocument[]
  /** With their identities. */
  readonly resources: readonly Resource[]
  readonly identities: Identities
}

interface TenantSecrets {
  readonly found: FoundSecrets
  /** Without new secrets that are now in their files. */
  readonly identities: Identities
}

/** No content of a manifest or a file makes it reject. */
type FindSecrets = (look: FindSecretsInput) => Promise<TenantSecrets>

/** Reads each file once: a change by hand takes effect at the next start. */
export function secretFinder(options: SecretOptions): FindSecrets {
  const read = new Map<Uid, string>()
  return async ({ documents, resources, identities }) => {
    const secrets = secretsIn(documents)
    const found = new Map<Uid, FoundSecret>()
    const written = new Set<string>()
    const find = async (tenant: TenantResource): Promise<FoundSecret> => {
      const { uid, account } = tenant.metadata
      const { webhookSecretRef } = tenant.spec
      if (webhookSecretRef !== undefined)
        return sealReferenced(referencedIn(secrets, webhookSecretRef), account, options)
      const next = identities[labelOf(tenant)]?.nextSecret
      const known = next === undefined ? read.get(uid) : undefined
      if (known !== undefined) return { current: known }
      try {
        const had =
          next === undefined ? await loadSecretFile(tenant, options) : await replaceSecretFile(tenant, next, options)
        if (next !== undefined) written.add(labelOf(tenant))
        read.set(uid, had.current)
        return had
      } catch (cause) {
        return { fault: cause instanceof Error ? cause.message : 'its file cannot be read' }
      }
    }
    const tenants = resources.filter((resource) => resource.kind === 'Tenant')
    await forEachConcurrently(tenants, WEBHOOK_SECRET_FILES_AT_ONCE, async (tenant) => {
      found.set(tenant.metadata.uid, await find(tenant))
    })
    return { found, identities: endRotations(identities, written) }
  }
}

function sealReferenced(value: ReferencedSecret, account: string, { sealKeys }: SecretOptions): FoundSecret {
  return 'fault' in value ? value : { current: sealWebhookSecret(value.secret, { account, keys: sealKeys }) }
}

type SealedSecret = Extract<FoundSecret, { readonly current: string }>

async function loadSecretFile(
  tenant: TenantResource,
  { dataDir, brand, sealKeys, ids, log }: SecretOptions,
): Promise<SealedSecret> {
  const { name, account } = tenant.metadata
  const file = { dataDir, tenant: name }
  const { secret, isNew } = await loadOrCreateWebhookSecret(file, () => newWebhookSecret(brand, ids))
  if (isNew) log.info({ resource: labelOf(tenant), file: webhookSecretPath(file) }, 'webhook secret generated')
  return { current: sealWebhookSecret(secret, { account, keys: sealKeys }) }
}

async function replaceSecretFile(tenant: TenantResource, next: string, options: SecretOptions): Promise<SealedSecret> {
  const { dataDir, brand, sealKeys, ids, log } = options
  const { name, account } = tenant.metadata
  const file = { dataDir, tenant: name }
  const before = await readWebhookSecret(file)
  // Does not open if the key was lost since.
  const secret = openWebhookSecret(next, { account, keys: sealKeys }) ?? newWebhookSecret(brand, ids)
  await replaceWebhookSecret(file, secret)
  log.info({ resource: labelOf(tenant), file: webhookSecretPath(file) }, 'webhook secret generated')
  return {
    current: sealWebhookSecret(secret, { account, keys: sealKeys }),
    ...(before !== undefined && { replaced: sealWebhookSecret(before, { account, keys: sealKeys }) }),
  }
}

function endRotations(identities: Identities, written: ReadonlySet<string>): Identities {
  if (written.size === 0) return identities
  const entries = Object.entries(identities).map(([place, identity]) => {
    const { nextSecret: _written, ...kept } = identity
    return [place, written.has(place) ? kept : identity]
  })
  return Object.fromEntries(entries)
}

/** By `Secret namespace/name`. */
type Secrets = ReadonlyMap<string, Extract<ResourceManifest, { kind: 'Secret' }>>

export function secretsIn(documents: readonly ManifestDocument[]): Secrets {
  return new Map(documents.flatMap(({ place, written }) => (written.kind === 'Secret' ? [[place, written]] : [])))
}

/** Why there is no secret, and what to do, if the reference names none of them. */
export function referencedIn(secrets: Secrets, reference: WebhookSecretReference): ReferencedSecret {
  return referencedSecret(reference, secrets.get(`Secret ${reference.namespace}/${reference.name}`))
}
