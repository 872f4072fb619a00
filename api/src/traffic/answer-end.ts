/**
 * The end of an answer: its last byte was sent, or its caller has left. `holdUntilSent` keeps resources of a request until then. It also
 * handles an answer that has ended already: a caller can leave while a store is asked.
 */
import type { FastifyReply } from 'fastify'
import { unavailable } from '../problem.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** Disposed when this answer ends, the last resource first. */
    held: DisposableStack | null
  }
}

/** Disposes of `held` when the answer ends, at once if it has ended. */
export function holdUntilSent({ held: stack }: Pick<FastifyReply, 'held'>, held: Disposable): void {
  if (stack === null || stack.disposed) held[Symbol.dispose]()
  else stack.use(held)
}

/** Aborts when the answer ends before all of it was sent. Not `request.signal`, which aborts when the body has been read. */
export function callerGoneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const onEnd = () => {
    if (!reply.raw.writableFinished) controller.abort(unavailable())
  }
  holdUntilSent(reply, { [Symbol.dispose]: onEnd })
  return controller.signal
}
