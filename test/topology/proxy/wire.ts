/**
 * What passes between the service and its servers, message by message. Kafka says how long each is. Of Redis and S3 one piece as it
 * came is taken for one: commands and the heads of requests are small and written whole. What is encrypted, as with Kubernetes, has no
 * messages to be seen.
 */

export type Protocol = 'kafka' | 'redis' | 's3' | 'kubernetes'

export interface Description {
  /** For patterns, one character a byte: `kafka:0 …` with the number of the API for a request of Kafka, else as it is. */
  readonly text: string
  /** The same for a request and its answer. */
  readonly answeredBy: string
}

export interface Splitter {
  /** The messages that are complete with this piece. */
  split(chunk: Buffer): readonly Buffer[]
  describe(message: Buffer): Description
}

const LENGTH_BYTES = 4

/** The splitter for one direction of one connection. */
export function splitterOf(protocol: Protocol, direction: 'request' | 'answer'): Splitter {
  if (protocol !== 'kafka') return { split: (chunk) => [chunk], describe: describePiece }
  return { split: framesOfKafka(), describe: direction === 'request' ? describeRequest : describeAnswer }
}

/** Both protocols answer in the order of the requests, and each connection waits for one answer at a time, or holds back the more. */
function describePiece(piece: Buffer): Description {
  return { text: piece.toString('latin1'), answeredBy: 'next' }
}

/** Each begins with its length. */
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

/** After the length: the number of the API (2 bytes), its version (2), and the number of the request (4). */
function describeRequest(message: Buffer): Description {
  const [api, number] = [message.readInt16BE(LENGTH_BYTES), message.readInt32BE(LENGTH_BYTES + 4)]
  return { text: `kafka:${api} ${message.toString('latin1')}`, answeredBy: `${number}` }
}

/** After the length: the number of the request. */
function describeAnswer(message: Buffer): Description {
  return { text: '', answeredBy: `${message.readInt32BE(LENGTH_BYTES)}` }
}
