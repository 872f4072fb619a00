/** Messages of the log are constants, each with one meaning, and docs/logs.md says for each what it means and what to do. */
import { expect, test } from 'vitest'
import { explainedMessages } from './architecture/explained-message.ts'
import { allLogCalls, logCallsOf, logMessages } from './architecture/log-call.ts'

/** Messages that mean the same in several modules. */
const SHARED = ['drain started', 'process started', 'record dead-lettered', 'unknown settings ignored']

const calls = allLogCalls()

test('every message is a constant', () => {
  expect(calls.filter(({ message }) => message === undefined)).toEqual([])
})

test('a message is in one module, unless it means the same in several', () => {
  const several = [...logMessages(calls)].filter(([, { files }]) => files.size > 1).map(([message]) => message)
  expect(several).toEqual(SHARED)
})

test('every message says in plain words and lower case what happened', () => {
  const messages = calls.map(({ message = '' }) => message)
  expect(messages.filter((message) => !/^[a-z][a-z0-9 ,-]{4,79}$/.test(message))).toEqual([])
})

test('docs/logs.md explains every message and no other, with what to do', () => {
  const explained = explainedMessages()
  expect([...explained.keys()]).toEqual([...logMessages(calls).keys()])
  const incomplete = [...explained].filter(([, cells]) => Object.values(cells).some((cell) => cell.length < 3))
  expect(incomplete).toEqual([])
})

test('calls are found however the log is reached, and messages that are no constants too', () => {
  const text = `
    log.warn({}, 'one')
    this.#options.log.error({ err }, 'two')
    logTolerated(log, { err }, 'three')
    ports.log.info({}, \`\${name} started\`)
    console.warn({}, 'four')
    meter.info({}, 'five')
    'log.info({}, "six")'`
  expect(logCallsOf('x.ts', text).map(({ levels, message }) => [levels.join(), message])).toEqual([
    ['warn', 'one'],
    ['error', 'two'],
    ['warn,debug', 'three'],
    ['info', undefined],
  ])
})
