/**
 * Where the webhook secrets of a folder's tenants come from: a Secret among its documents, or a file in the data folder that is
 * made when there is none. A rotation that an annotation asks for is made once, whatever is killed in between: first the new secret is
 * kept, sealed, with the tenant's identity, then it is written to its file, then it is known to stand there. Each step
 * can be made again with the same result.
 */
import { rename } from 'node:fs/promises'
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { Resource, TenantResource, Uid } from '@platen/contract/resource.ts'
import type { ResourceManifest } from '@platen/contract/schema/resource.ts'
import type { SealKey } from '@platen/contract/seal.ts'
import { WEBHOOK_ROTATIONS_KEPT_MAX, WEBHOOK_SECRET_FILES_AT_ONCE } from '@platen/contract/webhook-limit.ts'
import {
  newWebhookSecret,
  openWebhookSecret,
  type ReferencedSecret,
  referencedSecret,
  sealWebhookSecret,
  type WebhookSecretReference,
} from '@platen/contract/webhook-secret.ts'
import { labelOf } from '../compile/condition.ts'
import type { FoundSecret, FoundSecrets } from '../compile/tenant.ts'
import { loadOrCreateWebhookSecret, readWebhookSecret, replaceWebhookSecret, webhookSecretPath } from '../secrets.ts'
import type { Identities } from './identity.ts'
import type { ManifestDocument } from './text/parse.ts'

export interface SecretOptions {
  readonly dataDir: string
  /** Opens generated secrets. */
  readonly brand: string
  readonly sealKey: SealKey
  readonly ids: Ids
  readonly log: Log
}

/**
 * Begins the rotations that are asked for and were not before, in what is kept of the tenants; `identities` itself where there are
 * none. A secret that is referenced rotates with what the reference leads to, so there it is enough to remember that one was asked for.
 */
export function beginRotations(
  resources: readonly Resource[],
  identities: Identities,
  { brand, sealKey, ids }: SecretOptions,
): Identities {
  const begun = resources.flatMap((resource): readonly (readonly [string, Identities[string]])[] => {
    if (resource.kind !== 'Tenant') return []
    const { rotateWebhookSecretAt: asked, uid } = resource.metadata
    const place = labelOf(resource)
    const identity = identities[place]
    if (asked === undefined || identity === undefined || identity.rotations?.includes(asked)) return []
    const rotations = [...(identity.rotations ?? []), asked].slice(-WEBHOOK_ROTATIONS_KEPT_MAX)
    if (resource.spec.webhookSecretRef !== undefined) return [[place, { ...identity, rotations }]]
    const nextSecret = sealWebhookSecret(newWebhookSecret(brand, ids), { incarnation: uid, key: sealKey })
    return [[place, { ...identity, rotations, nextSecret }]]
  })
  return begun.length === 0 ? identities : { ...identities, ...Object.fromEntries(begun) }
}

/** Puts the files aside of tenants that are no more, by their uid: who takes the name after them is somebody else. */
export async function setAsideSecretFiles(
  dataDir: string,
  { before, after }: { readonly before: Identities; readonly after: Identities },
): Promise<void> {
  for (const [place, { uid }] of Object.entries(before)) {
    const [, tenant] = /^Tenant (.+)$/.exec(place) ?? []
    if (tenant === undefined || Object.hasOwn(after, place)) continue
    const path = webhookSecretPath({ dataDir, tenant })
    await rename(path, `${path}.${uid}`).catch((cause: unknown) => {
      if (!isErrno(cause, 'ENOENT')) throw new Error(`${path} cannot be renamed`, { cause })
    })
  }
}

export interface FindSecretsInput {
  readonly documents: readonly ManifestDocument[]
  /** The documents' resources, identified. */
  readonly resources: readonly Resource[]
  readonly identities: Identities
}

export interface TenantSecrets {
  /** Of every tenant. */
  readonly found: FoundSecrets
  /** Without the new secrets that stand in their files by now. */
  readonly identities: Identities
}

/** Finds the secret of every tenant. Rejects for nothing that stands in a manifest or a file. */
export type FindSecrets = (look: FindSecretsInput) => Promise<TenantSecrets>

/** Makes the finder. It reads each file once: what is changed there by hand counts from the next start. */
export function secretFinder(options: SecretOptions): FindSecrets {
  const read = new Map<Uid, string>()
  return async ({ documents, resources, identities }) => {
    const secrets = secretsIn(documents)
    const found = new Map<Uid, FoundSecret>()
    const written = new Set<string>()
    const find = async (tenant: TenantResource): Promise<FoundSecret> => {
      const { uid } = tenant.metadata
      const { webhookSecretRef } = tenant.spec
      if (webhookSecretRef !== undefined) return sealReferenced(referencedIn(secrets, webhookSecretRef), uid, options)
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
        return { fault: cause instanceof Error ? cause.message : 'its file cannot be had' }
      }
    }
    const waiting = resources.filter((resource) => resource.kind === 'Tenant').values()
    const work = async () => {
      // All workers draw from the one iterator, so each tenant is looked for once.
      for (const tenant of waiting) found.set(tenant.metadata.uid, await find(tenant))
    }
    await Promise.all(Array.from({ length: WEBHOOK_SECRET_FILES_AT_ONCE }, work))
    return { found, identities: endRotations(identities, written) }
  }
}

function sealReferenced(value: ReferencedSecret, uid: Uid, { sealKey }: SecretOptions): FoundSecret {
  return 'fault' in value ? value : { current: sealWebhookSecret(value.secret, { incarnation: uid, key: sealKey }) }
}

type SealedSecret = Extract<FoundSecret, { readonly current: string }>

/** The secret in a tenant's file. */
async function loadSecretFile(
  tenant: TenantResource,
  { dataDir, brand, sealKey, ids, log }: SecretOptions,
): Promise<SealedSecret> {
  const { name, uid } = tenant.metadata
  const file = { dataDir, tenant: name }
  const { secret, isNew } = await loadOrCreateWebhookSecret(file, () => newWebhookSecret(brand, ids))
  if (isNew) log.info({ resource: labelOf(tenant), file: webhookSecretPath(file) }, 'webhook secret generated')
  return { current: sealWebhookSecret(secret, { incarnation: uid, key: sealKey }) }
}

/** Writes a new secret over the one in a tenant's file. */
async function replaceSecretFile(tenant: TenantResource, next: string, options: SecretOptions): Promise<SealedSecret> {
  const { dataDir, brand, sealKey, ids, log } = options
  const { name, uid } = tenant.metadata
  const file = { dataDir, tenant: name }
  const before = await readWebhookSecret(file)
  // It does not open when the key has been lost since.
  const secret = openWebhookSecret(next, { incarnation: uid, key: sealKey }) ?? newWebhookSecret(brand, ids)
  await replaceWebhookSecret(file, secret)
  log.info({ resource: labelOf(tenant), file: webhookSecretPath(file) }, 'webhook secret generated')
  return {
    current: sealWebhookSecret(secret, { incarnation: uid, key: sealKey }),
    ...(before !== undefined && { replaced: sealWebhookSecret(before, { incarnation: uid, key: sealKey }) }),
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

/** The Secrets among the documents, by `Secret namespace/name`. */
export type Secrets = ReadonlyMap<string, Extract<ResourceManifest, { kind: 'Secret' }>>

/** All that `webhookSecretRef` may lead to. */
export function secretsIn(documents: readonly ManifestDocument[]): Secrets {
  return new Map(documents.flatMap(({ place, written }) => (written.kind === 'Secret' ? [[place, written]] : [])))
}

/** What a reference leads to among them, or why there is nothing to be had, and what to do. */
export function referencedIn(secrets: Secrets, reference: WebhookSecretReference): ReferencedSecret {
  return referencedSecret(reference, secrets.get(`Secret ${reference.namespace}/${reference.name}`))
}
