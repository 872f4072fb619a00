import { ServiceError } from '@platen/contract/domain/error.ts'
import type { TemplateDigest } from '@platen/contract/domain/tenant.ts'
import type { Egress, FetchedFile } from '@platen/contract/port/egress.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { aRenderWork } from '../../../test/fixture/render/work.ts'
import type { RenderWork } from '../port/engine.ts'
import { FilesNeeded } from '../template/asset/remote-images.ts'
import { EGRESS_CACHE_BYTES_MAX, EGRESS_CACHE_MS } from './limit.ts'
import { EGRESS_AT_ONCE_MAX, NO_REMOTE_FILES, openRemoteFiles, type RemoteFiles } from './remote-files.ts'

const URL_OF_IT = 'https://a.test/a.png'

/** An egress whose answers, and their time, are up to the test. */
interface Call {
  readonly url: string
  readonly hosts: readonly string[]
  readonly signal: AbortSignal
  answer(fetched: FetchedFile): void
  fail(error: unknown): void
}

const work: RenderWork = aRenderWork({ template: { allowedHosts: ['a.test'] } })
let calls: Call[]
let clock: ReturnType<typeof manualClock>
let remote: RemoteFiles

beforeEach(() => {
  calls = []
  clock = manualClock()
  const egress: Egress = {
    get: (url, hosts, signal) =>
      new Promise((answer, fail) => {
        calls.push({ url, hosts, signal, answer, fail })
      }),
  }
  remote = openRemoteFiles({ egress, clock })
})

const bytesOf = (text: string): FetchedFile => ({ bytes: Buffer.from(text), type: 'text/plain' })
const turn = () => clock.advance(0)

/** Fetches a file and answers the request. */
async function fetched(of: RenderWork, text: string, url = URL_OF_IT): Promise<string> {
  const before = calls.length
  const result = remote.fetch(of, url, NEVER)
  await turn()
  calls[before]?.answer(bytesOf(text))
  return Buffer.from((await result).bytes).toString()
}

describe('a file', () => {
  test('is fetched from the hosts of its template, and named by its URL and its bytes', async () => {
    const result = remote.fetch(work, URL_OF_IT, NEVER)
    await turn()
    calls[0]?.answer(bytesOf('x'))
    const { name, digest, type, bytes } = await result
    expect([name, type, digest.slice(0, 8), bytes.buffer]).toEqual([
      URL_OF_IT,
      'text/plain',
      '2d711642',
      expect.any(SharedArrayBuffer),
    ])
    expect(calls.map(({ url, hosts }) => [url, hosts])).toEqual([[URL_OF_IT, ['a.test']]])
  })

  test('is cached for a while, and then fetched again', async () => {
    expect(await fetched(work, 'old')).toBe('old')
    await clock.advance(EGRESS_CACHE_MS - 1)
    expect(await fetched(work, 'new')).toBe('old')
    await clock.advance(1)
    expect(await fetched(work, 'new')).toBe('new')
    expect(await fetched(work, 'newer')).toBe('new')
  })

  test.for<[string, { readonly of?: string; readonly digest?: TemplateDigest }, string]>([
    ['tenant', { of: 'globex' }, URL_OF_IT],
    ['template', { digest: 'other' as TemplateDigest }, URL_OF_IT],
    ['address', {}, `${URL_OF_IT}?other`],
  ])('is nobody’s of another %s', async ([, { of, ...fields }, url]) => {
    const other = { ...work, ...aRenderWork({ tenant: of ?? 'acme', digest: work.digest, ...fields }) }
    expect(await fetched(work, 'mine')).toBe('mine')
    expect(await fetched(other, 'theirs', url)).toBe('theirs')
    expect(await fetched(work, 'none')).toBe('mine')
  })

  test('that could not be fetched is tried again', async () => {
    const result = remote.fetch(work, URL_OF_IT, NEVER)
    await turn()
    calls[0]?.fail(new ServiceError('asset_unavailable', 'not today'))
    await expect(result).rejects.toThrow('not today')
    expect(await fetched(work, 'now')).toBe('now')
  })

  test('is given up for others, the one that was used longest ago first', async () => {
    const url = (at: number) => `${URL_OF_IT}?${at}`
    const count = 6
    const large = 'x'.repeat(Math.floor(EGRESS_CACHE_BYTES_MAX / count))
    for (let at = 0; at <= count; at += 1) await fetched(work, large, url(at))
    await fetched(work, 'again', url(count))
    expect(calls).toHaveLength(count + 1)
    expect(await fetched(work, 'again', url(0))).toBe('again')
  })
})

describe('a file that several want at once', () => {
  test('is fetched once', async () => {
    const results = [1, 2, 3].map(() => remote.fetch(work, URL_OF_IT, NEVER))
    await turn()
    calls[0]?.answer(bytesOf('one'))
    const files = await Promise.all(results)
    expect([calls.length, new Set(files).size]).toEqual([1, 1])
  })

  test('is fetched for those who stay when one has gone, and no longer when all have', async () => {
    const [one, other] = [new AbortController(), new AbortController()]
    const results = [one, other].map(({ signal }) => remote.fetch(work, URL_OF_IT, signal).catch(String))
    await turn()
    one.abort('one is gone')
    await turn()
    expect(calls[0]?.signal.aborted).toBe(false)
    other.abort('all are gone')
    expect(await Promise.all(results)).toEqual(['one is gone', 'all are gone'])
    expect(calls[0]?.signal.aborted).toBe(true)
    // The next caller does not get what remains of the first download.
    expect(await fetched(work, 'anew')).toBe('anew')
  })
})

test(`a tenant fetches ${EGRESS_AT_ONCE_MAX} files at once, and waits for none of another`, async () => {
  const urls = Array.from({ length: EGRESS_AT_ONCE_MAX + 2 }, (_, at) => `${URL_OF_IT}?${at}`)
  const gone = new AbortController()
  const results = urls.map((url, at) => remote.fetch(work, url, at === EGRESS_AT_ONCE_MAX ? gone.signal : NEVER))
  await turn()
  expect(calls).toHaveLength(EGRESS_AT_ONCE_MAX)
  const other = remote.fetch({ ...work, ...aRenderWork({ tenant: 'globex' }) }, URL_OF_IT, NEVER)
  await turn()
  expect(calls).toHaveLength(EGRESS_AT_ONCE_MAX + 1)
  // A caller that leaves while it waits does not use up a place.
  gone.abort(new Error('gone'))
  await expect(results[EGRESS_AT_ONCE_MAX]).rejects.toThrow('gone')
  calls[0]?.fail(new Error('failed'))
  await expect(results[0]).rejects.toThrow('failed')
  await turn()
  expect(calls.map(({ url }) => url)).toEqual([...urls.slice(0, EGRESS_AT_ONCE_MAX), URL_OF_IT, urls.at(-1)])
  for (const call of calls) call.answer(bytesOf('x'))
  await Promise.all([other, ...results.slice(1, EGRESS_AT_ONCE_MAX), results.at(-1)])
})

describe('a task', () => {
  const namesOf = ({ fetched = [] }: RenderWork) => fetched.map(({ name }) => name)
  /** Needs these files, one after the other. */
  const wanting =
    (...urls: string[]) =>
    async (each: RenderWork) => {
      const missing = urls.find((url) => !namesOf(each).includes(url))
      if (missing !== undefined) throw new FilesNeeded([missing])
      return namesOf(each)
    }
  const supplied = async (task: (work: RenderWork) => Promise<unknown>) => {
    const result = remote.runWithFiles(work, task, NEVER).catch((error: unknown) => error)
    for (let round = 0; round < 10; round += 1) {
      await turn()
      for (const call of calls) call.answer(bytesOf(call.url))
    }
    return await result
  }

  test('is run until it has what it wants, and the next time at once', async () => {
    const runs: (readonly string[])[] = []
    const task = async (each: RenderWork) => {
      runs.push(namesOf(each))
      return await wanting('https://a.test/1', 'https://a.test/2')(each)
    }
    expect(await supplied(task)).toEqual(['https://a.test/1', 'https://a.test/2'])
    await supplied(task)
    expect(runs.map(({ length }) => length)).toEqual([0, 1, 2, 2])
    expect(calls).toHaveLength(2)
  })

  test('is not run for ever', async () => {
    let page = 0
    const task = async () => {
      page += 1
      throw new FilesNeeded([`https://a.test/${page}`])
    }
    expect(await supplied(task)).toMatchObject({
      code: 'template_error',
      message: expect.stringContaining('each time'),
    })
    expect(page).toBe(5)
  })

  test('that fails by itself fails', async () => {
    expect(await supplied(() => Promise.reject(new Error('its own')))).toEqual(new Error('its own'))
  })

  test('fails when one of its files does, and the others are not waited for', async () => {
    const urls = ['https://a.test/1', 'https://a.test/2']
    const result = remote.runWithFiles(work, () => Promise.reject(new FilesNeeded(urls)), NEVER)
    await turn()
    calls[1]?.fail(new ServiceError('asset_unavailable', 'no'))
    await expect(result).rejects.toThrow('no')
    expect(calls[0]?.signal.aborted).toBe(true)
  })

  test('is given nothing where nothing is fetched', async () => {
    const failed = expect.objectContaining({ code: 'asset_unavailable', message: 'this process fetches no files' })
    await expect(NO_REMOTE_FILES.runWithFiles(work, wanting(URL_OF_IT), NEVER)).rejects.toEqual(failed)
    await expect(NO_REMOTE_FILES.fetch(work, URL_OF_IT, NEVER)).rejects.toEqual(failed)
    expect(await NO_REMOTE_FILES.runWithFiles(work, wanting(), NEVER)).toEqual([])
  })
})
