/**
 * Step 6 of admission: finds out whether this request was made before. A client that received no answer sends the request again with the
 * same `Idempotency-Key`, and gets the answer of the first request instead of a second render.
 *
 * The source of truth is a claim in the artifact store (`contract/idempotency.ts`). It ties the key to a render id before that render is
 * queued. The result of the render is read from its manifest and the ledger, as always. So no crash leaves anything to repair here.
 *
 * A render was given up if it was answered 503, or if its caller left or deleted it. Its manifest then says so, and the next request takes
 * over the key with a claim of the next number. Of any number of such requests, only one can create that claim. An async render that may or
 * may not have reached the queue is queued again under its own id. Everything behind the queue treats both as one render. A sync render
 * that nobody waits for any more is abandoned first, so that it costs nothing.
 *
 * The key is looked up before the limiter, and the claim is written after it. So a replay consumes nothing, and a request that the limiter
 * refuses writes nothing.
 */
import { ServiceError } from '@platen/contract/domain/error.ts'
import { IDEMPOTENCY_MS } from '@platen/contract/domain/limit.ts'
import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import { inputKey, isCanceled, labelsOf, type Manifest, type RenderRecord } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { withoutRequest } from '@platen/contract/domain/stored-request.ts'
import {
  decodeClaim,
  encodeClaim,
  type IdempotencyClaim,
  idempotencyFolder,
  isExpired,
} from '@platen/contract/stored/idempotency.ts'
import { PORT_CALL_MS_MAX } from '../limit.ts'
import type { ApiPorts } from '../ports.ts'
import { isUnavailable } from '../problem.ts'
import type { Admission } from './admit.ts'
import { type Caller, scopeOf } from './authenticate.ts'
import {
  IDEMPOTENCY_SETTLE_MS,
  IDEMPOTENCY_UNDER_WAY_MS,
  IDEMPOTENCY_YOUNG_MS,
  SYNC_REPLY_MARGIN_MS,
  SYNC_START_MS_MAX,
} from './limit.ts'
import { pollManifest, readManifest } from './manifest.ts'
import { abandon, releaseReservation } from './submit.ts'

/** `Retry-After` for a duplicate while the first request is in progress, in seconds. */
const IDEMPOTENCY_RETRY_AFTER_S = 1

interface KeyedRequest {
  readonly key: string
  readonly caller: Caller
  readonly admission: Admission
  readonly fingerprint: string
  /** Present if the request is for a batch. The record then has the id of the batch. */
  readonly batch?: KeyedBatch
}

export interface KeyedBatch {
  /** `refused`: the batch was given up. Undefined if nothing is known of it. */
  stateOf(id: RenderId): Promise<'accepted' | 'refused' | undefined>
  /** Releases the reservations. Never throws. */
  release(): Promise<void>
}

export type EarlierRequest =
  /** Answered 202. */
  | { readonly kind: 'accepted'; readonly record: Pick<RenderRecord, 'id' | 'template' | 'options'> }
  /** Sync, with this outcome. */
  | { readonly kind: 'ended'; readonly record: RenderRecord; readonly manifest: Manifest }
  /** Async. Its process died before the answer, so the render may or may not be in the queue. */
  | { readonly kind: 'interrupted'; readonly record: RenderRecord }

/** One request with a key. Until it is disposed, this process refuses other requests with the same key. */
export interface KeyedAttempt extends Disposable {
  /**
   * Returns the earlier request of the key, or undefined when the key is free. Throws `IDEMPOTENCY_MISMATCH` when that request had another
   * body, and `IDEMPOTENCY_IN_PROGRESS` when it has no answer yet.
   */
  find(): Promise<EarlierRequest | undefined>
  /**
   * Claims a key that `find` found free, for a render that the limiter has admitted. When another request was faster, releases the
   * reservation and throws `IDEMPOTENCY_IN_PROGRESS`.
   */
  claim(record: RenderRecord): Promise<void>
}

/** One check per process. It throws as `find` does while this process handles the same key. */
export function duplicateCheck(ports: ApiPorts): (request: KeyedRequest) => KeyedAttempt {
  // The fingerprint of each key in progress. Answers most duplicates without a store.
  const underWay = new Map<string, string>()

  return ({ key, caller, admission, fingerprint, batch }) => {
    const folder = idempotencyFolder(scopeOf(caller), key)
    const first = underWay.get(folder)
    if (first !== undefined) throw first === fingerprint ? inProgress() : mismatch()
    underWay.set(folder, fingerprint)
    const lookup: KeyLookup = { ports, folder, fingerprint, admission, ...(batch && { batch }) }
    let known: readonly number[] = []
    return {
      async find() {
        known = await generationsIn(lookup)
        return known.length === 0 ? undefined : await earlierRequest(lookup, Math.max(...known))
      },
      claim: (record) => claim(lookup, known, record),
      [Symbol.dispose]: () => void underWay.delete(folder),
    }
  }
}

interface KeyLookup {
  readonly ports: ApiPorts
  readonly folder: string
  readonly fingerprint: string
  readonly admission: Admission
  readonly batch?: KeyedBatch
}

/** Undefined when the claim no longer counts. */
async function earlierRequest(look: KeyLookup, generation: number): Promise<EarlierRequest | undefined> {
  const { ports, fingerprint } = look
  const stored = await readClaim(look, generation)
  // Removed since it was listed: another request has taken over the key.
  if (stored === undefined) throw inProgress()
  if (isExpired(stored, ports.clock.now())) return undefined
  if (look.batch !== undefined) return await earlierBatch({ ...look, batch: look.batch }, stored)
  const isSame = stored.fingerprint === fingerprint
  const isAwaited = isSame && stored.record.mode === 'sync' && mayBeUnderWay(stored, ports)
  const manifest =
    (await readManifest(stored.record.id, ports)) ?? (isAwaited ? await settled(stored, ports) : undefined)
  if (manifest !== undefined && isGivenUp(manifest)) return undefined
  if (!isSame) throw mismatch()
  if (manifest === undefined && isAwaited) throw inProgress(retryAfterS(stored, ports))
  return stored.record.mode === 'async'
    ? await earlierAsync(look, stored, manifest)
    : await earlierSync(look, stored, manifest)
}

async function earlierBatch(
  { ports, fingerprint, admission, batch }: KeyLookup & { readonly batch: KeyedBatch },
  made: IdempotencyClaim,
): Promise<EarlierRequest | undefined> {
  const state = await batch.stateOf(made.record.id)
  if (state === 'refused') return undefined
  if (made.fingerprint !== fingerprint) throw mismatch()
  if (state === 'accepted') return { kind: 'accepted', record: made.record }
  if (mayBeUnderWay(made, ports)) throw inProgress(retryAfterS(made, ports))
  return { kind: 'interrupted', record: withData(made.record, admission) }
}

/** The caller of a sync render may have its answer a moment before the outcome is stored. */
async function settled({ record }: IdempotencyClaim, ports: ApiPorts): Promise<Manifest | undefined> {
  const over = ports.clock.timeout(IDEMPOTENCY_SETTLE_MS)
  try {
    return await pollManifest(record.id, ports, over)
  } catch (error) {
    if (over.aborted) return undefined
    throw error
  }
}

async function earlierAsync(
  look: KeyLookup,
  made: IdempotencyClaim,
  manifest: Manifest | undefined,
): Promise<EarlierRequest> {
  const isAccepted = manifest !== undefined || (await isInLedger(made.record.id, look.ports))
  if (isAccepted) return { kind: 'accepted', record: made.record }
  if (mayBeUnderWay(made, look.ports)) throw inProgress(retryAfterS(made, look.ports))
  return { kind: 'interrupted', record: withData(made.record, look.admission) }
}

/** An unavailable ledger counts as empty. A queued render is then queued again, and is still one render. */
async function isInLedger(id: RenderId, { ledger, clock }: ApiPorts): Promise<boolean> {
  try {
    return (await ledger.find(id, clock.timeout(PORT_CALL_MS_MAX))) !== undefined
  } catch (error) {
    if (!isUnavailable(error)) throw error
    return false
  }
}

async function earlierSync(
  { ports, admission }: KeyLookup,
  made: IdempotencyClaim,
  manifest: Manifest | undefined,
): Promise<EarlierRequest | undefined> {
  const record = withData(made.record, admission)
  // A renderer may write the manifest at this moment. The first write wins.
  const ended = manifest ?? (await abandon(record, ports))
  return ended && { kind: 'ended', record, manifest: ended }
}

/** Whether the caller received an error, left before the answer, or deleted the render. */
function isGivenUp({ kind, outcome }: Manifest): boolean {
  return kind === 'removed' || isCanceled(outcome)
}

function mayBeUnderWay(claim: IdempotencyClaim, { clock, settings }: ApiPorts): boolean {
  if (settings.aloneSince !== undefined && claim.claimedAt < settings.aloneSince) return false
  return clock.now() < underWayUntil(claim)
}

function underWayUntil({ claimedAt, record }: IdempotencyClaim): number {
  const waitMs = record.mode === 'sync' ? SYNC_START_MS_MAX + record.deadlineMs + SYNC_REPLY_MARGIN_MS : 0
  return claimedAt + waitMs + IDEMPOTENCY_UNDER_WAY_MS
}

/**
 * Nearly all requests are answered soon. An old one may have lost its process, and its key is free only when it cannot be in progress any
 * more.
 */
function retryAfterS(claim: IdempotencyClaim, { clock }: ApiPorts): number {
  const isYoung = clock.now() < claim.claimedAt + IDEMPOTENCY_YOUNG_MS
  return isYoung ? IDEMPOTENCY_RETRY_AFTER_S : Math.max(1, Math.ceil((underWayUntil(claim) - clock.now()) / 1000))
}

/**
 * Adds the request to a claimed render. Both requests have the same body. Whether the data is stored follows this request, which stores it
 * again: the tenant may have changed that setting meanwhile.
 */
function withData(claimed: IdempotencyClaim['record'], { record }: Admission): RenderRecord {
  const { requestData: _requestData, webhookUrl: _webhookUrl, reference: _r, metadata: _m, ...rest } = claimed
  const { data, options, webhookUrl, requestData } = record
  const { bucket, prefix } = claimed.storage
  return {
    ...rest,
    options,
    ...(webhookUrl !== undefined && { webhookUrl }),
    ...labelsOf(record),
    ...(requestData !== undefined && { requestData }),
    data: 'stored' in data ? { stored: { bucket, key: inputKey(prefix, claimed.id) } } : data,
  }
}

/**
 * The generations of one day start above all generations of the day before. So if an expired claim is removed while two requests look, both
 * still choose the same next number, and only one can create it.
 *
 * One object replaced under its ETag would need no numbers, but could not be removed: MinIO deletes whatever `If-Match` says, and a claim
 * that was replaced since it was read would be lost (minio/minio#21677). An object with a number is never replaced.
 */
const GENERATIONS_A_DAY = 1_000_000

/**
 * Claims the next generation. The claim counts only if no other request claimed meanwhile, which the second listing shows: a slow request
 * may create a number that was taken and removed since, or a number of a past day.
 */
async function claim(look: KeyLookup, known: readonly number[], record: RenderRecord): Promise<void> {
  const { ports, fingerprint } = look
  const { artifacts, clock } = ports
  const today = Math.floor(clock.now() / IDEMPOTENCY_MS) * GENERATIONS_A_DAY
  const mine = Math.max(today, ...known) + 1
  const { data: _data, ...claimed } = withoutRequest(record)
  const refuse = async () => {
    await (look.batch?.release() ?? releaseReservation(record, ports))
    throw inProgress()
  }
  const bytes = encodeClaim({ fingerprint, claimedAt: clock.now(), record: claimed })
  const isNew = await artifacts.create(addressOf(look, mine), bytes, clock.timeout(PORT_CALL_MS_MAX))
  // When the answer to a write is lost, the store repeats the write and finds its own object. So an existing object may be ours.
  const isMine = isNew || (await readClaim(look, mine))?.record.id === record.id
  if (!isMine) return await refuse()
  const others = (await generationsIn(look)).filter((generation) => generation !== mine)
  const isAlone = others.every((generation) => known.includes(generation))
  await removeClaims(look, isAlone ? others : [mine])
  if (!isAlone) await refuse()
}

/** Removes claims that no longer count. Retention removes the others when they expire. */
async function removeClaims(look: KeyLookup, generations: readonly number[]): Promise<void> {
  const { artifacts, clock, log } = look.ports
  try {
    for (const generation of generations)
      await artifacts.delete(addressOf(look, generation), clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    log.warn({ ...logFieldsOf(look.admission.record), err }, 'old idempotency claim not removed')
  }
}

async function generationsIn({ ports, folder }: KeyLookup): Promise<readonly number[]> {
  const { artifacts, clock, settings } = ports
  const listed = artifacts.list(settings.serviceBucket, folder, clock.timeout(PORT_CALL_MS_MAX))
  return await Array.fromAsync(listed, ({ key }) => Number(key.slice(folder.length)))
}

async function readClaim(look: KeyLookup, generation: number): Promise<IdempotencyClaim | undefined> {
  const { artifacts, clock } = look.ports
  const bytes = await artifacts.get(addressOf(look, generation), clock.timeout(PORT_CALL_MS_MAX))
  return bytes && decodeClaim(bytes)
}

function addressOf({ ports, folder }: KeyLookup, generation: number): { bucket: string; key: string } {
  return { bucket: ports.settings.serviceBucket, key: `${folder}${generation}` }
}

function inProgress(seconds = IDEMPOTENCY_RETRY_AFTER_S): ServiceError {
  return new ServiceError(
    'IDEMPOTENCY_IN_PROGRESS',
    `The first request with this Idempotency-Key is not answered yet; send it again in ${seconds} s.`,
    { headers: { 'retry-after': `${seconds}` } },
  )
}

function mismatch(): ServiceError {
  return new ServiceError(
    'IDEMPOTENCY_MISMATCH',
    'This Idempotency-Key was sent with another body; a new request needs a new key.',
  )
}
