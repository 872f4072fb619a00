/**
 * Sixth station: has this request been made before? Whoever heard no answer sends it again with the same `Idempotency-Key`, and
 * gets the answer of the first instead of a second render.
 *
 * The truth is a claim in the artifact store (`contract/idempotency.ts`) that ties the key to a render id before that render is
 * queued; what became of the render is read where it always is, from its manifest and the ledger. So no crash leaves anything
 * to repair here. A claim whose render was given up (answered 503, or its caller left) has a manifest that says so, and the
 * next request takes the key over with a claim of the next number; of any number of takers one can create that. An async
 * render that may or may not have reached the queue is queued again under its own id, which everything behind the queue takes
 * for the same render. A sync render that nobody waits for any more is abandoned first, so that it costs nothing.
 *
 * Whether a key is taken is looked up before the limiter, and the claim is written after it: a replay consumes nothing, and what
 * the limiter refuses writes nothing.
 */
import { ServiceError } from '@platen/contract/error.ts'
import {
  decodeClaim,
  encodeClaim,
  type IdempotencyClaim,
  idempotencyFolder,
  isExpired,
} from '@platen/contract/idempotency.ts'
import {
  IDEMPOTENCY_MS,
  IDEMPOTENCY_RETRY_AFTER_S,
  IDEMPOTENCY_UNDER_WAY_MS,
  PORT_CALL_MS_MAX,
  SYNC_REPLY_MARGIN_MS,
  SYNC_START_MS_MAX,
} from '@platen/contract/limit.ts'
import { inputKey, type Manifest, type RenderRecord } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import type { ApiPorts } from '../ports.ts'
import { isUnavailable } from '../problem.ts'
import type { Admission } from './admit.ts'
import { type Caller, scopeOf } from './authenticate.ts'
import { readManifest } from './manifest.ts'
import { abandon, releaseReservation } from './submit.ts'

export interface KeyedRequest {
  readonly key: string
  readonly caller: Caller
  /** What the request would make if it is the first. */
  readonly admission: Admission
  /** Of its body. */
  readonly fingerprint: string
}

/** The first request of a key, as far as it came. */
export type EarlierRequest =
  /** Answered 202. */
  | { readonly kind: 'accepted'; readonly record: Pick<RenderRecord, 'id' | 'template' | 'options'> }
  /** Sync, and this is its outcome. */
  | { readonly kind: 'ended'; readonly record: Manifest['render']; readonly manifest: Manifest }
  /** Async, and its process died before its answer: it may be in the queue. */
  | { readonly kind: 'interrupted'; readonly record: RenderRecord }

/** One request with a key; from its making to its disposal, other requests of this process with the same key are refused. */
export interface KeyedAttempt extends Disposable {
  /**
   * What the key stands for already; undefined when it is free. Throws `IDEMPOTENCY_MISMATCH` when that is another request, and
   * `IDEMPOTENCY_IN_PROGRESS` when it has no answer yet.
   */
  find(): Promise<EarlierRequest | undefined>
  /**
   * Takes a key that `find` found free for a render that the limiter has admitted. Throws `IDEMPOTENCY_IN_PROGRESS` when another
   * request was quicker, having given the reservation back.
   */
  claim(record: RenderRecord): Promise<void>
}

/** Makes the check of one process. It throws as `find` does where this process is at work on the key. */
export function duplicateCheck(ports: ApiPorts): (request: KeyedRequest) => KeyedAttempt {
  // What each key under way was sent with: most duplicates need not look further.
  const underWay = new Map<string, string>()

  return ({ key, caller, admission, fingerprint }) => {
    const folder = idempotencyFolder(scopeOf(caller), key)
    const first = underWay.get(folder)
    if (first !== undefined) throw first === fingerprint ? inProgress() : mismatch()
    underWay.set(folder, fingerprint)
    const lookup: KeyLookup = { ports, folder, fingerprint, admission }
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
}

/** What the highest claim of a key stands for; undefined when it binds nobody any more. */
async function earlierRequest(look: KeyLookup, generation: number): Promise<EarlierRequest | undefined> {
  const { ports, fingerprint } = look
  const stored = await readClaim(look, generation)
  // Removed since it was listed: somebody else has taken the key over.
  if (stored === undefined) throw inProgress()
  if (isExpired(stored, ports.clock.now())) return undefined
  const manifest = await readManifest(stored.record.id, ports)
  if (manifest !== undefined && isGivenUp(manifest)) return undefined
  if (stored.fingerprint !== fingerprint) throw mismatch()
  return stored.record.mode === 'async'
    ? await earlierAsync(look, stored, manifest)
    : await earlierSync(look, stored, manifest)
}

async function earlierAsync(
  look: KeyLookup,
  made: IdempotencyClaim,
  manifest: Manifest | undefined,
): Promise<EarlierRequest> {
  const isAccepted = manifest !== undefined || (await isInLedger(made.record.id, look.ports))
  if (isAccepted) return { kind: 'accepted', record: made.record }
  if (mayBeUnderWay(made, look.ports.clock.now())) throw inProgress()
  return { kind: 'interrupted', record: withData(made.record, look.admission) }
}

/** A ledger that cannot be asked knows nothing, as one that was emptied: a render that was queued is then queued once more, and is one all the same. */
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
  if (manifest === undefined && mayBeUnderWay(made, ports.clock.now())) throw inProgress()
  // Its manifest may be written at this very moment: whichever is first stands.
  const outcome = manifest ?? (await abandon(withData(made.record, admission), ports))
  return outcome && { kind: 'ended', record: outcome.render, manifest: outcome }
}

/** Was the caller told, or did it go before it could be told, that nothing came of it? */
function isGivenUp({ outcome }: Manifest): boolean {
  return outcome.status === 'failed' && outcome.error.code === 'canceled'
}

function mayBeUnderWay({ claimedAt, record }: IdempotencyClaim, now: number): boolean {
  const waitMs = record.mode === 'sync' ? SYNC_START_MS_MAX + record.deadlineMs + SYNC_REPLY_MARGIN_MS : 0
  return now < claimedAt + waitMs + IDEMPOTENCY_UNDER_WAY_MS
}

/** A claimed render with the data it was claimed with: the bodies are the same. */
function withData(record: IdempotencyClaim['record'], { record: { data } }: Admission): RenderRecord {
  const { bucket, prefix } = record.storage
  return { ...record, data: 'inline' in data ? data : { stored: { bucket, key: inputKey(prefix, record.id) } } }
}

/**
 * Each day's generations begin above all of the day before, so that a spent claim, seen by one request and swept before the next
 * looked, lends its number to nobody: both reach for the same one, and one gets it.
 */
const GENERATIONS_A_DAY = 1_000_000

/**
 * Claims the generation after those known. That counts only when nobody else came in between, which the second listing shows: a
 * request that was slow may create a number that has been taken and removed since, or that of a day that is over.
 */
async function claim(look: KeyLookup, known: readonly number[], record: RenderRecord): Promise<void> {
  const { ports, fingerprint } = look
  const { artifacts, clock } = ports
  const today = Math.floor(clock.now() / IDEMPOTENCY_MS) * GENERATIONS_A_DAY
  const mine = Math.max(today, ...known) + 1
  const { data: _data, ...claimed } = record
  const refuse = async () => {
    await releaseReservation(record, ports)
    throw inProgress()
  }
  const bytes = encodeClaim({ fingerprint, claimedAt: clock.now(), record: claimed })
  const isNew = await artifacts.create(addressOf(look, mine), bytes, clock.timeout(PORT_CALL_MS_MAX))
  // A store that repeats a write whose answer was lost finds what it wrote itself.
  const isMine = isNew || (await readClaim(look, mine))?.record.id === record.id
  if (!isMine) return await refuse()
  const others = (await generationsIn(look)).filter((generation) => generation !== mine)
  const isAlone = others.every((generation) => known.includes(generation))
  await removeClaims(look, isAlone ? others : [mine])
  if (!isAlone) await refuse()
}

/** Removes claims that count no longer. What stays is swept when it is spent. */
async function removeClaims(look: KeyLookup, generations: readonly number[]): Promise<void> {
  const { artifacts, clock, log } = look.ports
  try {
    for (const generation of generations)
      await artifacts.delete(addressOf(look, generation), clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    log.warn({ err }, 'old idempotency claim not removed')
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

function inProgress(): ServiceError {
  return new ServiceError(
    'IDEMPOTENCY_IN_PROGRESS',
    'The first request with this Idempotency-Key is not answered yet; send it again shortly.',
    { headers: { 'retry-after': `${IDEMPOTENCY_RETRY_AFTER_S}` } },
  )
}

function mismatch(): ServiceError {
  return new ServiceError(
    'IDEMPOTENCY_MISMATCH',
    'This Idempotency-Key was sent with another body; a new request needs a new key.',
  )
}
