/** A sync render, from the queue to its reply, while a connection waits. */
import { ServiceError } from '@platen/contract/error.ts'
import { PORT_CALL_MS_MAX, SYNC_ANSWER_MARGIN_MS, SYNC_TAKE_MS_MAX } from '@platen/contract/limit.ts'
import type { Reply } from '@platen/contract/port/reply-channel.ts'
import type { Manifest } from '@platen/contract/render.ts'
import type { ApiPorts } from '../ports.ts'
import { unavailable } from '../problem.ts'
import type { Admission } from './admit.ts'
import { abandon, submit } from './submit.ts'

/**
 * Queues a sync render and waits for what comes of it. `departure` aborts when the caller has gone; the renderer is told, and a
 * render that none had taken is abandoned, so that its quota is free before its turn in the queue comes. Throws
 * `RENDER_UNAVAILABLE` when no renderer began within `SYNC_TAKE_MS_MAX`, or none answered in time and no outcome is known either:
 * the render is abandoned then, and costs nothing.
 */
export async function renderNow(admission: Admission, ports: ApiPorts, departure: AbortSignal): Promise<Reply> {
  const { replies, clock, meter } = ports
  const { record } = admission
  using pending = replies.expect(record.id)
  using _waiting = meter.waiting()
  await submit(admission, ports)
  let isTaken = false
  try {
    await pending.taken(AbortSignal.any([departure, clock.timeout(SYNC_TAKE_MS_MAX)]))
    isTaken = true
    const replyMs = record.deadlineMs + SYNC_ANSWER_MARGIN_MS
    return await pending.reply(AbortSignal.any([departure, clock.timeout(replyMs)]))
  } catch (cause) {
    // Leaving `pending` tells the renderer, which ends the render; nobody reads what is answered here.
    if (departure.aborted && isTaken) throw unavailable()
    const manifest = await abandon(record, ports)
    if (departure.aborted) throw unavailable()
    if (manifest === undefined) throw unavailable(cause)
    // The reply was lost and the outcome was not: the render is paid for, so its caller gets it.
    return await replyOf(manifest, ports)
  }
}

/** The answer that an outcome gives, as the renderer gave it or would have. Throws `Unavailable`. */
export async function replyOf({ outcome }: Manifest, { artifacts, clock }: ApiPorts): Promise<Reply> {
  const { durationMs } = outcome
  if (outcome.status === 'failed') return { kind: 'failed', error: outcome.error, durationMs }
  const pdf = await artifacts.get(outcome.pdf.address, clock.timeout(PORT_CALL_MS_MAX))
  if (pdf === undefined) throw new ServiceError('INTERNAL_ERROR', 'The PDF of this render is missing.')
  return { kind: 'rendered', pdf, durationMs }
}
