import { Writable } from 'node:stream'
import { type Cluster, Command, type Redis } from 'ioredis'

interface KeptBytes {
  readonly key: string
  /** Must not change until Redis has answered. */
  readonly bytes: Buffer
  readonly keptMs: number
}

/**
 * Sets the value of a key that expires, without a copy of the value. The client's own SET copies the whole command into one buffer, which
 * V8 soon has to collect.
 */
export async function setBytes(client: Redis | Cluster, { key, bytes, keptMs }: KeptBytes): Promise<void> {
  await client.sendCommand(new SetBytes(key, bytes, keptMs))
}

class SetBytes extends Command {
  readonly #head: string
  readonly #bytes: Buffer
  readonly #tail: string

  constructor(key: string, bytes: Buffer, keptMs: number) {
    super('set', [key, bytes, 'PX', `${keptMs}`])
    this.#head = `*5\r\n${bulk('set')}${bulk(key)}$${bytes.length}\r\n`
    this.#bytes = bytes
    this.#tail = `\r\n${bulk('PX')}${bulk(`${keptMs}`)}`
  }

  /** The client writes the result to the connection. */
  override toWritable(connection: object): string | Buffer {
    if (!(connection instanceof Writable)) return super.toWritable(connection)
    // All three parts go out in one system call.
    connection.cork()
    process.nextTick(() => connection.uncork())
    connection.write(this.#head)
    connection.write(this.#bytes)
    return this.#tail
  }
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`
}
