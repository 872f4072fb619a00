/**
 * Splits the traffic between the service and its servers into messages. Kafka messages carry their length. For Redis and S3, one chunk
 * counts as one message: commands and request heads are small and written whole. Encrypted traffic, as with Kubernetes, cannot be split.
 */

export type Protocol = 'kafka' | 'redis' | 's3' | 'kubernetes'

export interface Description {
  /**
   * Text for patterns, one character a byte. A Kafka request starts with the number of its API: `kafka:0 …`. Other messages are unchanged.
   */
  readonly text: string
  /** Key that a request and its answer share. */
  readonly answeredBy: string
}

export interface Splitter {
  /** Returns the messages that this chunk completes. */
  split(chunk: Buffer): readonly Buffer[]
  describe(message: Buffer): Description
}

const LENGTH_BYTES = 4

export function splitterOf(protocol: Protocol, direction: 'request' | 'answer'): Splitter {
  if (protocol !== 'kafka') return { split: (chunk) => [chunk], describe: describePiece }
  return { split: framesOfKafka(), describe: direction === 'request' ? describeRequest : describeAnswer }
}

/** Redis and S3 answer in the order of the requests. A connection has one request under way, or holds back the others. */
function describePiece(piece: Buffer): Description {
  return { text: piece.toString('latin1'), answeredBy: 'next' }
}

/** Each message starts with its length. */
function framesOfKafka(): Splitter['split'] {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const messages: Buffer[] = []
    while (rest.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + rest.readInt32BE(0)
      if (rest.length < end) break
      messages.push(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
    return messages
  }
}

/** After the length: API number (2 bytes), API version (2), and request number (4). */
function describeRequest(message: Buffer): Description {
  const [api, number] = [message.readInt16BE(LENGTH_BYTES), message.readInt32BE(LENGTH_BYTES + 4)]
  return { text: `kafka:${api} ${message.toString('latin1')}`, answeredBy: `${number}` }
}

/** After the length: the request number. */
function describeAnswer(message: Buffer): Description {
  return { text: '', answeredBy: `${message.readInt32BE(LENGTH_BYTES)}` }
}
