/** The messages about sync renders: each has its own key, and a hint on one channel that every process receives. */

import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { Reply } from '@platen/contract/port/reply-channel.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { setBytes } from './connect/set-bytes.ts'
import { type Subscriber, subscribe } from './connect/subscription.ts'
import type { RedisConnection } from './connect.ts'
import { REPLY_KEPT_MS } from './limit.ts'

/** Size of the parts in which a PDF goes through Redis. One value of 9 MB takes both ends twice as long as nine of 1 MB. */
export const REPLY_PART_BYTES_MAX = 1024 * 1024

const CHANNEL = 'platen:reply'
const HINTS = ['taken', 'answered', 'gone'] as const

/** Without the bytes of the PDF, and with the keys of its parts. */
interface StoredReply {
  readonly reply: Reply
  readonly parts: readonly string[]
}

/** `taken`: a renderer started the render. `answered`: there is a reply. `gone`: the caller has gone. */
export type Hint = (typeof HINTS)[number]

interface Listener extends Pick<Subscriber, 'onReconnect' | 'onDisconnect'> {
  readonly onHint: (hint: Hint, id: RenderId) => void
}

interface ReplyBus extends AsyncDisposable {
  /** Are hints received now, can their keys be read, and can all processes publish? */
  isReceiving(): boolean
  /** Writes the key of a hint, then publishes the hint. Resolves when published. */
  publish(id: RenderId, hint: Exclude<Hint, 'answered'>): Promise<void>
  /** Stores the reply, then publishes the hint, unless the caller has gone. Resolves when published. */
  publishReply(id: RenderId, reply: Reply, signal: AbortSignal): Promise<void>
  has(id: RenderId, hint: Hint): Promise<boolean>
  /** Reads the reply and removes it. */
  takeReply(id: RenderId): Promise<Reply | undefined>
}

/** Resolves when the listener receives hints. */
export async function openReplyBus(redis: RedisConnection, listener: Listener, signal: AbortSignal): Promise<ReplyBus> {
  const closed = new AbortController()
  const onMessage = (message: string) => {
    const [word, id = ''] = message.split(' ')
    const hint = HINTS.find((known) => known === word)
    // Only this module publishes here. Nobody waits for an invalid id.
    if (hint !== undefined) listener.onHint(hint, id as RenderId)
  }
  const subscription = await subscribe(redis, { ...listener, channel: CHANNEL, onMessage }, signal)
  const write = (key: string, value: string, until: AbortSignal) =>
    redis.call((client) => client.set(key, value, 'PX', REPLY_KEPT_MS), until)
  const say = async (id: RenderId, { hint, value = '' }: { hint: Hint; value?: string }, until: AbortSignal) => {
    await write(keyOf(id, hint), value, until)
    await redis.call((client) => client.publish(CHANNEL, `${hint} ${id}`), until)
  }
  const says = async (id: RenderId, hint: Hint, until: AbortSignal) =>
    (await redis.call((client) => client.exists(keyOf(id, hint)), until)) === 1
  return {
    isReceiving: () => subscription.isReceiving(),
    publish: (id, hint) => say(id, { hint }, closed.signal),
    async publishReply(id, reply, until) {
      if (await says(id, 'gone', until)) return
      const pieces = reply.kind === 'rendered' ? reply.pdf.flatMap(partsOf) : []
      // Two renderers may reply if one has lost its claim. Neither then overwrites the parts of the other.
      const writer = pieces.length > 0 ? await nextWriter(redis, id, until) : 0
      const parts = pieces.map((_, i) => `${CHANNEL}:{${id}}:part:${writer}:${i}`)
      const kept = pieces.map((bytes, i) => ({ key: parts[i] ?? '', bytes, keptMs: REPLY_KEPT_MS }))
      await Promise.all(kept.map((part) => redis.call((client) => setBytes(client, part), until)))
      const bare = reply.kind === 'rendered' ? { ...reply, pdf: [] } : reply
      await say(id, { hint: 'answered', value: JSON.stringify({ reply: bare, parts }) }, until)
    },
    has: (id, hint) => says(id, hint, closed.signal),
    async takeReply(id) {
      const key = keyOf(id, 'answered')
      // Not GETDEL: repeated after a broken connection, it would find nothing.
      const text = await redis.call((client) => client.get(key), closed.signal)
      if (text === null) return undefined
      // Only `publishReply` writes this value.
      const { reply, parts } = JSON.parse(text) as StoredReply
      const pieces = await Promise.all(
        parts.map((part) => redis.call((client) => client.getBuffer(part), closed.signal)),
      )
      // Nobody waits for the removal, and the keys expire anyway.
      redis.call((client) => client.unlink(key, ...parts), closed.signal).catch(() => undefined)
      if (reply.kind === 'failed') return reply
      const whole = pieces.filter((piece) => piece !== null)
      return whole.length === parts.length ? { ...reply, pdf: whole, isOwned: true } : undefined
    },
    async [Symbol.asyncDispose]() {
      closed.abort(new Unavailable('the reply channel was closed'))
      subscription[Symbol.dispose]()
    },
  }
}

function keyOf(id: RenderId, hint: Hint): string {
  return `${CHANNEL}:{${id}}:${hint}`
}

async function nextWriter(redis: RedisConnection, id: RenderId, signal: AbortSignal): Promise<number> {
  const key = `${CHANNEL}:{${id}}:writers`
  const [writer] = await Promise.all([
    redis.call((client) => client.incr(key), signal),
    redis.call((client) => client.pexpire(key, REPLY_KEPT_MS), signal),
  ])
  return writer
}

function partsOf(pdf: Uint8Array): readonly Buffer[] {
  const bytes = Buffer.from(pdf.buffer, pdf.byteOffset, pdf.length)
  const count = Math.ceil(bytes.length / REPLY_PART_BYTES_MAX)
  return Array.from({ length: count }, (_, i) =>
    bytes.subarray(i * REPLY_PART_BYTES_MAX, (i + 1) * REPLY_PART_BYTES_MAX),
  )
}
