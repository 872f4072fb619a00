import * as fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { hurriedClock } from '../../time/hurried-clock.ts'
import { poll } from '../../time/poll.ts'
import { type Followed, type FollowedOptions, follow } from './followed.ts'
import { aScriptedApi, EXPIRED, type Fault, NOTES, type ScriptedApi, said, statusAnswer } from './scripted-api.ts'

const WATCH_FAULTS: Readonly<Record<string, Fault>> = {
  'HTTP 500': statusAnswer(500, 'InternalError'),
  'HTTP 429 with Retry-After': statusAnswer(429, 'TooManyRequests', { 'retry-after': '1' }),
  'HTTP 503 without a Status': (response) => void response.writeHead(503).end('the server is starting\n'),
  'ERROR 500 and an open connection': (response) => {
    response.writeHead(200).write(`${JSON.stringify({ type: 'ERROR', object: { ...EXPIRED, code: 500 } })}\n`)
  },
  'a line that was cut off': said('{"type":"ADDED","object":{"metadata":{"na'),
  'a line that is no JSON': said('nonsense\n'),
  'a line that is no event': said('{"type":"ADDED","object":{}}\n'),
  'nothing at all': said(''),
  'a RST': (response) => void response.socket?.resetAndDestroy(),
  'a FIN before any answer': (response) => void response.socket?.end(),
  'a FIN in the midst': (response) => {
    response.writeHead(200).write('{"type":"BOOKMARK"')
    response.socket?.end()
  },
}

const LIST_FAULTS: Readonly<Record<string, Fault>> = {
  'HTTP 500': statusAnswer(500, 'InternalError'),
  'HTTP 503 with Retry-After': statusAnswer(503, 'ServiceUnavailable', { 'retry-after': '1' }),
  'HTTP 429 with a long Retry-After': statusAnswer(429, 'TooManyRequests', { 'retry-after': '7' }),
  'half of an answer': (response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('{"kind":"NoteList","items":[')
    response.socket?.end()
  },
  'no JSON': said('{"kind":"NoteList",'),
  'no list': said('{"kind":"NoteList","metadata":{}}'),
  'a RST': (response) => void response.socket?.resetAndDestroy(),
}

let stack: AsyncDisposableStack
let api: ScriptedApi
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  api = stack.use(await aScriptedApi())
  return () => stack.disposeAsync()
})

/** Follows the scripted API server, and has all its objects. */
async function followed(options: Partial<FollowedOptions> = {}): Promise<Followed> {
  const informer = stack.use(follow({ config: api.config, of: NOTES, ...options }))
  await informer.synced
  await poll(() => api.watching()).until((count) => count > 0)
  return informer
}

/** What it has and what it has told are what a list would give. */
async function isCurrent(informer: Followed): Promise<void> {
  const listed = api.listed()
  await poll(() => informer.seen()).until((seen) => JSON.stringify(sorted(seen)) === JSON.stringify(sorted(listed)))
  expect(sorted(informer.notified())).toEqual(sorted(listed))
}

function sorted(record: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1))
}

function listsAsked(): number {
  return api.asked.filter((asked) => asked === 'list').length
}

describe('an informer', () => {
  test('has all objects, of however many pages, and what happens to them', async () => {
    for (let number = 0; number < 1201; number++) api.write(`note-${number}`, number)
    const informer = await followed()
    expect(api.asked.slice(0, 4)).toEqual(['list', 'page', 'page', 'watch 1202'])
    expect(informer.changes.every(({ isLive }) => !isLive)).toBe(true)
    api.write('note-1', 'changed')
    api.write('new', 'made')
    api.remove('note-2')
    await isCurrent(informer)
    expect(
      informer.changes.slice(1201).map(({ key, before, after, isLive }) => [key, before?.name, after?.name, isLive]),
    ).toEqual([
      ['note-1', 'note-1', 'note-1', true],
      ['new', undefined, 'new', true],
      ['note-2', 'note-2', undefined, true],
    ])
    expect(informer.counts).toEqual({ lists: 1, watches: 1, unread: 0 })
    expect(informer.heardAt()).toBeGreaterThan(0)
  })

  test('takes an event that comes twice for one', async () => {
    api.write('a', 1)
    const informer = await followed()
    const object = { metadata: { name: 'b', uid: 'uid-b', resourceVersion: '3' }, spec: 1 }
    const line = `${JSON.stringify({ type: 'ADDED', object })}\n`
    api.say(line + line)
    await poll(() => informer.changes.length).until((count) => count > 1)
    api.say(`${JSON.stringify({ type: 'DELETED', object })}\n`.repeat(2))
    api.write('c', 1)
    await isCurrent(informer)
    expect(informer.changes.map(({ key, after }) => [key, after !== undefined])).toEqual([
      ['a', true],
      ['b', true],
      ['b', false],
      ['c', true],
    ])
  })

  test('keeps out what it cannot read, says so once, and goes on', async () => {
    const check = (spec: unknown) => {
      if (spec === 'bad') throw new Error('it is bad')
    }
    api.write('a', 'bad')
    api.write('b', 'good')
    const informer = await followed({ check })
    api.write('a', 'bad')
    api.write('c', 'good')
    await poll(() => Object.keys(informer.seen())).until((names) => names.includes('c'))
    expect(Object.keys(informer.seen())).toEqual(['b', 'c'])
    expect(informer.logged).toEqual(['object unreadable: it is bad'])
    expect(informer.counts).toEqual({ lists: 1, watches: 1, unread: 1 })
    api.write('a', 'good')
    await isCurrent(informer)
  })

  test('tells again what could not be told, of a list and of a watch', async () => {
    let deaf = 2
    const hear = ({ key }: { readonly key: string }) => {
      if (key === 'b' && deaf-- > 0) throw new Error('not now')
    }
    for (const name of ['a', 'b']) api.write(name, 1)
    const informer = await followed({ hear })
    expect(api.asked.slice(0, 3)).toEqual(['list', 'list', 'list'])
    deaf = 2
    for (const name of ['c', 'b', 'd']) api.write(name, 2)
    await isCurrent(informer)
    expect(listsAsked()).toBe(3)
    expect(informer.changes.slice(-3).map(({ key, before }) => [key, before !== undefined])).toEqual([
      ['c', false],
      ['b', true],
      ['d', false],
    ])
  })

  test('that is closed before it has all objects says so to who waits for them', async () => {
    api.next('list', () => undefined)
    const informer = follow({ config: api.config, of: NOTES })
    await poll(() => api.asked).until((asked) => asked.length > 0)
    await informer[Symbol.asyncDispose]()
    await expect(informer.synced).rejects.toThrow()
  })
})

describe('a watch', () => {
  test.for(Object.entries(WATCH_FAULTS))('that is answered with %s is opened again where it was', async ([, fault]) => {
    api.write('a', 1)
    api.next('watch', fault, fault)
    const informer = await followed()
    api.write('b', 1)
    await isCurrent(informer)
    expect(informer.logged.length).toBeGreaterThan(0)
    expect(api.asked.filter((asked) => asked !== 'watch 2')).toEqual(['list'])
  })

  test.for(['end', 'halfClose', 'reset'] as const)('whose connection ends by %s goes on where it was', async (how) => {
    api.write('a', 1)
    const informer = await followed()
    for (let round = 0; round < 5; round++) {
      api.write('a', round)
      await isCurrent(informer)
      api.endWatches(how)
      api.write('b', round)
      await isCurrent(informer)
    }
    expect(listsAsked()).toBe(1)
  })

  test('that was cut off is waited for no longer than anybody notices', async () => {
    const clock = hurriedClock()
    const waits: number[] = []
    const sleep: typeof clock.sleep = (ms, signal) => {
      // Longer ones are somebody's patience with a silent connection.
      if (ms < 1000) waits.push(ms)
      return clock.sleep(ms, signal)
    }
    const informer = await followed({ clock: { ...clock, sleep } })
    for (let round = 0; round < 5; round++) {
      api.write('a', round)
      await isCurrent(informer)
      api.endWatches('reset')
    }
    await isCurrent(informer)
    expect(waits.length).toBeGreaterThan(0)
    expect(Math.max(...waits)).toBeLessThanOrEqual(50)
  })

  test('goes on after the last bookmark, where nothing else has happened', async () => {
    api.write('a', 1)
    const informer = await followed()
    api.bookmark()
    api.bookmark()
    api.write('b', 1)
    await isCurrent(informer)
    api.bookmark()
    api.forgetPast()
    api.endWatches('end')
    await poll(() => api.asked).until((asked) => asked.includes('watch 6'))
    expect(listsAsked()).toBe(1)
  })

  test('that is silent is taken for dead, and no failure', async () => {
    api.write('a', 1)
    // Whoever goes on with it is answered.
    api.next('watch', (response) => response.writeHead(200).flushHeaders())
    const hurried = hurriedClock()
    const clock = { ...hurried, timeout: (ms: number) => hurried.timeout(ms / 20) }
    const informer = stack.use(follow({ config: api.config, of: NOTES, clock }))
    await informer.synced
    api.write('b', 1)
    await isCurrent(informer)
    expect({ logged: informer.logged, asked: api.asked }).toEqual({ logged: [], asked: ['list', 'watch 2', 'watch 2'] })
  })

  test('that is not answered ends its connection when the informer is closed', async () => {
    const ended = Promise.withResolvers<void>()
    api.next('watch', (response) => void response.once('close', ended.resolve))
    const informer = follow({ config: api.config, of: NOTES })
    await informer.synced
    await poll(() => api.asked.length).until((count) => count === 2)
    await informer[Symbol.asyncDispose]()
    await ended.promise
  })

  test('that is refused because its past is gone begins with a list', async () => {
    api.write('a', 1)
    api.next('watch', statusAnswer(410, 'Expired'))
    const informer = await followed()
    api.write('b', 1)
    await isCurrent(informer)
    expect(api.asked).toEqual(['list', 'watch 2', 'list', 'watch 2'])
  })

  test('that has fallen too far behind begins with a list, which tells of what has vanished', async () => {
    for (const name of ['a', 'b', 'c']) api.write(name, 1)
    const informer = await followed()
    await api.close()
    api.remove('a')
    api.write('b', 2)
    api.write('d', 1)
    api.forgetPast()
    await api.open()
    await isCurrent(informer)
    expect(listsAsked()).toBe(2)
    expect(informer.changes.slice(3).map(({ key, before, isLive }) => [key, before !== undefined, isLive])).toEqual([
      ['b', true, false],
      ['d', false, false],
      ['a', true, false],
    ])
  })

  test('of a past that the API server has lost begins with a list in the end', async () => {
    for (const name of ['a', 'b', 'c']) api.write(name, 1)
    const informer = await followed()
    api.goBack(3)
    api.endWatches('reset')
    await isCurrent(informer)
    expect(Object.keys(informer.seen())).toEqual(['a', 'b'])
    expect(listsAsked()).toBe(2)
  })

  test('waits for an API server that is away, and lists nothing again', async () => {
    api.write('a', 1)
    const informer = await followed()
    await api.close()
    api.write('b', 1)
    await poll(() => informer.logged.length).until((count) => count > 5)
    await api.open()
    await isCurrent(informer)
    expect(listsAsked()).toBe(1)
  })
})

describe('a list', () => {
  test.for(Object.entries(LIST_FAULTS))('that is answered with %s is asked for again', async ([, fault]) => {
    api.write('a', 1)
    api.next('list', fault, fault)
    const informer = await followed()
    await isCurrent(informer)
    expect(api.asked).toEqual(['list', 'list', 'list', 'watch 2'])
  })

  test('whose pages have expired begins again, and is here as a whole or not at all', async () => {
    for (let number = 0; number < 501; number++) api.write(`note-${number}`, number)
    api.next('page', statusAnswer(410, 'Expired'), statusAnswer(410, 'Expired'))
    const informer = await followed()
    await isCurrent(informer)
    expect(api.asked.slice(0, 6)).toEqual(['list', 'page', 'list', 'page', 'list', 'page'])
    expect(informer.changes).toHaveLength(501)
  })

  test('of objects that are too large for one answer comes in smaller pages', async () => {
    for (let number = 0; number < 170; number++) api.write(`note-${number}`, 'x'.repeat(200 * 1024))
    const informer = await followed()
    await isCurrent(informer)
    expect(api.asked).toEqual(['list', 'list', 'page', 'watch 171'])
  })
})

test('whatever happens, in whatever order: in the end all is here as a list would give it, and nobody was stormed', async () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd')
  const fault = fc.constantFrom(...Object.values(WATCH_FAULTS))
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('write' as const), name }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('end' as const), how: fc.constantFrom('end', 'halfClose', 'reset') }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('fault' as const), fault }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('bookmark', 'forget', 'settle', 'expire') }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      await using scripted = await aScriptedApi()
      await using informer = follow({ config: scripted.config, of: NOTES })
      await informer.synced
      let expiries = 0
      for (const step of steps) {
        if (step.do === 'write') scripted.write(step.name, 1)
        else if (step.do === 'remove') scripted.remove(step.name)
        else if (step.do === 'end') scripted.endWatches(step.how)
        else if (step.do === 'fault') scripted.next('watch', step.fault)
        else if (step.do === 'bookmark') scripted.bookmark()
        else if (step.do === 'settle') await poll(() => scripted.watching()).until((count) => count > 0)
        else {
          expiries += 1
          scripted.forgetPast()
          scripted.endWatches('reset')
        }
      }
      const listed = JSON.stringify(sorted(scripted.listed()))
      await poll(() => JSON.stringify(sorted(informer.seen()))).until((seen) => seen === listed)
      expect(JSON.stringify(sorted(informer.notified()))).toBe(listed)
      expect(informer.counts.lists).toBeLessThanOrEqual(1 + expiries)
    }),
    { numRuns: 40 },
  )
})
