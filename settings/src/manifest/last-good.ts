/**
 * What outlives the process of a folder's state: the documents and the settings last in force, and the templates that were found
 * sound. After a restart a resource that is refused has its last good state all the same, a change is held against what was there
 * before, and nobody waits for checks that were made. It is a convenience, not the truth, which is the folder: damaged or of another
 * version, it is left aside, and the overlaps of webhook secrets end with it.
 */
import { join } from 'node:path'
import type { JsonObject } from '@platen/contract/brand.ts'
import { sha256 } from '@platen/contract/canonical-json.ts'
import type { Uid } from '@platen/contract/resource.ts'
import type { ReadResource } from '@platen/contract/schema/resource/reader.ts'
import { type ApiKey, DEFAULT_LIMITS, type Limits, type Template, type Tenant } from '@platen/contract/tenant.ts'
import { NO_PREVIOUS, type Previous } from '../compile/compile.ts'
import type { CheckFaults } from '../compile/template.ts'
import { readText, writePrivateFile } from '../secrets.ts'
import { type FolderState, folderFromDocuments } from './folder.ts'
import type { ManifestDocument } from './text/parse.ts'

/** Goes up with the shape of what is kept, settings but for their limits included, and when a publish check asks for more. */
const VERSION = 5

interface Kept {
  /** Without Secrets: what is secret is kept where it is declared and nowhere else. */
  readonly documents: readonly ManifestDocument[]
  readonly plans: readonly (readonly [Uid, Limits])[]
  readonly tenants: readonly (readonly [Uid, Tenant])[]
  readonly templates: readonly (readonly [Uid, Template])[]
  readonly apiKeys: readonly (readonly [Uid, readonly ApiKey[]])[]
  /** Keys of the checks that found nothing. Others are made anew: a newer service may find a template sound. */
  readonly sound: readonly string[]
}

export interface LastGood {
  readonly folder: FolderState
  readonly previous: Previous
  readonly checks: CheckFaults
}

/** What was in force when the service last ran; `undefined` where nothing is kept, and `'damaged'` where it cannot be used. */
export async function loadLastGood(dataDir: string, read: ReadResource): Promise<LastGood | 'damaged' | undefined> {
  const text = await readText(pathIn(dataDir))
  if (text === undefined) return undefined
  const [digest, json = ''] = text.split('\n', 2)
  if (digest !== digestOf(json)) return 'damaged'
  // The digest has just said that a version with this shape wrote it.
  const { documents, plans, tenants, templates, apiKeys, sound } = JSON.parse(json) as Kept
  const isStillGood = ({ written }: ManifestDocument) => 'written' in read(written as unknown as JsonObject)
  return {
    folder: folderFromDocuments(documents.filter(isStillGood)),
    previous: {
      ...NO_PREVIOUS,
      plans: inForce(plans.map(([uid, limits]) => [uid, complete(limits)])),
      tenants: inForce(tenants.map(([uid, tenant]) => [uid, { ...tenant, limits: complete(tenant.limits) }])),
      templates: inForce(templates),
      apiKeys: inForce(apiKeys),
    },
    checks: new Map(sound.map((key) => [key, []])),
  }
}

/** A version that had fewer limits may have kept these. */
function complete(limits: Limits): Limits {
  return { ...DEFAULT_LIMITS, ...limits }
}

/** Keeps what is in force now; it is on the disk when it resolves. */
export async function storeLastGood(dataDir: string, { folder, previous, checks }: LastGood): Promise<void> {
  const kept: Kept = {
    documents: folder.documents.filter(({ written }) => written.kind !== 'Secret'),
    plans: settingsOf(previous.plans),
    tenants: settingsOf(previous.tenants),
    templates: settingsOf(previous.templates),
    apiKeys: settingsOf(previous.apiKeys),
    sound: [...checks].flatMap(([key, faults]) => (faults.length === 0 ? [key] : [])),
  }
  const json = JSON.stringify(kept)
  await writePrivateFile(pathIn(dataDir), `${digestOf(json)}\n${json}\n`, { isReplacing: true })
}

function pathIn(dataDir: string): string {
  return join(dataDir, 'last-good')
}

function digestOf(json: string): string {
  return sha256(`${VERSION} ${json}`)
}

type Settings<Setting> = ReadonlyMap<Uid, { readonly settings?: Setting }>

function settingsOf<Setting>(outcomes: Settings<Setting>): readonly (readonly [Uid, Setting])[] {
  return [...outcomes].flatMap(([uid, { settings }]) => (settings === undefined ? [] : [[uid, settings] as const]))
}

function inForce<Setting>(kept: readonly (readonly [Uid, Setting])[]): Settings<Setting> {
  return new Map(kept.map(([uid, settings]) => [uid, { settings }]))
}
