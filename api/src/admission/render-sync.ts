/** A sync render, from the queue to its reply, while a connection waits. */
import { createHash } from 'node:crypto'
import { ServiceError } from '@platen/contract/error.ts'
import { PORT_CALL_MS_MAX, SYNC_REPLY_MARGIN_MS, SYNC_START_MS_MAX } from '@platen/contract/limit.ts'
import type { PendingReply, Reply } from '@platen/contract/port/reply-channel.ts'
import { OUTCOME_POLL_MS_MAX, OUTCOME_POLL_MS_MIN, OUTCOME_POLL_SHARE } from '@platen/contract/redis-limit.ts'
import type { Manifest, Pdf, RenderRecord } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import type { ApiPorts } from '../ports.ts'
import { isUnavailable, unavailable } from '../problem.ts'
import type { Admission } from './admit.ts'
import { readManifest } from './manifest.ts'
import { abandon, submit } from './submit.ts'

/**
 * Queues a sync render and waits for what comes of it. `departure` aborts when the caller has gone; the renderer is told, and a
 * render that none had taken is abandoned, so that its quota is free before its turn in the queue comes. Throws
 * `RENDER_UNAVAILABLE` when no renderer began within `SYNC_TAKE_MS_MAX`, or none answered in time and no outcome is known either:
 * the render is abandoned then, and costs nothing.
 *
 * Where the way back is broken, the manifest is looked for beside waiting for the reply. Whether a renderer has begun is not known
 * then, so such a wait ends when the slowest of renders would have: after `SYNC_TAKE_MS_MAX`, the deadline and the margin together,
 * which is as long as a claim of an `Idempotency-Key` takes it to be under way. Nor can a renderer be told that the caller has gone:
 * the render is abandoned, whether or not one has it in hand.
 */
export async function renderSync(admission: Admission, ports: ApiPorts, callerGone: AbortSignal): Promise<Reply> {
  const { record } = admission
  using pending = ports.replies.expect(record.id)
  using _waiting = ports.meter.waiting()
  await submit(admission, ports)
  const wait: Wait = { pending, record, ports, callerGone, isStarted: false, isBroken: false }
  let manifest: Manifest | undefined
  try {
    const answer = await firstOutcome(wait)
    if ('kind' in answer) return answer
    manifest = answer
  } catch (cause) {
    // Leaving `pending` tells the renderer, which ends the render; nobody reads what is answered here.
    if (callerGone.aborted && wait.isStarted && !wait.isBroken) throw unavailable()
    manifest = await abandon(record, ports)
    if (callerGone.aborted) throw unavailable()
    if (manifest === undefined) throw unavailable(cause)
  }
  // The reply was lost and the outcome was not: the render is paid for, so its caller gets it.
  return await replyOf(manifest, ports)
}

/** What is waited for, and what is known of it by now. */
interface Wait {
  readonly pending: PendingReply
  readonly record: RenderRecord
  readonly ports: ApiPorts
  readonly callerGone: AbortSignal
  isStarted: boolean
  isBroken: boolean
}

/** The reply, or the manifest where that is found first. Rejects when neither may come any more. */
async function firstOutcome(wait: Wait): Promise<Reply | Manifest> {
  const over = new AbortController()
  const signal = AbortSignal.any([wait.callerGone, over.signal])
  const replied = awaitReply(wait, signal).catch((error: unknown) => {
    // As long as the way back is whole there is nothing to be found that was not said.
    if (!wait.isBroken) over.abort(error)
    throw error
  })
  const found = awaitManifest(wait, signal)
  try {
    return await Promise.any([replied, found])
  } catch {
    // Both have failed; why the first did is what an operator wants to know.
    return await replied
  } finally {
    over.abort()
  }
}

async function awaitReply(wait: Wait, signal: AbortSignal): Promise<Reply> {
  const { pending, record } = wait
  const { clock } = wait.ports
  await pending.started(AbortSignal.any([signal, clock.timeout(SYNC_START_MS_MAX)]))
  wait.isStarted = true
  const replyMs = record.deadlineMs + SYNC_REPLY_MARGIN_MS
  return await pending.reply(AbortSignal.any([signal, clock.timeout(replyMs)]))
}

async function awaitManifest(wait: Wait, signal: AbortSignal): Promise<Manifest> {
  const { pending, record, ports } = wait
  const { clock } = ports
  const overAt = clock.monotonic() + SYNC_START_MS_MAX + record.deadlineMs + SYNC_REPLY_MARGIN_MS
  await pending.broken(signal)
  wait.isBroken = true
  return await pollManifest(record.id, ports, AbortSignal.any([signal, clock.timeout(overAt - clock.monotonic())]))
}

/** Looks for the manifest again and again. */
async function pollManifest(id: RenderId, ports: ApiPorts, signal: AbortSignal): Promise<Manifest> {
  const { clock } = ports
  const begunAt = clock.monotonic()
  for (;;) {
    const manifest = await readManifest(id, ports).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error
      return undefined
    })
    if (manifest !== undefined) return manifest
    const pollMs = (clock.monotonic() - begunAt) * OUTCOME_POLL_SHARE
    await clock.sleep(Math.min(Math.max(pollMs, OUTCOME_POLL_MS_MIN), OUTCOME_POLL_MS_MAX), signal)
  }
}

/** The answer that an outcome gives, as the renderer gave it or would have. Throws `Unavailable`, and `INTERNAL_ERROR` where what is stored is not what was rendered. */
export async function replyOf({ outcome }: Manifest, { artifacts, clock }: ApiPorts): Promise<Reply> {
  const { durationMs } = outcome
  if (outcome.status === 'failed') return { kind: 'failed', error: outcome.error, durationMs }
  const pdf = await artifacts.get(outcome.pdf.address, clock.timeout(PORT_CALL_MS_MAX))
  if (pdf === undefined) throw new ServiceError('INTERNAL_ERROR', 'The PDF of this render is missing.')
  return { kind: 'rendered', pdf: requireIntact(pdf, outcome.pdf), durationMs }
}

function requireIntact(bytes: Uint8Array, { sha256, address }: Pdf): Uint8Array {
  const digest = createHash('sha256').update(bytes).digest('hex')
  if (digest === sha256) return bytes
  throw new ServiceError('INTERNAL_ERROR', 'The PDF of this render was damaged where it is stored.', {
    cause: new Error(`${address.bucket}/${address.key} has the digest ${digest}`),
  })
}
