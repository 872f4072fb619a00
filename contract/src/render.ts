/**
 * A render and its life. `queued → running → succeeded | failed`, monotonic by rank; `running` may be taken over by another
 * renderer with a higher attempt, a terminal state never changes. Accepted = the queue record; outcome = the manifest.
 */
import type { Instant, JsonObject } from './brand.ts'
import type { FailureCode, WarningCode } from './error.ts'
import { ARTIFACT_KEY_CHARS_MAX, ARTIFACT_NAME_CHARS_MAX } from './limit.ts'
import type { RenderId } from './render-id.ts'
import type { Engine, RenderOptions } from './render-options.ts'
import type { AssetDigest, Environment, TemplateCode, TemplateDigest, TenantId } from './tenant.ts'

const DAY_MS = 24 * 60 * 60 * 1000

export const MODES = ['sync', 'async'] as const
export type Mode = (typeof MODES)[number]

/** `sync` is served first, then `async` and `bulk` 4:1. */
export const LANES = ['sync', 'async', 'bulk'] as const
export type Lane = (typeof LANES)[number]

/** A place in an artifact store. `key` has no leading slash. */
export interface ArtifactAddress {
  readonly bucket: string
  readonly key: string
}

/** The queue record of one accepted render: self-contained, so that nothing else must survive for it to be rendered. */
export interface RenderRecord {
  readonly id: RenderId
  readonly tenant: TenantId
  /** The tenant's incarnation: whose quota this counts in. */
  readonly account: string
  readonly environment: Environment
  readonly mode: Mode
  readonly lane: Lane
  readonly engine: Engine
  readonly template: { readonly code: TemplateCode; readonly version: number; readonly digest: TemplateDigest }
  readonly data: { readonly inline: JsonObject } | { readonly stored: ArtifactAddress }
  readonly options: RenderOptions
  /** Covers template, layout and print, from the claim on. */
  readonly deadlineMs: number
  /** May the template run page JavaScript, should it ask for it? By the plan at acceptance. */
  readonly javascriptEnabled: boolean
  /** Where its PDF goes; `prefix` ends in `/`. */
  readonly storage: { readonly bucket: string; readonly prefix: string }
  readonly webhookUrl?: string
  readonly requestId: string
  readonly acceptedAt: Instant
  /** Quota units this render costs if it succeeds, and the UTC month (`2026-11`) they count in. */
  readonly units: number
  readonly period: string
  /** How long PDF and manifest are kept, by the plan at acceptance: a later change breaks no id that was given out. */
  readonly retentionDays: number
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

/** What is wrong with a document that was made all the same. */
export interface Warning {
  readonly code: WarningCode
  /** For people; at most `FAILURE_MESSAGE_CHARS_MAX` characters. */
  readonly message: string
}

/** How a render ended. `durationMs` is rendering time, without queueing; 0 when nothing was rendered. */
export type Outcome =
  | {
      readonly status: 'succeeded'
      readonly finishedAt: Instant
      readonly durationMs: number
      readonly pdf: Pdf
      /** Each code at most once; absent = none. */
      readonly warnings?: readonly Warning[]
    }
  | { readonly status: 'failed'; readonly finishedAt: Instant; readonly durationMs: number; readonly error: Failure }

/** The truth about a finished render: one object in the artifact store, created if absent, never changed. */
export interface Manifest {
  readonly render: Omit<RenderRecord, 'data' | 'lane' | 'deadlineMs' | 'javascriptEnabled'>
  /** 1 for the first start; 0 when it never started. */
  readonly attempt: number
  readonly outcome: Outcome
}

/** The status view: what a GET can say of a render without the artifact store. */
export interface RenderView {
  readonly id: RenderId
  readonly template: TemplateCode
  readonly acceptedAt: Instant
  readonly state: { readonly status: 'queued' } | { readonly status: 'running'; readonly attempt: number } | Outcome
  /** What tells it heard of the render by a claim first, as after losing all it knew: whether it has ended only the manifest says. */
  readonly mayHaveEnded?: true
}

export type Status = RenderView['state']['status']

const RANK = { queued: 0, running: 1, succeeded: 2, failed: 2 } as const satisfies Record<Status, number>

/** May a render in state `from` go to state `to`? A running render may be taken over; a terminal state is final. */
export function canTransition(from: Status, to: Status): boolean {
  return from === 'running' && to === 'running' ? true : RANK[to] > RANK[from]
}

export function isTerminal(status: Status): status is Outcome['status'] {
  return RANK[status] === 2
}

/** The manifest of a render that ended; the same for every writer, so that a repeated write changes nothing but the time. */
export function manifestOf(record: RenderRecord, attempt: number, outcome: Outcome): Manifest {
  const { data: _data, lane: _lane, deadlineMs: _deadlineMs, javascriptEnabled: _javascript, ...render } = record
  return { render, attempt, outcome }
}

/**
 * Was this render abandoned by the API, which answered 503 for it? Nothing comes of such a manifest: no event, no webhook,
 * no charge, as the caller was told that nothing was accepted.
 */
export function isAbandoned({ attempt, outcome }: Manifest): boolean {
  return attempt === 0 && outcome.status === 'failed' && outcome.error.code === 'canceled'
}

/** A manifest as it is stored. */
export function encodeManifest(manifest: Manifest): Uint8Array {
  return Buffer.from(JSON.stringify(manifest))
}

/** What stands where a manifest is to stand is none: it was damaged in the store, and nobody knows how the render ended. */
export class UnreadableManifest extends Error {
  override readonly name = 'UnreadableManifest'
}

/** A manifest as it was stored. Throws `UnreadableManifest`, which quotes nothing of it. */
export function decodeManifest(bytes: Uint8Array): Manifest {
  const manifest = parsed(bytes)
  if (typeof manifest !== 'object' || manifest === null || !('render' in manifest && 'outcome' in manifest)) {
    throw new UnreadableManifest(`the manifest cannot be read: ${bytes.byteLength} bytes that are none`)
  }
  // Written by encodeManifest; a stored shape only ever gains fields.
  return manifest as Manifest
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    // The parser's message quotes the text, which may be a tenant's.
    return undefined
  }
}

/** The status view that a manifest gives when the ledger has forgotten the render. */
export function viewOf(manifest: Manifest): RenderView {
  const { id, template, acceptedAt } = manifest.render
  return { id, template: template.code, acceptedAt, state: manifest.outcome }
}

/** Where manifests stand, and nothing else: in the service's own bucket, whatever storage the tenant has. */
export const MANIFEST_PREFIX = 'manifest/'

/** The key of a render's manifest. */
export function manifestKey(id: RenderId): string {
  return `${MANIFEST_PREFIX}${id}.json`
}

/** Everything stored of a render but its manifest stands under this prefix of its tenant's storage: the PDFs of all attempts, and its input. */
export function renderPrefix(prefix: string, id: RenderId): string {
  return `${prefix}${id}/`
}

/** The key of a render's PDF: content-addressed, so a late second attempt can overwrite nothing. */
export function pdfKey(record: RenderRecord, sha256: string): string {
  return `${renderPrefix(record.storage.prefix, record.id)}${sha256}.pdf`
}

/** The digest that the key of a PDF names; undefined where it is not the key of one. */
export function pdfDigestIn(key: string): string | undefined {
  return PDF_NAME.exec(key)?.[1]
}

const PDF_NAME = /\/([0-9a-f]{64})\.pdf$/

/** The key of data too large for the queue record. */
export function inputKey(prefix: string, id: RenderId): string {
  return `${renderPrefix(prefix, id)}input`
}

/** The UTC month (`2026-11`) in which units count that are asked for then. */
export function monthOf(now: Instant): string {
  return new Date(now).toISOString().slice(0, 'yyyy-mm'.length)
}

/** When a render that ended then, or must have ended by then, is removed: its PDF, its manifest, and what the ledger knows of it. */
export function expiryOf({ retentionDays }: Pick<RenderRecord, 'retentionDays'>, endedAt: Instant): Instant {
  return endedAt + retentionDays * DAY_MS
}

/** Where a template's sources stand, in the service's own bucket. */
export function templateKey(digest: TemplateDigest): string {
  return `template/${digest}.json`
}

/** Where an asset stands, in the service's own bucket, whichever templates use it. */
export function assetKey(digest: AssetDigest): string {
  return `asset/${digest}`
}

const ARTIFACT_NAME = /^[A-Za-z0-9._-]+$/

/**
 * Is this an address every store can hold and none can be led astray by? The bucket is one name and the key is names joined by
 * slashes; a name has letters, digits, `.`, `_` and `-` and does not begin with a dot, so that `..` and hidden files cannot be spelled.
 */
export function isArtifactAddress({ bucket, key }: ArtifactAddress): boolean {
  return isArtifactName(bucket) && key.length <= ARTIFACT_KEY_CHARS_MAX && key.split('/').every(isArtifactName)
}

function isArtifactName(text: string): boolean {
  return text.length <= ARTIFACT_NAME_CHARS_MAX && !text.startsWith('.') && ARTIFACT_NAME.test(text)
}
