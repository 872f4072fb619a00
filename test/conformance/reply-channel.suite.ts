/** The promises of every reply channel. The doc comments of the port describe them. */

import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { Reply, ReplyChannel } from '@platen/contract/port/reply-channel.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aRenderId } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import type { Harness } from './harness.ts'

const PDF = Buffer.from('%PDF')
const RENDERED: Reply = {
  kind: 'rendered',
  pdf: [PDF],
  sha256: sha256(PDF),
  durationMs: 120,
  pages: 3,
  warnings: 2,
}
const FAILED: Reply = { kind: 'failed', error: { code: 'render_timeout', message: 'took 25 s' }, durationMs: 25_000 }

/** What was sent of a reply. Whether others read its pieces too is for the channel to say. */
function sentOf(reply: Reply): Reply {
  if (reply.kind === 'failed') return reply
  const { isOwned: _, ...sent } = reply
  return sent
}

export function describeReplyChannel(name: string, makeHarness: () => Promise<Harness<ReplyChannel>>): void {
  describe(`reply channel: ${name}`, () => {
    let harness: Harness<ReplyChannel>
    let replies: ReplyChannel
    let id: RenderId
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
      replies = await harness.open()
      id = aRenderId()
    })

    test.for([
      ['document', RENDERED],
      ['failure', FAILED],
    ] as const)('brings a %s to the caller who waits', async ([, reply], { signal }) => {
      using pending = replies.expect(id)
      const waiting = Promise.all([pending.started(signal), pending.reply(signal)])
      replies.notifyStarted(id)
      await replies.reply(id, reply, signal)
      const [started, came] = await waiting
      expect([started, sentOf(came)]).toStrictEqual([undefined, reply])
    })

    test('keeps what came before the caller asked', async ({ signal }) => {
      using pending = replies.expect(id)
      replies.notifyStarted(id)
      await replies.reply(id, RENDERED, signal)
      await pending.started(signal)
      expect(sentOf(await pending.reply(signal))).toStrictEqual(RENDERED)
    })

    test('takes an answer to mean that the render was taken', async ({ signal }) => {
      using pending = replies.expect(id)
      await replies.reply(id, FAILED, signal)
      await expect(pending.started(signal)).resolves.toBeUndefined()
    })

    test('keeps renders apart', async ({ signal }) => {
      using one = replies.expect(id)
      using two = replies.expect(aRenderId())
      await replies.reply(id, RENDERED, signal)
      expect(sentOf(await one.reply(signal))).toStrictEqual(RENDERED)
      const reason = new Error('no answer')
      await expect(two.started(AbortSignal.abort(reason))).rejects.toBe(reason)
    })

    test('is not broken as long as it receives', async ({ signal }) => {
      using pending = replies.expect(id)
      const stop = new AbortController()
      const reason = new Error('nothing was missed')
      const whole = expect(pending.broken(stop.signal)).rejects.toBe(reason)
      replies.notifyStarted(id)
      await pending.started(signal)
      await replies.reply(id, RENDERED, signal)
      await pending.reply(signal)
      stop.abort(reason)
      await whole
    })

    test('stops waiting with the reason of the signal', async () => {
      using pending = replies.expect(id)
      const stop = new AbortController()
      const waiting = Promise.allSettled([pending.started(stop.signal), pending.reply(stop.signal)])
      const reason = new Error('nobody took it')
      stop.abort(reason)
      expect(await waiting).toStrictEqual([
        { status: 'rejected', reason },
        { status: 'rejected', reason },
      ])
    })

    test('drops what nobody waits for', async ({ signal }) => {
      replies.notifyStarted(id)
      await expect(replies.reply(id, RENDERED, signal)).resolves.toBeUndefined()
      replies.expect(id)[Symbol.dispose]()
      await expect(replies.reply(id, RENDERED, signal)).resolves.toBeUndefined()
    })

    test('tells the renderer that the caller has gone', async ({ signal }) => {
      const pending = replies.expect(id)
      const departure = replies.callerGone(id, signal)
      expect(departure.aborted).toBe(false)
      pending[Symbol.dispose]()
      await aborted(departure, signal)
    })

    test('tells a renderer that comes late that the caller has gone already', async ({ signal }) => {
      replies.expect(id)[Symbol.dispose]()
      await aborted(replies.callerGone(id, signal), signal)
    })

    test('does not take a caller who has the reply for one that went away', async ({ signal }) => {
      const pending = replies.expect(id)
      const departure = replies.callerGone(id, signal)
      await replies.reply(id, RENDERED, signal)
      await pending.reply(signal)
      pending[Symbol.dispose]()
      // The channel delivers in order: when this second signal arrives, nothing older is under way.
      const other = aRenderId()
      const witness = replies.expect(other)
      const seen = replies.callerGone(other, signal)
      witness[Symbol.dispose]()
      await aborted(seen, signal)
      expect(departure.aborted).toBe(false)
    })
  })
}

async function aborted(departure: AbortSignal, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  departure.addEventListener('abort', () => resolve())
  signal.addEventListener('abort', () => reject(signal.reason))
  if (departure.aborted) resolve()
  await promise
}
