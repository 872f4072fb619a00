import { expect, test } from 'vitest'
import { NEVER, SILENT } from '../../test/fixture/build.ts'
import { manualClock } from '../../test/fixture/memory/clock.ts'
import { retrying, retryWhileUnavailable } from './retry.ts'
import { Unavailable } from './unavailable.ts'

/** Refuses the first calls. Its private field can be read only if `this` is the store itself. */
class Store {
  readonly #refusals: Error[]
  calls = 0

  constructor(refusals: readonly Error[]) {
    this.#refusals = [...refusals]
  }

  async get(key: string, _signal: AbortSignal): Promise<string> {
    this.calls += 1
    const refusal = this.#refusals.shift()
    if (refusal !== undefined) throw refusal
    return key
  }

  async has(key: string, signal: AbortSignal): Promise<boolean> {
    return (await this.get(key, signal)) === key
  }
}

function aPort(...refusals: readonly Error[]) {
  const clock = manualClock()
  const store = new Store(refusals)
  return {
    clock,
    store,
    port: retrying(store, ['get'], { clock, log: SILENT, dependency: 'artifact store', waitMsMax: 2000 }),
  }
}

const AWAY = new Unavailable('no answer')

test('a call answers when its port is available again, after waits that double up to the longest', async () => {
  const { clock, store, port } = aPort(AWAY, AWAY, AWAY, AWAY)
  const answer = port.get('a', NEVER)
  await clock.advance(0)
  for (const [at, waitMs] of [500, 1000, 2000, 2000].entries()) {
    await clock.advance(waitMs - 1)
    expect(store.calls).toBe(at + 1)
    await clock.advance(1)
  }
  expect(await answer).toBe('a')
})

test('a call that is not to be repeated is made once', async () => {
  const { store, port } = aPort(AWAY)
  await expect(port.has('a', NEVER)).rejects.toThrow(AWAY)
  expect(store.calls).toBe(1)
})

test('a call that fails for another reason is made once', async () => {
  const { store, port } = aPort(new TypeError('a defect'))
  await expect(port.get('a', NEVER)).rejects.toThrow('a defect')
  expect(store.calls).toBe(1)
})

test('a call that is under way when its repeats must end goes on, and is not repeated', async () => {
  const options = { clock: manualClock(), log: SILENT, dependency: 'event log', operation: 'append', signal: NEVER }
  const [until, answers] = [new AbortController(), [Promise.withResolvers<string>(), Promise.withResolvers<string>()]]
  const calls = answers.map(({ promise }) =>
    retryWhileUnavailable(() => promise, { ...options, repeatUntil: until.signal }),
  )
  until.abort(new Error('the drain began'))
  answers[0]?.resolve('a')
  answers[1]?.reject(AWAY)
  expect(await calls[0]).toBe('a')
  await expect(calls[1]).rejects.toThrow('the drain began')
})

test('a call whose signal has aborted is made once, and rejects with the reason of the signal', async () => {
  const { store, port } = aPort(AWAY)
  await expect(port.get('a', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
  expect(store.calls).toBe(1)
})
