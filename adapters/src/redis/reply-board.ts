/** What is said about sync renders: a key for each thing said, and a hint on one channel that everyone hears. */
import { abortable } from '@platen/contract/bell.ts'
import { REPLY_KEPT_MS } from '@platen/contract/limit.ts'
import type { Reply } from '@platen/contract/port/reply-channel.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import type { RedisConnection } from './connect.ts'

const CHANNEL = 'platen:reply'
const NEWLINE = 10
const HINTS = ['taken', 'answered', 'gone'] as const

/** A renderer took it; it answered; the caller has gone. */
export type Hint = (typeof HINTS)[number]

export interface Listener {
  hear(hint: Hint, id: RenderId): void
  /** It hears again after a time in which hints may have been missed. */
  onReturn(): void
}

export interface ReplyBoard extends AsyncDisposable {
  /** Says it to everyone, now and to who looks later. Resolves when said. */
  post(id: RenderId, hint: Exclude<Hint, 'answered'>): Promise<void>
  /** Says how a render came out, unless its caller has gone. Resolves when said. */
  answer(id: RenderId, reply: Reply, signal: AbortSignal): Promise<void>
  says(id: RenderId, hint: Hint): Promise<boolean>
  /** Takes the answer away, if there is one. */
  read(id: RenderId): Promise<Reply | undefined>
}

/** The board of all processes. Resolves when the listener hears. */
export async function openReplyBoard(
  redis: RedisConnection,
  listener: Listener,
  signal: AbortSignal,
): Promise<ReplyBoard> {
  const closed = new AbortController()
  const close = await listen(redis, listener, signal)
  const say = async (id: RenderId, { hint, value }: { hint: Hint; value: string | Buffer }, until: AbortSignal) => {
    await redis.call((client) => client.set(keyOf(id, hint), value, 'PX', REPLY_KEPT_MS), until)
    await redis.call((client) => client.publish(CHANNEL, `${hint} ${id}`), until)
  }
  const says = async (id: RenderId, hint: Hint, until: AbortSignal) =>
    (await redis.call((client) => client.exists(keyOf(id, hint)), until)) === 1
  return {
    post: (id, hint) => say(id, { hint, value: '' }, closed.signal),
    async answer(id, reply, until) {
      if (!(await says(id, 'gone', until))) await say(id, { hint: 'answered', value: encode(reply) }, until)
    },
    says: (id, hint) => says(id, hint, closed.signal),
    async read(id) {
      const key = keyOf(id, 'answered')
      // Not GETDEL: sent again after a broken connection, it would find nothing.
      const bytes = await redis.call((client) => client.getBuffer(key), closed.signal)
      if (bytes === null) return undefined
      // Nobody waits for it to be gone, and it expires anyway.
      redis.call((client) => client.unlink(key), closed.signal).catch(() => undefined)
      return decode(bytes)
    },
    async [Symbol.asyncDispose]() {
      closed.abort(new Unavailable('the reply channel was closed'))
      close()
    },
  }
}

/** Hears on a connection of its own, as one that is subscribed may do nothing else. Gives what ends it. */
async function listen(redis: RedisConnection, listener: Listener, signal: AbortSignal): Promise<() => void> {
  const client = await redis.fork(signal)
  client.on('message', (_channel: string, message: string) => {
    const [word, id = ''] = message.split(' ')
    const hint = HINTS.find((known) => known === word)
    // Only this module publishes here. An id that is none is one nobody waits for.
    if (hint !== undefined) listener.hear(hint, id as RenderId)
  })
  try {
    await abortable(client.subscribe(CHANNEL), signal)
  } catch (cause) {
    client.disconnect()
    signal.throwIfAborted()
    throw new Unavailable('cannot listen for replies', { cause })
  }
  client.on('ready', () => {
    // Should this connection break too, it will be ready once more.
    client.subscribe(CHANNEL).then(
      () => listener.onReturn(),
      () => undefined,
    )
  })
  return () => client.disconnect()
}

function keyOf(id: RenderId, hint: Hint): string {
  return `${CHANNEL}:{${id}}:${hint}`
}

/** A line of JSON, and the PDF behind it as it is. */
function encode(reply: Reply): Buffer {
  const { pdf, ...head } = { pdf: new Uint8Array(), ...reply }
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), pdf])
}

function decode(bytes: Buffer): Reply {
  const end = bytes.indexOf(NEWLINE)
  // Written by `encode`, and by nobody else.
  const head = JSON.parse(bytes.toString('utf8', 0, end)) as Reply
  const pdf = new Uint8Array(bytes.buffer, bytes.byteOffset + end + 1, bytes.length - end - 1)
  return head.kind === 'rendered' ? { ...head, pdf } : head
}
