/** A sync render, from the queue to its reply, while a connection waits. */

import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Manifest, Pdf, RenderRecord } from '@platen/contract/domain/render.ts'
import { warningCountOf } from '@platen/contract/domain/warning.ts'
import type { PendingReply, Reply } from '@platen/contract/port/reply-channel.ts'
import { sha256 as digestOf } from '@platen/lib/canonical-json.ts'
import { firstAborted } from '@platen/lib/race.ts'
import { PORT_CALL_MS_MAX } from '../limit.ts'
import type { ApiPorts } from '../ports.ts'
import { unavailable } from '../problem.ts'
import type { Admission } from './admit.ts'
import { SYNC_REPLY_MARGIN_MS, SYNC_START_MS_MAX } from './limit.ts'
import { pollManifest } from './manifest.ts'
import { abandon, submit } from './submit.ts'

/**
 * Queues a sync render and waits for its outcome. `callerGone` aborts when the caller has left. A renderer that has the render is then
 * asked to end it. If no renderer has it, it is abandoned, so that its quota is free before its turn in the queue comes. Throws
 * `RENDER_UNAVAILABLE` when no renderer started within `SYNC_START_MS_MAX`, or when no reply came in time and no outcome is known. In both
 * cases the render is abandoned and costs nothing.
 *
 * If the reply channel is broken, the manifest is polled while waiting for the reply. Nobody knows then whether a renderer has started, so
 * the wait is that of the slowest render: `SYNC_START_MS_MAX`, the deadline and the margin together. A claim of an `Idempotency-Key` counts
 * the render as in progress for the same time. Over a broken channel the renderer cannot be reached after the caller has left: the render
 * is abandoned, whether or not a renderer has it.
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
    if (!('render' in answer)) return answer
    manifest = answer
  } catch (cause) {
    // Disposing of `pending` tells the renderer to end the render. Nobody reads this answer.
    if (callerGone.aborted && wait.isStarted && !wait.isBroken) throw unavailable()
    manifest = await abandon(record, ports)
    if (callerGone.aborted) throw unavailable()
    if (manifest === undefined) throw unavailable(cause)
  }
  // The reply was lost but the outcome was not. The caller is charged for this render, so it gets the result.
  return await replyOf(manifest, ports)
}

interface Wait {
  readonly pending: PendingReply
  readonly record: RenderRecord
  readonly ports: ApiPorts
  readonly callerGone: AbortSignal
  isStarted: boolean
  isBroken: boolean
}

/** Returns what comes first. Rejects when neither can come any more. */
async function firstOutcome(wait: Wait): Promise<Reply | Manifest> {
  using over = firstAborted([wait.callerGone])
  const { signal } = over
  const replied = awaitReply(wait, signal).catch((error: unknown) => {
    // While the channel works, the manifest says nothing that a reply did not say.
    if (!wait.isBroken) over.abort(error)
    throw error
  })
  const found = awaitManifest(wait, signal)
  try {
    return await Promise.any([replied, found])
  } catch {
    // Both failed. Operators need the reason of the first.
    return await replied
  } finally {
    // The default reason would take a stack trace each time.
    over.abort('the outcome is known')
  }
}

async function awaitReply(wait: Wait, signal: AbortSignal): Promise<Reply> {
  const { pending, record } = wait
  const { clock } = wait.ports
  using inTime = firstAborted([signal, clock.timeout(SYNC_START_MS_MAX)])
  await pending.started(inTime.signal)
  wait.isStarted = true
  const replyMs = record.deadlineMs + SYNC_REPLY_MARGIN_MS
  using replied = firstAborted([signal, clock.timeout(replyMs)])
  return await pending.reply(replied.signal)
}

async function awaitManifest(wait: Wait, signal: AbortSignal): Promise<Manifest> {
  const { pending, record, ports } = wait
  const { clock } = ports
  const overAt = clock.monotonic() + SYNC_START_MS_MAX + record.deadlineMs + SYNC_REPLY_MARGIN_MS
  await pending.broken(signal)
  wait.isBroken = true
  return await pollManifest(record.id, ports, AbortSignal.any([signal, clock.timeout(overAt - clock.monotonic())]))
}

/**
 * The reply for an outcome, as the renderer sent it or would have sent it. Throws `Unavailable`. Throws `INTERNAL_ERROR` when the stored
 * PDF is missing or is not the rendered one.
 */
export async function replyOf({ outcome }: Manifest, { artifacts, clock }: ApiPorts): Promise<Reply> {
  const { durationMs } = outcome
  if (outcome.status === 'failed') return { kind: 'failed', error: outcome.error, durationMs }
  const pdf = await artifacts.get(outcome.pdf.address, clock.timeout(PORT_CALL_MS_MAX))
  if (pdf === undefined) throw new ServiceError('INTERNAL_ERROR', 'The PDF of this render is missing.')
  const { pages } = outcome
  const { sha256 } = outcome.pdf
  const warnings = warningCountOf(outcome)
  return {
    kind: 'rendered',
    pdf: [requireIntact(pdf, outcome.pdf)],
    sha256,
    durationMs,
    pages,
    warnings,
  }
}

function requireIntact(bytes: Uint8Array, { sha256, address }: Pdf): Uint8Array {
  const digest = digestOf(bytes)
  if (digest === sha256) return bytes
  throw new ServiceError('INTERNAL_ERROR', 'The PDF of this render was damaged where it is stored.', {
    cause: new Error(`${address.bucket}/${address.key} has the digest ${digest}`),
  })
}
