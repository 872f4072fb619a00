/**
 * A cluster gives every resource a uid, an age and a generation. Here they are assigned at first sight and kept in the data folder. So a
 * tenant keeps its renders across restarts, and one created again under an old name sees nothing old.
 */
import { join } from 'node:path'
import { type Metadata, NAMESPACE_DEFAULT, type Resource, type Uid } from '@platen/contract/domain/resource.ts'
import { ROTATE_ANNOTATION } from '@platen/contract/domain/resource-spec.ts'
import type { Tenant } from '@platen/contract/domain/tenant.ts'
import { compileValidator } from '@platen/contract/schema/validator.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Ids } from '@platen/lib/ids.ts'
import { canonicalJson, sha256 } from '../compile/digest.ts'
import { FileUnfit, readText, writePrivateFile } from '../secrets.ts'
import type { ManifestDocument } from './text/parse.ts'

export interface Identity {
  readonly uid: Uid
  readonly createdAt: Instant
  readonly generation: number
  /** SHA-256 of the spec of that generation. */
  readonly spec: string
  /** Of a tenant that declared its account at first sight. */
  readonly accountId?: string
  /** Of a tenant: the last handled requests for new webhook secrets, by their times. */
  readonly rotations?: readonly Instant[]
  /** A new sealed webhook secret, until it is written to its file. */
  readonly nextSecret?: string
  /** Of a tenant whose `deletionPolicy` is `Delete`: where its PDFs are, to erase them when it is removed. */
  readonly erasedFrom?: Tenant['storage']
}

/** By place. */
export type Identities = Readonly<Record<string, Identity>>

const shape = {
  type: 'object',
  additionalProperties: {
    type: 'object',
    required: ['uid', 'createdAt', 'generation', 'spec'],
    properties: {
      uid: { type: 'string', pattern: '^[0-9a-f]{32}$' },
      createdAt: { type: 'integer' },
      generation: { type: 'integer', minimum: 1 },
      spec: { type: 'string' },
      accountId: { type: 'string' },
      rotations: { type: 'array', items: { type: 'integer' } },
      nextSecret: { type: 'string' },
      erasedFrom: {
        type: 'object',
        required: ['bucket', 'prefix'],
        properties: { bucket: { type: 'string' }, prefix: { type: 'string' } },
      },
    },
  },
} as const

/** None at first. Throws `FileUnfit` with the file name if the file is damaged: with new identities, every render would lose its tenant. */
export async function loadIdentities(dataDir: string): Promise<Identities> {
  const path = pathIn(dataDir)
  const text = await readText(path)
  if (text === undefined) return {}
  const value = parseJson(text)
  if (compileValidator(shape)(value).length > 0) throw new FileUnfit(`${path} is damaged: restore it from a backup`)
  // The schema has checked it.
  return value as Identities
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Never changes, whatever the manifest declares later. */
export function accountOf({ uid, accountId = uid }: Identity): string {
  return accountId
}

/** On disk when it resolves. */
export async function storeIdentities(dataDir: string, identities: Identities): Promise<void> {
  await writePrivateFile(pathIn(dataDir), `${JSON.stringify(identities, null, 1)}\n`, { isReplacing: true })
}

function pathIn(dataDir: string): string {
  return join(dataDir, 'identities.json')
}

interface IdentifyInput {
  readonly documents: readonly ManifestDocument[]
  readonly known: Identities
  /** Whether the whole folder was read without a fault. Only then do missing resources count as removed. */
  readonly isComplete: boolean
  readonly now: Instant
}

/** Gives every resource an identity, a new one if it has none. `identities` is `known` itself if nothing changed. */
export function identify(
  { documents, known, isComplete, now }: IdentifyInput,
  ids: Ids,
): { readonly resources: readonly Resource[]; readonly identities: Identities } {
  const identities = new Map<string, Identity>()
  const resources: Resource[] = []
  for (const { place, written } of documents) {
    if (written.kind === 'ConfigMap' || written.kind === 'Secret') continue
    const spec = sha256(canonicalJson(written.spec))
    const before = Object.hasOwn(known, place) ? known[place] : undefined
    const identity = before?.spec === spec ? before : nextIdentity(before, { written, spec, now, ids })
    identities.set(place, identity)
    resources.push(resourceOf(written, identity))
  }
  const kept = isComplete ? identities : new Map([...Object.entries(known), ...identities])
  const next = Object.fromEntries(kept)
  return { resources, identities: canonicalJson(next) === canonicalJson(known) ? known : next }
}

interface IdentityInput {
  readonly written: WrittenResource
  readonly spec: string
  readonly now: Instant
  readonly ids: Ids
}

function nextIdentity(before: Identity | undefined, { written, spec, now, ids }: IdentityInput): Identity {
  if (before !== undefined) return { ...before, spec, generation: before.generation + 1 }
  const asked = rotationOf(written)
  return {
    uid: Buffer.from(ids.random(16)).toString('hex') as Uid,
    createdAt: now,
    generation: 1,
    spec,
    ...(written.kind === 'Tenant' && written.spec.accountId !== undefined && { accountId: written.spec.accountId }),
    // The first secret of a tenant is new anyway.
    ...(asked !== undefined && { rotations: [asked] }),
  }
}

/** The time in the annotation that requests a new webhook secret. */
function rotationOf({ kind, metadata }: WrittenResource): Instant | undefined {
  const text = kind === 'Tenant' ? metadata.annotations?.[ROTATE_ANNOTATION] : undefined
  return text === undefined ? undefined : Date.parse(text)
}

type WrittenResource = Exclude<ManifestDocument['written'], { kind: 'ConfigMap' | 'Secret' }>

function resourceOf(written: WrittenResource, identity: Identity): Resource {
  const { uid, createdAt, generation } = identity
  const metadata: Metadata = { name: written.metadata.name, uid, createdAt, generation }
  const namespace = written.metadata.namespace ?? NAMESPACE_DEFAULT
  const asked = rotationOf(written)
  switch (written.kind) {
    case 'Plan':
      return { kind: 'Plan', metadata, spec: written.spec }
    case 'Tenant':
      return {
        kind: 'Tenant',
        metadata: {
          ...metadata,
          account: accountOf(identity),
          ...(asked !== undefined && { rotateWebhookSecretAt: asked }),
        },
        spec: written.spec,
      }
    case 'Template':
      return { kind: 'Template', metadata: { ...metadata, namespace }, spec: written.spec }
    case 'ApiKey':
      return { kind: 'ApiKey', metadata: { ...metadata, namespace }, spec: written.spec }
  }
}
