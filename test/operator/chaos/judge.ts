/**
 * Whether all that is declared has come to what it has to: what processes enforce is what `compile` makes of what etcd holds, every source
 * stands in the artifact store, every generation is reported, and nothing waits to be removed.
 *
 * Of a resource that is wrong the last good settings stay in force, and which those are is history. Etcd holds it of a tenant's limits,
 * which its status tells, of a key by the hash in its status, and of a template by the digest in its status; of a tenant's storage and
 * replaced webhook secrets Redis alone. Those are given to `compile` as they were found. What must never have been good shows by its marks.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { templateKey } from '@platen/contract/domain/render.ts'
import type { Uid } from '@platen/contract/domain/resource.ts'
import type { CheckFault, CheckRequest } from '@platen/contract/domain/template-check.ts'
import {
  DEFAULT_LIMITS,
  type KeyHash,
  type Template,
  type Tenant,
  type TenantId,
} from '@platen/contract/domain/tenant.ts'
import { isWebhookSecret, sealWebhookSecret } from '@platen/contract/domain/webhook-secret.ts'
import type { DirectorySettings, DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { canonicalJson } from '@platen/lib/canonical-json.ts'
import { parseInstant } from '@platen/lib/instant.ts'
import type { SealKey } from '@platen/lib/seal.ts'
import type { KubeObject } from '@platen/operator/cluster/object.ts'
import { pathOf } from '@platen/operator/cluster/path.ts'
import { unpackStatus } from '@platen/operator/reconcile/packed-status.ts'
import { collectionOf, KINDS, type ResourceView, readResourceView } from '@platen/operator/reconcile/resource-view.ts'
import { compile, NO_PREVIOUS } from '@platen/settings/compilation/compile.ts'
import type { FoundKey, FoundKeys } from '@platen/settings/compile/api-key.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import type { ConfigMapContent } from '@platen/settings/compile/source.ts'
import { checkRequestsOf } from '@platen/settings/compile/template.ts'
import { type FoundSecret, type FoundSecrets, storageOf } from '@platen/settings/compile/tenant.ts'
import { SERVICE_BUCKET } from '../../topology/cluster/cluster.ts'
import { BAD_RATE, BROKEN } from './declaration.ts'
import type { ChaosRig } from './rig.ts'
import { readSecrets, type Secrets, secretFaults, secretOf } from './secret.ts'

/** What was done that etcd does not tell of, or not at once. */
export interface Deeds {
  /** Whose Secrets somebody has edited, by the names that `labelOf` gives: that is found out in time, but not at once. */
  readonly edited: ReadonlySet<string>
  /** The keys that were to end at once when another took their place, by the name of their resource. */
  readonly ended: ReadonlyMap<string, readonly KeyHash[]>
}

const NOTHING_DONE: Deeds = { edited: new Set(), ended: new Map() }

/** Resolves when all is as it has to be, except for edited Secrets; throws with the differences when that never happens. */
export async function untilSettled(rig: ChaosRig, deeds: Deeds): Promise<void> {
  for (let looks = 1; ; looks++) {
    const faults = await faultsIn(rig, deeds)
    if (faults.length === 0) return
    if (looks === LOOKS_MAX) throw new Error(`it never came about; at last: ${JSON.stringify(faults)}`)
    await sleep(LOOK_EVERY_MS)
  }
}

/** To look takes the API server and this process as long as many changes do. */
const LOOK_EVERY_MS = 500
const LOOKS_MAX = 600

export async function faultsIn({ rig, sealKey }: ChaosRig, deeds = NOTHING_DONE): Promise<readonly string[]> {
  const objectsOf = async (path: string) => {
    const { body } = await rig.kube.request({ path })
    // A list has them.
    return (body['items'] ?? []) as readonly KubeObject[]
  }
  const lists = await Promise.all(
    KINDS.map(async (kind) =>
      (await objectsOf(pathOf(collectionOf(kind)))).map((object) => readResourceView(kind, object)),
    ),
  )
  const declared = lists.flat()
  const configMaps = new Map(
    (await objectsOf('/api/v1/configmaps')).map(({ metadata, data = {} }) => [
      `${metadata.namespace}/${metadata.name}`,
      // The API server lets nothing but texts into it.
      { data: data as Readonly<Record<string, string>> },
    ]),
  )
  const secrets = await readSecrets(rig.kube)
  const settings = rig.directory()
  const left = declared.filter(({ resource }) => !deeds.edited.has(labelOf(resource)))
  const webhookSecrets = webhookSecretsIn(left, secrets, sealKey)
  const store = join(rig.cluster.s3.folder, 'store', SERVICE_BUCKET)
  return [
    ...declared.flatMap(unreported),
    ...left.flatMap((each) => secretFaults(each, secrets)),
    ...differences(wantedOf({ declared, configMaps, webhookSecrets, settings }), settings),
    ...overlaps(settings),
    ...[...deeds.ended].flatMap(([name, hashes]) =>
      hashes.some((hash) => settings.keys.has(hash)) ? [`the key of ${name} before the last lives on`] : [],
    ),
    ...digestsIn(settings).flatMap((digest) =>
      existsSync(join(store, templateKey(digest))) ? [] : [`the source ${digest} is not stored`],
    ),
  ]
}

/** What a status does not tell yet, and what waits to go. */
function unreported({ resource, status, isDeleting }: ResourceView): readonly string[] {
  const { generation } = resource.metadata
  const { observedGeneration, conditions = [] } = unpackStatus(status)
  const waiting = conditions.filter(({ reason }) =>
    ['Waiting', 'RedisUnavailable', 'StoreUnavailable'].includes(reason),
  )
  const old = conditions.filter((condition) => condition.observedGeneration !== generation)
  const isCurrent = observedGeneration === generation && conditions.some(({ type }) => type === 'Propagated')
  const label = labelOf(resource)
  return [
    ...(isDeleting ? [`${label} waits to go`] : []),
    ...(isCurrent ? [] : [`${label} of generation ${generation} says ${observedGeneration}`]),
    ...[...waiting, ...old].map(({ type, reason }) => `${label} has ${type} ${reason}`),
  ]
}

interface Held {
  readonly declared: readonly ResourceView[]
  readonly configMaps: ReadonlyMap<string, ConfigMapContent>
  readonly webhookSecrets: FoundSecrets
  /** What is in force. */
  readonly settings: DirectorySnapshot
}

function wantedOf({ declared, configMaps, webhookSecrets, settings }: Held): DirectorySettings {
  const resources = declared.map(({ resource }) => resource)
  const templates = resources.filter((resource) => resource.kind === 'Template')
  const faultsOf = ({ source, variablesSchema }: CheckRequest): readonly CheckFault[] => {
    if (JSON.parse(variablesSchema).type !== 'object') return [{ message: 'is no schema' }]
    const isBroken = source.reactPdf?.includes(BROKEN) === true
    return isBroken ? [{ engine: 'react_pdf', message: 'does not compile' }] : []
  }
  const checks = new Map([...checkRequestsOf(templates, configMaps)].map(([key, request]) => [key, faultsOf(request)]))
  const { snapshot } = compile({
    resources,
    configMaps,
    foundKeys: keysIn(declared),
    webhookSecrets,
    now: Date.now(),
    checks,
    defaults: DEFAULT_LIMITS,
    serviceBucket: SERVICE_BUCKET,
    previous: { ...NO_PREVIOUS, ...lastGood(declared, settings) },
  })
  return snapshot
}

/** The keys that the operator has made, or read in their Secrets. */
function keysIn(declared: readonly ResourceView[]): FoundKeys {
  const found = new Map<Uid, FoundKey>()
  for (const { resource, status } of declared) {
    const { sha256, previous } = unpackStatus(status)
    if (resource.kind !== 'ApiKey' || sha256 === undefined) continue
    const until = parseInstant(previous?.until ?? '')
    const replaced = previous && until !== undefined ? { hash: previous.sha256 as KeyHash, until } : undefined
    found.set(resource.metadata.uid, { hash: sha256 as KeyHash, ...(replaced && { replaced }) })
  }
  return found
}

/** Those that their Secrets hold, as they are published. */
function webhookSecretsIn(declared: readonly ResourceView[], secrets: Secrets, key: SealKey): FoundSecrets {
  const found = new Map<Uid, FoundSecret>()
  for (const { resource } of declared) {
    const place = resource.kind === 'Tenant' ? secretOf(resource) : undefined
    const secret = place && secrets.get(`${place.namespace}/${place.name}`)?.[place.part]
    const { uid } = resource.metadata
    if (secret !== undefined && isWebhookSecret(secret))
      found.set(uid, { current: sealWebhookSecret(secret, { account: uid, keys: [key] }) })
  }
  return found
}

function lastGood(declared: readonly ResourceView[], settings: DirectorySnapshot) {
  const tenants = new Map<Uid, { readonly settings: Tenant }>()
  const templates = new Map<Uid, { readonly settings: Template }>()
  for (const { resource, status } of declared) {
    const { uid, name } = resource.metadata
    const { effective, digest } = unpackStatus(status)
    if (resource.kind === 'Tenant' && effective !== undefined) {
      // A tenant's id is its resource's name.
      const found = settings.tenants.get(name as TenantId)
      const limits = { ...DEFAULT_LIMITS, ...effective }
      const none = { id: name as TenantId, suspended: false, storage: storageOf(resource, SERVICE_BUCKET) }
      tenants.set(uid, { settings: { ...none, ...found, account: uid, limits } })
    }
    if (resource.kind !== 'Template') continue
    const own = [...(settings.templates.get(resource.spec.tenantRef.name as TenantId)?.values() ?? [])]
    const found = own.find((template) => template.digest === digest)
    if (found !== undefined) templates.set(uid, { settings: found })
  }
  return { tenants, templates }
}

function differences(wanted: DirectorySettings, settings: DirectorySnapshot): readonly string[] {
  const [before, after] = [entriesOf(settings), entriesOf(wanted)]
  const names = [...new Set([...before.keys(), ...after.keys()])]
  const unlike = names.filter((name) => before.get(name) !== after.get(name))
  return [
    ...unlike.map((name) => `${name} is ${before.get(name)} instead of ${after.get(name)}`),
    ...[...before].filter(([, text]) => text.includes(`:${BAD_RATE}`)).map(([name]) => `${name} never was good`),
  ]
}

/** Tenants whose PDFs would lie among those of others. */
function overlaps({ tenants }: DirectorySnapshot): readonly string[] {
  const places = Array.from(tenants.values(), ({ id, storage }) => ({
    id,
    place: `${storage.bucket} ${storage.prefix}`,
  }))
  const sorted = places.sort((one, other) => (one.place < other.place ? -1 : 1))
  // Whatever lies in a folder follows on it.
  return sorted.flatMap(({ id, place }, at) => {
    const next = sorted[at + 1]
    return next?.place.startsWith(place) === true ? [`tenants ${id} and ${next.id} have ${place}`] : []
  })
}

function entriesOf({ tenants, keys, templates }: DirectorySettings): ReadonlyMap<string, string> {
  const listed = [...templates.values()].flatMap((codes) => [...codes.values()])
  return new Map([
    ...Array.from(tenants, ([id, tenant]) => [`tenant ${id}`, canonicalJson(tenant)] as const),
    ...Array.from(keys, ([hash, key]) => [`key ${hash}`, canonicalJson(key)] as const),
    ...listed.map((template) => [`template ${template.tenant}/${template.code}`, canonicalJson(template)] as const),
  ])
}

function digestsIn({ templates }: DirectorySnapshot) {
  return [...templates.values()].flatMap((codes) => Array.from(codes.values(), ({ digest }) => digest))
}
