/** The two ends of a browser's pipe as a transport for puppeteer, with the budgets of `message-reader.ts`. */
import type { Readable, Writable } from 'node:stream'
import type { ConnectionTransport } from 'puppeteer'
import { type MessageReader, openMessageReader } from './message-reader.ts'

export interface PipeTransport extends ConnectionTransport, Pick<MessageReader, 'budgetOf' | 'bytesRead'> {}

export function openPipeTransport({
  input,
  output,
}: {
  readonly input: Writable
  readonly output: Readable
}): PipeTransport {
  const reader = openMessageReader({
    // What waits for a message goes on before the next.
    message: (text) => void setImmediate(() => transport.onmessage?.(text)),
    excess: (budget, method) => void setImmediate(() => budget.onspent?.(method)),
  })
  const transport: PipeTransport = {
    send: (message) => void input.write(`${message}\0`),
    close: () => void output.destroy(),
    budgetOf: (sessionId) => reader.budgetOf(sessionId),
    bytesRead: () => reader.bytesRead(),
  }
  output.on('data', (data: Buffer) => reader.read(data))
  output.once('close', () => transport.onclose?.())
  // Whatever breaks the pipe also closes its other end.
  for (const stream of [input, output]) stream.on('error', () => output.destroy())
  return transport
}
