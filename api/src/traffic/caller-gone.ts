/** Notices that the caller of a request has left before its answer. */
import type { FastifyReply } from 'fastify'
import { unavailable } from '../problem.ts'

/** Aborts when the connection closes before the answer was written. Not `request.signal`, which aborts when the body has been read. */
export function callerGoneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const onClose = () => {
    // Nobody reads this answer.
    if (!reply.raw.writableFinished) controller.abort(unavailable())
  }
  if (reply.raw.destroyed) onClose()
  else reply.raw.once('close', onClose)
  return controller.signal
}
