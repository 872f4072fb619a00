import { manualClock } from '@platen/adapters/memory/clock.ts'
import { describe, expect, test } from 'vitest'
import { NEVER, SILENT } from '../../test/fixture/build.ts'
import { Unavailable } from './port/unavailable.ts'
import { retrying } from './retry.ts'

/** A port with private fields, which is unavailable for the first `refusals` calls. */
class Store {
  #refusals: number
  readonly calls: string[] = []

  constructor(refusals: number) {
    this.#refusals = refusals
  }

  async get(key: string, _signal: AbortSignal): Promise<string> {
    return this.#answer(`get ${key}`)
  }

  async has(key: string, _signal: AbortSignal): Promise<string> {
    return this.#answer(`has ${key}`)
  }

  #answer(call: string): string {
    this.calls.push(call)
    if (this.#refusals-- > 0) throw new Unavailable('no answer')
    return call
  }
}

function aPort(refusals: number) {
  const clock = manualClock(0)
  const store = new Store(refusals)
  return { clock, store, port: retrying(store, ['get'], { clock, log: SILENT, waitMsMax: 2000 }) }
}

describe('a port that repeats calls', () => {
  test('answers when it is available again, after waits that double up to the longest', async () => {
    const { clock, store, port } = aPort(4)
    const answer = port.get('a', NEVER)
    await clock.advance(0)
    for (const [at, waitMs] of [500, 1000, 2000, 2000].entries()) {
      await clock.advance(waitMs - 1)
      expect(store.calls).toHaveLength(at + 1)
      await clock.advance(1)
    }
    expect(await answer).toBe('get a')
  })

  test('makes a call once if it is not among those to repeat', async () => {
    const { store, port } = aPort(1)
    await expect(port.has('a', NEVER)).rejects.toThrow(Unavailable)
    expect(store.calls).toEqual(['has a'])
  })

  test('does not repeat after another error', async () => {
    const port = retrying(
      { get: (_key: string, _signal: AbortSignal) => Promise.reject(new TypeError('a defect')) },
      ['get'],
      { clock: manualClock(0), log: SILENT },
    )
    await expect(port.get('a', NEVER)).rejects.toThrow('a defect')
  })

  test('tries once and gives up with the reason of the signal if that has aborted', async () => {
    const { store, port } = aPort(1)
    await expect(port.get('a', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
    expect(store.calls).toEqual(['get a'])
  })
})
