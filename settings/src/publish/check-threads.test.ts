import { manualClock } from '@platen/adapters/memory/clock.ts'
import type { CheckFault, CheckRequest } from '@platen/contract/template-check.ts'
import { expect, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { aTemplateResource } from '../../../test/fixture/resource.ts'
import { checkRequestsOf } from '../compile/template.ts'
import { openCheckThreads } from './check-threads.ts'
import { CHECK_ALONE_MS_MAX, CHECK_THREADS_IDLE_MS } from './limit.ts'

const [REQUEST] = checkRequestsOf([aTemplateResource()], new Map()).values().toArray() as [CheckRequest]

function counted() {
  const clock = manualClock()
  const threads = { opened: 0, closed: 0 }
  const asked: PromiseWithResolvers<readonly CheckFault[]>[] = []
  const open = () => {
    threads.opened++
    return {
      run: () => {
        const answer = Promise.withResolvers<readonly CheckFault[]>()
        asked.push(answer)
        return answer.promise
      },
      [Symbol.asyncDispose]: async () => void threads.closed++,
    }
  }
  return { clock, threads, asked, checks: openCheckThreads({ open, clock }) }
}

test('no thread is there before anything is checked, nor when nothing was for a while', async () => {
  const { clock, threads, asked, checks } = counted()
  expect(threads).toEqual({ opened: 0, closed: 0 })
  const [one, other] = [checks.check(REQUEST, NEVER), checks.check(REQUEST, NEVER)]
  expect(threads).toEqual({ opened: 1, closed: 0 })
  await clock.advance(CHECK_ALONE_MS_MAX)
  asked[0]?.resolve([])
  await one
  await clock.advance(2 * CHECK_THREADS_IDLE_MS)
  expect(threads).toEqual({ opened: 1, closed: 0 })
  asked[1]?.reject(new Error('the thread has ended'))
  await expect(other).rejects.toThrow('the thread has ended')
  await clock.advance(CHECK_THREADS_IDLE_MS - 1)
  expect(threads).toEqual({ opened: 1, closed: 0 })
  await clock.advance(1)
  expect(threads).toEqual({ opened: 1, closed: 1 })
})

test('a check in between keeps them, and one afterwards has them opened anew', async () => {
  const { clock, threads, asked, checks } = counted()
  const checked = async () => {
    const answer = checks.check(REQUEST, NEVER)
    asked.at(-1)?.resolve([])
    await answer
  }
  await checked()
  await clock.advance(CHECK_THREADS_IDLE_MS - 1)
  await checked()
  await clock.advance(CHECK_THREADS_IDLE_MS - 1)
  expect(threads).toEqual({ opened: 1, closed: 0 })
  await clock.advance(1)
  await checked()
  expect(threads).toEqual({ opened: 2, closed: 1 })
  await checks[Symbol.asyncDispose]()
  expect(threads).toEqual({ opened: 2, closed: 2 })
})

test('they are there before a check that is expected, and close if none comes', async () => {
  const { clock, threads, asked, checks } = counted()
  checks.prepare()
  expect(threads).toEqual({ opened: 1, closed: 0 })
  await clock.advance(CHECK_THREADS_IDLE_MS - 1)
  const answer = checks.check(REQUEST, NEVER)
  asked[0]?.resolve([])
  await answer
  checks.prepare()
  await clock.advance(CHECK_THREADS_IDLE_MS - 1)
  expect(threads).toEqual({ opened: 1, closed: 0 })
  await clock.advance(1)
  checks.prepare()
  expect(threads).toEqual({ opened: 2, closed: 1 })
  await clock.advance(CHECK_THREADS_IDLE_MS)
  expect(threads).toEqual({ opened: 2, closed: 2 })
})

test('checks follow each other on one thread, however many there are', async () => {
  const { clock, asked, checks } = counted()
  const all = Array.from({ length: 5 }, () => checks.check(REQUEST, NEVER))
  for (const [i, one] of all.entries()) {
    await clock.advance(CHECK_ALONE_MS_MAX - 1)
    expect(asked).toHaveLength(i + 1)
    asked[i]?.resolve([])
    await one
  }
})

test('the next check begins beside one that takes long', async () => {
  const { clock, asked, checks } = counted()
  const [one] = [checks.check(REQUEST, NEVER), checks.check(REQUEST, NEVER), checks.check(REQUEST, NEVER)]
  expect(asked).toHaveLength(1)
  asked[0]?.resolve([])
  await one
  await clock.advance(0)
  expect(asked).toHaveLength(2)
  await clock.advance(CHECK_ALONE_MS_MAX - 1)
  expect(asked).toHaveLength(2)
  await clock.advance(1)
  expect(asked).toHaveLength(3)
  void checks.check(REQUEST, NEVER)
  await clock.advance(CHECK_ALONE_MS_MAX)
  expect(asked).toHaveLength(4)
})

test('a check that is no longer wanted does not wait for its turn', async () => {
  const { asked, checks } = counted()
  void checks.check(REQUEST, NEVER)
  await expect(checks.check(REQUEST, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  expect(asked).toHaveLength(1)
})
