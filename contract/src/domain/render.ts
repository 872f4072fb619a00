/**
 * A render and its states: `queued → running → succeeded | failed`, never back. Another renderer may take over a `running` one with a
 * higher attempt; a terminal state never changes. The queue record means accepted; the manifest is the outcome.
 */
import type { Instant, JsonObject } from '@platen/lib/brand.ts'
import type { TraceContext } from '@platen/lib/trace.ts'
import type { FailureCode } from './error.ts'
import { decodeStored, encodeStored, NewerFormat } from './format.ts'
import { ERASED_KEPT_DAYS } from './limit.ts'
import { type BatchId, issuedAt, type RenderId } from './render-id.ts'
import type { Engine, RenderOptions } from './render-options.ts'
import type { AssetDigest, Environment, TemplateCode, TemplateDigest, TenantId } from './tenant.ts'
import type { Warned } from './warning.ts'

/** What file systems allow between two slashes. */
const ARTIFACT_NAME_CHARS_MAX = 255

/** The limit of S3. */
const ARTIFACT_KEY_CHARS_MAX = 1024

const DAY_MS = 24 * 60 * 60 * 1000

export const MODES = ['sync', 'async'] as const
export type Mode = (typeof MODES)[number]

/** `sync` is served first, then `async` and `bulk` 4:1. */
export const LANES = ['sync', 'async', 'bulk'] as const
export type Lane = (typeof LANES)[number]

/** `key` has no leading slash. */
export interface ArtifactAddress {
  readonly bucket: string
  readonly key: string
}

/** The queue record of one accepted render. Self-contained: it can be rendered if nothing else survives. */
export interface RenderRecord {
  readonly id: RenderId
  readonly tenant: TenantId
  /** The render counts in this account's quota. */
  readonly account: string
  readonly environment: Environment
  readonly mode: Mode
  readonly lane: Lane
  readonly engine: Engine
  readonly template: { readonly code: TemplateCode; readonly version: number; readonly digest: TemplateDigest }
  /** `text` is JSON, and the same as `inline` in the queue: no process parses it on the thread that serves others. */
  readonly data: { readonly inline: JsonObject } | { readonly text: string } | { readonly stored: ArtifactAddress }
  /**
   * `Stored` = the tenant wants nothing of the request where it cannot be erased. `stored-request.ts` says what is then at `data.stored`;
   * the queued record has neither file name nor webhook URL.
   */
  readonly requestData?: 'Stored'
  readonly options: RenderOptions
  /** For template, layout and print, from the claim on. */
  readonly deadlineMs: number
  /** Allows page JavaScript if the template asks for it. From the plan at acceptance. */
  readonly javascriptEnabled: boolean
  /** The plan or the template allows no warning; `options.strict` may forbid them, too. From the settings at acceptance. */
  readonly strict?: true
  /** Where the PDF goes; `prefix` ends in `/`. */
  readonly storage: { readonly bucket: string; readonly prefix: string }
  readonly webhookUrl?: string
  /** The caller's own name for the render, to find it by. Need not be unique. */
  readonly reference?: string
  readonly metadata?: Metadata
  /** The batch of this render. A batch may have a webhook; its renders have none. */
  readonly batch?: BatchId
  readonly requestId: string
  /** Parent of the next span about the render. Absent = its request belongs to no trace. */
  readonly trace?: TraceContext
  readonly acceptedAt: Instant
  /** Quota units of a success, and the UTC month (`2026-11`) they count in. */
  readonly units: number
  readonly period: string
  /** For PDF and manifest. From the plan at acceptance: a later change does not break ids that were issued. */
  readonly retentionDays: number
}

export type Metadata = Readonly<Record<string, string>>

/** What a caller attaches to a render, and gets back in status, lists and webhooks. */
export type Labels = Pick<RenderRecord, 'reference' | 'metadata'>

/** Leaves out absent labels. */
export function labelsOf({ reference, metadata }: Labels): Labels {
  return { ...(reference !== undefined && { reference }), ...(metadata !== undefined && { metadata }) }
}

/** What views show of a render beside its state. */
export type Shown = Pick<RenderRecord, keyof Labels | 'batch'>
export function shownOf({ batch, ...render }: Shown): Shown {
  return { ...labelsOf(render), ...(batch !== undefined && { batch }) }
}

export interface Pdf {
  readonly address: ArtifactAddress
  readonly bytes: number
  /** Lower-case hex; `artifact_id` of the interface. */
  readonly sha256: string
}

export interface Failure {
  readonly code: FailureCode
  /** For people; at most `FAILURE_MESSAGE_CHARS_MAX` characters. */
  readonly message: string
}

/** `durationMs` is rendering time without queueing; 0 if nothing was rendered. */
export type Outcome =
  | (Timed & {
      readonly status: 'succeeded'
      readonly pdf: Pdf
      readonly pages: number
    })
  | FailedOutcome

export interface FailedOutcome extends Timed {
  readonly status: 'failed'
  readonly error: Failure
}

/** A failed render has warnings only if it was strict and failed because of them. */
interface Timed extends Warned {
  readonly finishedAt: Instant
  readonly durationMs: number
}

export type EndedRender = Omit<RenderRecord, 'data' | 'lane' | 'deadlineMs' | 'javascriptEnabled'>

/** The render ended in its renderer. Its event, webhook and charge follow. */
export interface Ended {
  readonly kind: 'ended'
  readonly render: EndedRender
  /** 1 for the first start. */
  readonly attempt: number
  readonly outcome: Outcome
}

/** Has the id of the event: another process may emit the event again, and during a rotation it may have another key. */
export interface EndedManifest extends Ended {
  readonly eventId: string
}

/** The caller removed the ended render. PDF and input are deleted; webhook and charge stay due. */
export interface RemovedManifest extends Omit<EndedManifest, 'kind'> {
  readonly kind: 'removed'
}

/** The API refused the render after all, with 503. No event, webhook or charge follows. */
export interface AbandonedManifest {
  readonly kind: 'abandoned'
  readonly render: EndedRender
  readonly outcome: FailedOutcome
}

type CanceledRender = Pick<
  RenderRecord,
  'id' | 'tenant' | 'account' | 'environment' | 'storage' | 'acceptedAt' | 'period' | 'retentionDays'
> & { readonly template?: { readonly code: TemplateCode } }

/**
 * The cancellation of a render that no renderer has begun. It stands in place of the manifest, so that nobody can write another outcome.
 * The renderer that gets the record replaces it by the whole manifest and publishes that.
 */
export interface Cancellation {
  readonly kind: 'canceled'
  readonly render: CanceledRender
  readonly outcome: FailedOutcome
}

/**
 * An erased render. The tombstone stands in place of the manifest, so that a renderer still at work cannot write one. No event, webhook or
 * charge follows.
 */
export interface Tombstone {
  readonly kind: 'erased'
  readonly render: ErasedRender
  readonly outcome: FailedOutcome
  /** False from the beginning of an erasure until nothing else of the render is stored. */
  readonly isComplete: boolean
}

/** Has nothing of the request. The owner is unknown if there was no manifest. */
type ErasedRender = UnknownRender | (UnknownRender & Owner)

type Owner = Pick<RenderRecord, 'tenant' | 'account' | 'environment'>
type UnknownRender = Pick<RenderRecord, 'id' | 'storage' | 'acceptedAt' | 'retentionDays'>

/**
 * The truth about a finished render: one object in the artifact store. It is created only if absent, and its outcome never changes. An
 * erasure replaces it by a tombstone, and a removal by its caller by a `removed` copy. A cancellation is replaced by the whole manifest.
 */
export type Manifest = EndedManifest | RemovedManifest | AbandonedManifest | Cancellation | Tombstone

/** What views are told: a manifest, or the part of it in an event. */
export type RenderEnd = Ended | Exclude<Manifest, EndedManifest>

/** What a GET can report of a render without the artifact store. */
export interface RenderView extends Shown {
  readonly id: RenderId
  /** Absent = unknown, because the render was canceled or erased. */
  readonly template?: TemplateCode
  readonly acceptedAt: Instant
  readonly state: { readonly status: 'queued' } | { readonly status: 'running'; readonly attempt: number } | Outcome
  /**
   * The source knows the render only by a claim, for example after losing its data, or the render was canceled. Only the manifest says
   * whether it has ended.
   */
  readonly mayHaveEnded?: true
  /** Set on an open render whose caller waits for the PDF, or has it already: the outcome is recorded after the answer. */
  readonly isSync?: true
}

export const STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const
export type Status = (typeof STATUSES)[number]

const RANK = { queued: 0, running: 1, succeeded: 2, failed: 2 } as const satisfies Record<Status, number>

/** A running render may be taken over; a terminal state is final. */
export function canTransition(from: Status, to: Status): boolean {
  return from === 'running' && to === 'running' ? true : RANK[to] > RANK[from]
}

export function isTerminal(status: Status): status is Outcome['status'] {
  return RANK[status] === 2
}

/** The same record, with another parent for its next span. */
export function withTrace(record: RenderRecord, trace: TraceContext | undefined): RenderRecord {
  return trace === undefined || trace === record.trace ? record : { ...record, trace }
}

/** The same for every writer, so that a repeated write changes only the time and the span in its trace. */
export function endOf(record: RenderRecord, attempt: number, outcome: Outcome): Ended {
  return { kind: 'ended', render: endedRenderOf(record), attempt, outcome }
}

export function abandonedManifestOf(record: RenderRecord, outcome: FailedOutcome): AbandonedManifest {
  return { kind: 'abandoned', render: endedRenderOf(record), outcome }
}

function endedRenderOf(record: RenderRecord): EndedRender {
  const { data: _data, lane: _lane, deadlineMs: _deadlineMs, javascriptEnabled: _javascript, ...render } = record
  return render
}

/** Whether the render was given up before it ended. */
export function isCanceled(outcome: Outcome): boolean {
  return outcome.status === 'failed' && outcome.error.code === 'canceled'
}

/** `known` is from the manifest if there was one; else only the id and the storage are known. */
export function tombstoneOf(
  known: Pick<RenderRecord, 'id' | 'storage'> | (Pick<RenderRecord, 'id' | 'storage'> & Owner),
  erasedAt: Instant,
): Tombstone {
  const { id, storage } = known
  const render = { id, storage, acceptedAt: issuedAt(id), retentionDays: ERASED_KEPT_DAYS }
  const error = { code: 'canceled', message: 'the render was erased' } as const
  return {
    kind: 'erased',
    render: 'account' in known ? { ...render, ...ownerOf(known) } : render,
    outcome: { status: 'failed', finishedAt: erasedAt, durationMs: 0, error },
    isComplete: true,
  }
}

function ownerOf({ tenant, account, environment }: Owner): Owner {
  return { tenant, account, environment }
}

/** The end of an erased render, by its record: as if it had been abandoned. It has nothing of the request. */
export function erasedEndOf(record: RenderRecord, { render, outcome }: Tombstone): AbandonedManifest {
  const { webhookUrl: _webhookUrl, reference: _reference, metadata: _metadata, ...known } = record
  return abandonedManifestOf({ ...known, options: {}, retentionDays: render.retentionDays }, outcome)
}

/** As callers see it. */
export const CANCELED: Failure = { code: 'canceled', message: 'the render was canceled by its caller' }

/** `acceptedAt` is taken from the id. */
export function cancellationOf(
  known: Omit<CanceledRender, 'acceptedAt' | 'period'>,
  canceledAt: Instant,
): Cancellation {
  const acceptedAt = issuedAt(known.id)
  return {
    kind: 'canceled',
    render: { ...known, acceptedAt, period: monthOf(acceptedAt) },
    outcome: { status: 'failed', finishedAt: canceledAt, durationMs: 0, error: CANCELED },
  }
}

/** Keeps what webhook and charge may still need, and no file name. */
export function removedManifestOf(manifest: EndedManifest): RemovedManifest {
  return { ...manifest, kind: 'removed', render: { ...manifest.render, options: {} } }
}

export function encodeManifest(manifest: Manifest): Uint8Array {
  return encodeStored(manifest)
}

/** The manifest was damaged in the store: nobody knows how the render ended. */
export class UnreadableManifest extends Error {
  override readonly name = 'UnreadableManifest'
}

const KINDS: ReadonlySet<unknown> = new Set<Manifest['kind']>(['ended', 'removed', 'abandoned', 'canceled', 'erased'])

/** Throws `NewerFormat`, or `UnreadableManifest`, which quotes nothing of the manifest. */
export function decodeManifest(bytes: Uint8Array): Manifest {
  const manifest = decoded(bytes)
  const isOne =
    manifest !== undefined &&
    'kind' in manifest &&
    KINDS.has(manifest.kind) &&
    'render' in manifest &&
    'outcome' in manifest
  if (!isOne) {
    throw new UnreadableManifest(`the manifest cannot be read: its ${bytes.byteLength} bytes are not a manifest`)
  }
  // Written by `encodeManifest`. A stored shape only ever gains fields.
  return manifest as Manifest
}

function decoded(bytes: Uint8Array): object | undefined {
  try {
    return decodeStored(bytes)
  } catch (error) {
    if (error instanceof NewerFormat) throw error
    // The parser's message quotes the text, which may be a tenant's.
    return undefined
  }
}

/** For a render that the ledger has forgotten. */
export function viewOf({ kind, render, outcome: state }: RenderEnd): RenderView {
  const { id, acceptedAt } = render
  switch (kind) {
    case 'ended':
    case 'removed':
    case 'abandoned':
      return { id, template: render.template.code, acceptedAt, ...shownOf(render), state }
    case 'canceled':
      return { id, ...(render.template && { template: render.template.code }), acceptedAt, state }
    case 'erased':
      return { id, acceptedAt, state }
  }
}

/** For manifests only, in the service's own bucket, whatever storage the tenant has. */
export const MANIFEST_PREFIX = 'manifest/'

export function queuedViewOf(record: RenderRecord): Omit<RenderView, 'state'> {
  const { id, template, acceptedAt, mode } = record
  const isSync = mode === 'sync' ? ({ isSync: true } as const) : undefined
  return { id, template: template.code, acceptedAt, ...shownOf(record), ...isSync }
}

export function manifestKey(id: RenderId): string {
  return `${MANIFEST_PREFIX}${id}.json`
}

/** In `serviceBucket`, the service's own bucket. */
export function manifestAddress(id: RenderId, serviceBucket: string): ArtifactAddress {
  return { bucket: serviceBucket, key: manifestKey(id) }
}

/** In the tenant's storage, for everything of a render but its manifest: its input, and the PDFs of all attempts. */
export function renderPrefix(prefix: string, id: RenderId): string {
  return `${prefix}${id}/`
}

/** Content-addressed, so a late second attempt cannot overwrite anything. */
export function pdfKey(record: RenderRecord, sha256: string): string {
  return `${renderPrefix(record.storage.prefix, record.id)}${sha256}.pdf`
}

/** Undefined for any other key. */
export function pdfDigestIn(key: string): string | undefined {
  return PDF_NAME.exec(key)?.[1]
}

const PDF_NAME = /\/([0-9a-f]{64})\.pdf$/

/** For data too large for the queue record, or for the whole request if that is stored. */
export function inputKey(prefix: string, id: RenderId): string {
  return `${renderPrefix(prefix, id)}input`
}

/** The UTC month (`2026-11`) whose quota a request at `now` counts in. */
export function monthOf(now: Instant): string {
  return new Date(now).toISOString().slice(0, 'yyyy-mm'.length)
}

/** When PDF, manifest and ledger entry are removed of a render that ended at `endedAt` or before. */
export function expiryOf({ retentionDays }: Pick<RenderRecord, 'retentionDays'>, endedAt: Instant): Instant {
  return endedAt + retentionDays * DAY_MS
}

/** Of a template's sources, in the service's own bucket. */
export function templateKey(digest: TemplateDigest): string {
  return `template/${digest}.json`
}

/** In the service's own bucket, shared by all templates that use the asset. */
export function assetKey(digest: AssetDigest): string {
  return `asset/${digest}`
}

const ARTIFACT_NAME = /^[A-Za-z0-9._-]+$/

/**
 * Whether every store can hold this address and it cannot leave its place. The bucket is one name, the key is names joined by slashes. A
 * name has letters, digits, `.`, `_` and `-`, and does not begin with a dot: so `..` and hidden files cannot be spelled.
 */
export function isArtifactAddress({ bucket, key }: ArtifactAddress): boolean {
  return isArtifactName(bucket) && key.length <= ARTIFACT_KEY_CHARS_MAX && key.split('/').every(isArtifactName)
}

function isArtifactName(text: string): boolean {
  return text.length <= ARTIFACT_NAME_CHARS_MAX && !text.startsWith('.') && ARTIFACT_NAME.test(text)
}
