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
    // `setImmediate`: code that waited for a message continues before the next one.
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
  // An error of one end also closes the other.
  for (const stream of [input, output]) stream.on('error', () => output.destroy())
  return transport
}
