/**
 * The thread that owns the connection. While a commit flushes the disk, commands collect in the mailbox; the next commit takes all of them.
 * So the busier the service, the more renders share a flush, and an idle service never waits.
 */
import assert from 'node:assert/strict'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { type Command, type Connection, openConnection } from './connection.ts'
import type { ToDatabase, ToThread } from './database.ts'
import { COMMANDS_PER_COMMIT_MAX } from './limit.ts'

assert(parentPort !== null, 'this module is the entry of a thread')
const mailbox = parentPort
const { path } = workerData
assert(typeof path === 'string')

const send = (message: ToDatabase) => mailbox.postMessage(message, [])

try {
  serve(openConnection(path))
} catch (cause) {
  // Sent instead of thrown, since errors lose their class between threads. Without a listener the thread then ends.
  const { name, message } = cause instanceof Error ? cause : new Error(String(cause))
  send({ kind: 'refused', name, message })
}

function serve(connection: Connection): void {
  mailbox.on('message', (first: ToThread) => {
    const calls: number[] = []
    const commands: Command[] = []
    let message: ToThread | undefined = first
    for (; message?.kind === 'run'; message = calls.length < COMMANDS_PER_COMMIT_MAX ? take() : undefined) {
      for (const { call, command } of message.calls) {
        calls.push(call)
        commands.push(command)
      }
    }
    // An error here ends the thread and all waiting calls. So no call is answered that may not be durable.
    if (commands.length > 0) send({ kind: 'answered', calls, answers: connection.run(commands) })
    if (message?.kind === 'close') {
      connection.close()
      mailbox.close()
    }
  })
  send({ kind: 'opened' })
}

function take(): ToThread | undefined {
  return receiveMessageOnPort(mailbox)?.message
}
