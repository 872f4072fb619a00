/**
 * The part of a folder's state that survives the process: the last documents and settings in force, and the templates that were found
 * sound. After a restart, a refused resource keeps its last good state, a change is compared with the previous state, and nobody waits for
 * finished checks. It is a cache; the folder is the truth. A damaged file or one of another form is ignored, and the overlaps of webhook
 * secrets end with it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Uid } from '@platen/contract/domain/resource.ts'
import { type ApiKey, DEFAULT_LIMITS, type Limits, type Template, type Tenant } from '@platen/contract/domain/tenant.ts'
import { type ReadResource, resourceSchemasDigest } from '@platen/contract/schema/resource/reader.ts'
import { brokenRules } from '@platen/contract/schema/resource/rule.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { type SealKeys, seal, unseal } from '@platen/lib/seal.ts'
import { NO_PREVIOUS } from '../compilation/compile.ts'
import type { InForceBefore } from '../compilation/state.ts'
import type { CheckFaults } from '../compile/template.ts'
import { readText, writePrivateFile } from '../secrets.ts'
import { type FolderState, folderFromDocuments } from './folder.ts'
import type { ManifestDocument } from './text/parse.ts'

/** Increases with the stored form, which includes settings but not their limits, and when a publish check covers more. */
const VERSION = 1

/** Increases when the same text is parsed to other documents. */
const PARSER_VERSION = 1

interface Kept {
  /** Without Secrets. */
  readonly documents: readonly ManifestDocument[]
  /** Files that have only these documents, with the SHA-256 of their bytes. */
  readonly files: readonly FileDigest[]
  /** `KeptSecrets`, sealed. */
  readonly secrets: string
  /** Digest of the reader of the documents. */
  readonly reader: string
  readonly plans: readonly (readonly [Uid, Limits])[]
  readonly tenants: readonly (readonly [Uid, Tenant])[]
  readonly templates: readonly (readonly [Uid, Template])[]
  readonly apiKeys: readonly (readonly [Uid, readonly ApiKey[]])[]
  /** Keys of checks without faults. The others are repeated: a newer service may find a template sound. */
  readonly sound: readonly string[]
}

type FileDigest = readonly [name: string, digest: string]

/** The Secrets, and the files that have one. */
interface KeptSecrets {
  readonly documents: readonly ManifestDocument[]
  readonly files: readonly FileDigest[]
}

interface LastGood {
  readonly folder: FolderState
  readonly previous: InForceBefore
  readonly checks: CheckFaults
}

interface LastGoodOptions {
  readonly dataDir: string
  /** The first seals Secrets. */
  readonly sealKeys: SealKeys
}

/** If nothing was in force in this folder, all templates must be checked. */
export function hasLastGood(dataDir: string): boolean {
  return existsSync(pathIn(dataDir))
}

/** From the last run of the service. `undefined` if nothing is stored, `'damaged'` if it cannot be used. */
export async function loadLastGood(
  { dataDir, sealKeys }: LastGoodOptions,
  read: ReadResource,
): Promise<LastGood | 'damaged' | undefined> {
  const text = await readText(pathIn(dataDir))
  if (text === undefined) return undefined
  const [digest, json = ''] = text.split('\n', 2)
  if (digest !== digestOf(json)) return 'damaged'
  // The digest shows that a version with this form wrote it.
  const { secrets, files, reader, plans, tenants, templates, apiKeys, sound, ...kept } = JSON.parse(json) as Kept
  const sealed = unsealed(secrets, sealKeys)
  const documents = [...kept.documents, ...sealed.documents]
  const isSameReader = reader === readerDigest()
  const isStillGood = ({ written }: ManifestDocument) =>
    isSameReader ? brokenRules(written).length === 0 : 'written' in read(written as unknown as JsonObject)
  const good = documents.filter(isStillGood)
  const isKnown = isSameReader && good.length === documents.length
  return {
    folder: folderFromDocuments(good, new Map(isKnown ? [...files, ...sealed.files] : [])),
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

/** Adds limits that did not exist when these were stored. */
function complete(limits: Limits): Limits {
  return { ...DEFAULT_LIMITS, ...limits }
}

/** On disk when it resolves. */
export async function storeLastGood(
  { dataDir, sealKeys }: LastGoodOptions,
  { folder, previous, checks }: LastGood,
): Promise<void> {
  const [secrets, documents] = partition(folder.documents, isSecret)
  const [secretFiles, files] = partition(parsedFiles(folder), ([name]) => secrets.some(({ file }) => file === name))
  const keptSecrets: KeptSecrets = { documents: secrets, files: secretFiles }
  const kept: Kept = {
    documents,
    files,
    secrets: seal(JSON.stringify(keptSecrets), { name: SEAL_NAME, keys: sealKeys }),
    reader: readerDigest(),
    plans: settingsOf(previous.plans),
    tenants: settingsOf(previous.tenants),
    templates: settingsOf(previous.templates),
    apiKeys: settingsOf(previous.apiKeys),
    sound: [...checks].flatMap(([key, faults]) => (faults.length === 0 ? [key] : [])),
  }
  const json = JSON.stringify(kept)
  const text = `${digestOf(json)}\n${json}\n`
  // A start without changes gives the same text, and a flush to disk would delay the first request.
  if ((await readText(pathIn(dataDir))) !== text) await writePrivateFile(pathIn(dataDir), text, { isReplacing: true })
}

/** None if anything is refused: then a start parses all files again, to say so. */
function parsedFiles({ files, faults }: FolderState): readonly FileDigest[] {
  if (faults.length > 0) return []
  return [...files].flatMap(([name, { digest }]) => (digest === undefined ? [] : [[name, digest] as const]))
}

const SEAL_NAME = 'last-good secrets'

/** None if no key opens them: then their files are parsed again. */
function unsealed(sealed: string, keys: SealKeys): KeptSecrets {
  const json = unseal(sealed, { name: SEAL_NAME, keys })
  // Only this module seals with this name.
  return json === undefined ? { documents: [], files: [] } : (JSON.parse(json) as KeptSecrets)
}

function partition<Item>(items: readonly Item[], isFirst: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))]
}

function isSecret({ written }: ManifestDocument): boolean {
  return written.kind === 'Secret'
}

/** Leaves out the rules between fields, which are quick to check again. */
function readerDigest(): string {
  return sha256(`${PARSER_VERSION} ${resourceSchemasDigest()}`)
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
