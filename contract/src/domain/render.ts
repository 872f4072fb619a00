/**
 * A render and its states: `queued → running → succeeded | failed`, monotonic by rank. Another renderer may take over a `running` one with
 * a higher attempt; a terminal state never changes. The queue record means accepted; the manifest is the outcome.
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

/** Characters between two slashes of an artifact's key: what file systems allow in a name. */
const ARTIFACT_NAME_CHARS_MAX = 255

/** Characters of an artifact's key: the limit of S3. */
const ARTIFACT_KEY_CHARS_MAX = 1024

const DAY_MS = 24 * 60 * 60 * 1000

export const MODES = ['sync', 'async'] as const
export type Mode = (typeof MODES)[number]

/** `sync` is served first, then `async` and `bulk` 4:1. */
export const LANES = ['sync', 'async', 'bulk'] as const
export type Lane = (typeof LANES)[number]

/** An address in an artifact store. `key` has no leading slash. */
export interface ArtifactAddress {
  readonly bucket: string
  readonly key: string
}

/** The queue record of one accepted render. Self-contained: nothing else must survive for it to be rendered. */
export interface RenderRecord {
  readonly id: RenderId
  readonly tenant: TenantId
  /** Whose quota this render counts in. */
  readonly account: string
  readonly environment: Environment
  readonly mode: Mode
  readonly lane: Lane
  readonly engine: Engine
  readonly template: { readonly code: TemplateCode; readonly version: number; readonly digest: TemplateDigest }
  /** `text` is JSON, and in the queue the same as `inline`: no process parses it on the thread that serves others. */
  readonly data: { readonly inline: JsonObject } | { readonly text: string } | { readonly stored: ArtifactAddress }
  /**
   * `Stored` = the tenant asked that nothing of the request stays where it cannot be erased. Then `stored-request.ts` says what is at
   * `data.stored`, and the record has neither file name nor webhook URL when it is queued.
   */
  readonly requestData?: 'Stored'
  readonly options: RenderOptions
  /** From the claim on: template, layout and print. */
  readonly deadlineMs: number
  /** Whether the template may run page JavaScript if it asks for it. From the plan at acceptance. */
  readonly javascriptEnabled: boolean
  /** The plan or the template wants no document with a warning. `options.strict` may want the same. From the settings at acceptance. */
  readonly strict?: true
  /** Where its PDF goes; `prefix` ends in `/`. */
  readonly storage: { readonly bucket: string; readonly prefix: string }
  readonly webhookUrl?: string
  /** The caller's own name for what this render is of, by which it is found again. Need not be unique. */
  readonly reference?: string
  /** What else the caller wants back with the status. */
  readonly metadata?: Metadata
  /** The batch that this render belongs to. The batch may have a webhook; its renders have none. */
  readonly batch?: BatchId
  readonly requestId: string
  /** The span that caused what is done next with the render. Absent = its request belongs to no trace. */
  readonly trace?: TraceContext
  readonly acceptedAt: Instant
  /** Quota units this render costs if it succeeds, and the UTC month (`2026-11`) they count in. */
  readonly units: number
  readonly period: string
  /** How long PDF and manifest are kept, from the plan at acceptance: a later change does not break ids that were issued. */
  readonly retentionDays: number
}

export type Metadata = Readonly<Record<string, string>>

/** What a caller attaches to a render and gets back with its status, in lists and in webhooks. */
export type Labels = Pick<RenderRecord, 'reference' | 'metadata'>

/** The labels of a render, without absent ones. */
export function labelsOf({ reference, metadata }: Labels): Labels {
  return { ...(reference !== undefined && { reference }), ...(metadata !== undefined && { metadata }) }
}

/** What views show of a render beside its state: its labels and its batch, without what is absent. */
export type Shown = Pick<RenderRecord, keyof Labels | 'batch'>
export function shownOf({ batch, ...render }: Shown): Shown {
  return { ...labelsOf(render), ...(batch !== undefined && { batch }) }
}

export interface Pdf {
  readonly address: ArtifactAddress
  readonly bytes: number
  /** Lower-case hex; the interface's `artifact_id`. */
  readonly sha256: string
}

export interface Failure {
  readonly code: FailureCode
  /** For people; at most `FAILURE_MESSAGE_CHARS_MAX` characters. */
  readonly message: string
}

/** How a render ended. `durationMs` is rendering time without queueing; 0 if nothing was rendered. */
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

/** A render that failed has warnings only if it was strict, and failed because of them. */
interface Timed extends Warned {
  readonly finishedAt: Instant
  readonly durationMs: number
}

/** What is kept of the record of a render that has ended. */
export type EndedRender = Omit<RenderRecord, 'data' | 'lane' | 'deadlineMs' | 'javascriptEnabled'>

/** A render that ended with its renderer. The event of the render, its webhook and its charge follow. */
export interface Ended {
  readonly kind: 'ended'
  readonly render: EndedRender
  /** 1 for the first start. */
  readonly attempt: number
  readonly outcome: Outcome
}

/** It has the id of its event: another process may emit the event again, and during a rotation that process may have another key. */
export interface EndedManifest extends Ended {
  readonly eventId: string
}

/** The caller removed the ended render. Its PDF and its input are deleted; what follows from its outcome stays due. */
export interface RemovedManifest extends Omit<EndedManifest, 'kind'> {
  readonly kind: 'removed'
}

/** The API refused the render after all, and answered 503. No event, no webhook and no charge follow. */
export interface AbandonedManifest {
  readonly kind: 'abandoned'
  readonly render: EndedRender
  readonly outcome: FailedOutcome
}

/** What the API knows of a render that it cancels. */
type CanceledRender = Pick<
  RenderRecord,
  'id' | 'tenant' | 'account' | 'environment' | 'storage' | 'acceptedAt' | 'period' | 'retentionDays'
> & { readonly template?: { readonly code: TemplateCode } }

/**
 * The cancellation of a render that no renderer has begun: it stands in place of the manifest, so that nobody can write another outcome. The
 * renderer that gets the record replaces it by the whole manifest, and publishes that.
 */
export interface Cancellation {
  readonly kind: 'canceled'
  readonly render: CanceledRender
  readonly outcome: FailedOutcome
}

/**
 * The tombstone of an erased render: it stands in place of the manifest, so that a renderer that is still at work cannot write one. No event,
 * no webhook and no charge follow.
 */
export interface Tombstone {
  readonly kind: 'erased'
  readonly render: ErasedRender
  readonly outcome: FailedOutcome
  /** Whether nothing else of the render is stored. False from the beginning of an erasure to its end. */
  readonly isComplete: boolean
}

/** It has nothing of the request. Whose render it was is unknown if it had no manifest. */
type ErasedRender = UnknownRender | (UnknownRender & Owner)

type Owner = Pick<RenderRecord, 'tenant' | 'account' | 'environment'>
type UnknownRender = Pick<RenderRecord, 'id' | 'storage' | 'acceptedAt' | 'retentionDays'>

/**
 * The truth about a finished render: one object in the artifact store. It is created only if absent, and its outcome never changes. It is
 * replaced by a tombstone when the render is erased, by a copy that says so when its caller removes it, and a cancellation by the whole
 * manifest.
 */
export type Manifest = EndedManifest | RemovedManifest | AbandonedManifest | Cancellation | Tombstone

/** How a render ended, as the views are told: a manifest, or what an event has of one. */
export type RenderEnd = Ended | Exclude<Manifest, EndedManifest>

/** The status view: what a GET can report of a render without the artifact store. */
export interface RenderView extends Shown {
  readonly id: RenderId
  /** Absent = unknown: the render was canceled or erased. */
  readonly template?: TemplateCode
  readonly acceptedAt: Instant
  readonly state: { readonly status: 'queued' } | { readonly status: 'running'; readonly attempt: number } | Outcome
  /**
   * The source learnt of the render only by a claim, for example after it lost its data, or the render was canceled. Only the manifest says
   * whether the render has ended.
   */
  readonly mayHaveEnded?: true
  /** Of an open render: its caller waits for the PDF, or has it already, because the outcome is recorded after the answer. */
  readonly isSync?: true
}

export const STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const
export type Status = (typeof STATUSES)[number]

const RANK = { queued: 0, running: 1, succeeded: 2, failed: 2 } as const satisfies Record<Status, number>

/** Whether a render may go from state `from` to state `to`. A running render may be taken over; a terminal state is final. */
export function canTransition(from: Status, to: Status): boolean {
  return from === 'running' && to === 'running' ? true : RANK[to] > RANK[from]
}

export function isTerminal(status: Status): status is Outcome['status'] {
  return RANK[status] === 2
}

/** The record of the same render, whose next span has another parent. */
export function withTrace(record: RenderRecord, trace: TraceContext | undefined): RenderRecord {
  return trace === undefined || trace === record.trace ? record : { ...record, trace }
}

/**
 * How a render ended with its renderer. It is the same for every writer, so that a repeated write changes nothing but the time and the span
 * in its trace.
 */
export function endOf(record: RenderRecord, attempt: number, outcome: Outcome): Ended {
  return { kind: 'ended', render: endedRenderOf(record), attempt, outcome }
}

/** The manifest of a render that the API abandons. */
export function abandonedManifestOf(record: RenderRecord, outcome: FailedOutcome): AbandonedManifest {
  return { kind: 'abandoned', render: endedRenderOf(record), outcome }
}

function endedRenderOf(record: RenderRecord): EndedRender {
  const { data: _data, lane: _lane, deadlineMs: _deadlineMs, javascriptEnabled: _javascript, ...render } = record
  return render
}

/** Whether nobody wanted the render any more before it ended. */
export function isCanceled(outcome: Outcome): boolean {
  return outcome.status === 'failed' && outcome.error.code === 'canceled'
}

/** The tombstone of a render, of which somebody knows the manifest, or nothing but the id and perhaps where its data are. */
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

/** How an erased render ended, by its record: as if it had been abandoned. It has nothing of the request. */
export function erasedEndOf(record: RenderRecord, { render, outcome }: Tombstone): AbandonedManifest {
  const { webhookUrl: _webhookUrl, reference: _reference, metadata: _metadata, ...known } = record
  return abandonedManifestOf({ ...known, options: {}, retentionDays: render.retentionDays }, outcome)
}

/** What callers see of a render that was canceled. */
export const CANCELED: Failure = { code: 'canceled', message: 'the render was canceled by its caller' }

/** The cancellation of a render. Its id says when it was accepted. */
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

/** The manifest of a removed render. It keeps what webhook and charge may still need, and no file name. */
export function removedManifestOf(manifest: EndedManifest): RemovedManifest {
  return { ...manifest, kind: 'removed', render: { ...manifest.render, options: {} } }
}

/** Encodes a manifest for the store. */
export function encodeManifest(manifest: Manifest): Uint8Array {
  return encodeStored(manifest)
}

/** The stored manifest is not valid: it was damaged in the store, and nobody knows how the render ended. */
export class UnreadableManifest extends Error {
  override readonly name = 'UnreadableManifest'
}

const KINDS: ReadonlySet<unknown> = new Set<Manifest['kind']>(['ended', 'removed', 'abandoned', 'canceled', 'erased'])

/** Decodes a stored manifest. Throws `NewerFormat`, or `UnreadableManifest`, which quotes nothing of it. */
export function decodeManifest(bytes: Uint8Array): Manifest {
  const manifest = decoded(bytes)
  if (manifest === undefined || !('kind' in manifest && KINDS.has(manifest.kind) && 'outcome' in manifest)) {
    throw new UnreadableManifest(`the manifest cannot be read: its ${bytes.byteLength} bytes are not a manifest`)
  }
  // Written by encodeManifest. A stored shape only ever gains fields.
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

/** The status view of a render that has ended, for one that the ledger has forgotten. */
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

/** Prefix of manifests, and of nothing else, in the service's own bucket, whatever storage the tenant has. */
export const MANIFEST_PREFIX = 'manifest/'

/** The view of a render that waits. */
export function queuedViewOf(record: RenderRecord): Omit<RenderView, 'state'> {
  const { id, template, acceptedAt, mode } = record
  const isSync = mode === 'sync' ? ({ isSync: true } as const) : undefined
  return { id, template: template.code, acceptedAt, ...shownOf(record), ...isSync }
}

/** The key of a render's manifest. */
export function manifestKey(id: RenderId): string {
  return `${MANIFEST_PREFIX}${id}.json`
}

/** Where the manifest of a render is. `serviceBucket` is the service's own bucket. */
export function manifestAddress(id: RenderId, serviceBucket: string): ArtifactAddress {
  return { bucket: serviceBucket, key: manifestKey(id) }
}

/** Prefix in the tenant's storage for everything of a render but its manifest: its input, and the PDFs of all attempts. */
export function renderPrefix(prefix: string, id: RenderId): string {
  return `${prefix}${id}/`
}

/** The key of a render's PDF. It is content-addressed, so a late second attempt cannot overwrite anything. */
export function pdfKey(record: RenderRecord, sha256: string): string {
  return `${renderPrefix(record.storage.prefix, record.id)}${sha256}.pdf`
}

/** The digest in the key of a PDF; undefined for any other key. */
export function pdfDigestIn(key: string): string | undefined {
  return PDF_NAME.exec(key)?.[1]
}

const PDF_NAME = /\/([0-9a-f]{64})\.pdf$/

/** The key of data that is too large for the queue record, or of the whole request if that is stored. */
export function inputKey(prefix: string, id: RenderId): string {
  return `${renderPrefix(prefix, id)}input`
}

/** The UTC month (`2026-11`) in which units count that are requested at `now`. */
export function monthOf(now: Instant): string {
  return new Date(now).toISOString().slice(0, 'yyyy-mm'.length)
}

/** When a render that ended at `endedAt` (or before) is removed: its PDF, its manifest, and its ledger entry. */
export function expiryOf({ retentionDays }: Pick<RenderRecord, 'retentionDays'>, endedAt: Instant): Instant {
  return endedAt + retentionDays * DAY_MS
}

/** The key of a template's sources in the service's own bucket. */
export function templateKey(digest: TemplateDigest): string {
  return `template/${digest}.json`
}

/** The key of an asset in the service's own bucket, shared by all templates that use it. */
export function assetKey(digest: AssetDigest): string {
  return `asset/${digest}`
}

const ARTIFACT_NAME = /^[A-Za-z0-9._-]+$/

/**
 * Whether every store can hold this address and it cannot escape its place. The bucket is one name, and the key is names joined by slashes.
 * A name has letters, digits, `.`, `_` and `-` and does not begin with a dot, so `..` and hidden files cannot be spelled.
 */
export function isArtifactAddress({ bucket, key }: ArtifactAddress): boolean {
  return isArtifactName(bucket) && key.length <= ARTIFACT_KEY_CHARS_MAX && key.split('/').every(isArtifactName)
}

function isArtifactName(text: string): boolean {
  return text.length <= ARTIFACT_NAME_CHARS_MAX && !text.startsWith('.') && ARTIFACT_NAME.test(text)
}
