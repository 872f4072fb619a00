import { memoryDirectory } from '@platen/adapters/memory/directory.ts'
import type { Resource, Uid } from '@platen/contract/domain/resource.ts'
import { DEFAULT_LIMITS, type KeyHash, type TenantId } from '@platen/contract/domain/tenant.ts'
import type { DirectorySettings, DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { openCompilation } from '@platen/settings/compilation/compilation.ts'
import { NO_PREVIOUS } from '@platen/settings/compilation/compile.ts'
import type { FoundKey } from '@platen/settings/compile/api-key.ts'
import { expect, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { aKeyHash, anApiKeyResource, aPlanResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { Publication } from './publication.ts'

const ACME = 'acme' as TenantId

/** A publication into a directory in memory. A test lets its calls pass or fail. */
function publishing({ failures = 0, found = 0 } = {}) {
  const clock = manualClock(0)
  const directory = memoryDirectory()
  const foundKeys = new Map<Uid, FoundKey>()
  const facts = { configMaps: new Map(), checks: new Map(), webhookSecrets: new Map(), foundKeys }
  const options = { facts, previous: NO_PREVIOUS, serviceBucket: 'platen', defaults: DEFAULT_LIMITS }
  const compilation = openCompilation(options)
  const changed: Uid[] = []
  let failing = failures
  let gate = Promise.resolve()
  let repairs = 0
  let publishes = 0
  const publisher = {
    revision: () => directory.current().revision,
    nextRevision: () => directory.current().revision + 1,
    isPublished: (settings: DirectorySettings) => directory.isPublished(settings),
    repair: async () => {
      repairs++
      return true
    },
    async publish(snapshot: DirectorySnapshot, signal: AbortSignal) {
      await gate
      if (failing > 0) {
        failing--
        throw new Unavailable('Redis is unavailable')
      }
      await directory.publish({ ...snapshot, revision: snapshot.revision - found }, signal)
    },
  }
  const onChanged = (uids: ReadonlySet<Uid>) => void changed.push(...uids)
  return {
    clock,
    directory,
    foundKeys,
    changed,
    publication: new Publication({
      compilation,
      publisher,
      meter: { published: () => void publishes++ },
      clock,
      onChanged,
    }),
    repairs: () => repairs,
    publishes: () => publishes,
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
  }
}

const changeOf = (resource: Resource) => ({ uid: resource.metadata.uid, resource })
const platform = [aPlanResource(), aTenantResource()].map(changeOf)

test('what there is at the beginning is one revision, and is published only where it is not', async () => {
  const { publication, directory, publishes } = publishing()
  await publication.start(platform, NEVER)
  expect(directory.current()).toMatchObject({ revision: 1 })
  expect([...directory.current().tenants.keys()]).toEqual(['acme'])
  await publication.start(platform, NEVER)
  expect(directory.current().revision).toBe(1)
  // What is there counts as published, also by an operator that found it so.
  expect(publishes()).toBe(2)
})

test('nothing at all is published as well, so that processes know there is nothing', async () => {
  const { publication, directory } = publishing()
  await publication.start([], NEVER)
  expect(directory.current().revision).toBe(1)
})

test('changes that come while one is published are published together', async () => {
  const { publication, directory, hold, clock } = publishing()
  await publication.start(platform, NEVER)
  const over = new AbortController()
  const running = publication.run(over.signal)
  await clock.advance(0)
  const release = hold()
  const keys = ['a', 'b', 'c'].map((digit) =>
    anApiKeyResource({ metadata: { name: digit }, spec: { sha256: aKeyHash(digit) } }),
  )
  const submitted = keys.map((key) => publication.submit(changeOf(key)))
  await clock.advance(0)
  submitted.push(publication.submit(changeOf(anApiKeyResource({ spec: { sha256: aKeyHash('d') } }))))
  release()
  await Promise.all(submitted)
  expect(directory.current()).toMatchObject({ revision: 3 })
  expect(directory.current().keys.size).toBe(4)
  expect(keys.map(({ metadata }) => publication.inForceSince(metadata.uid).revision)).toEqual([2, 2, 2])
  over.abort()
  await running
})

test('a change that changes no setting is published by nothing', async () => {
  const { publication, directory, changed } = publishing()
  await publication.start(platform, NEVER)
  const over = new AbortController()
  const running = publication.run(over.signal)
  const named = aTenantResource({ metadata: { generation: 2 }, spec: { displayName: 'Acme' } })
  await publication.submit(changeOf(named))
  expect(directory.current().revision).toBe(1)
  expect(publication.inForceSince(named.metadata.uid).revision).toBe(1)
  const other = aPlanResource({ spec: { retentionDays: 7 } })
  await publication.submit(changeOf(other))
  expect(directory.current().tenants.get(ACME)?.limits.retentionDays).toBe(7)
  // The submitter of the change knows its own result.
  expect(changed).toEqual([named.metadata.uid])
  over.abort()
  await running
})

test('the time since which a resource is gone is reported to its submitter, and not kept', async () => {
  const { publication } = publishing()
  const key = anApiKeyResource()
  const { uid } = key.metadata
  await publication.start(platform, NEVER)
  const over = new AbortController()
  const running = publication.run(over.signal)
  expect(await publication.submit(changeOf(key))).toMatchObject({ revision: 2 })
  expect(publication.inForceSince(uid)).toMatchObject({ revision: 2 })
  expect(await publication.submit({ uid })).toMatchObject({ revision: 3 })
  expect(publication.inForceSince(uid)).toMatchObject({ revision: 1 })
  over.abort()
  await running
})

test('what could not be published is reported, kept, and published by itself', async () => {
  const { publication, directory, clock } = publishing({ failures: 2 })
  await expect(publication.start(platform, NEVER)).rejects.toThrow(Unavailable)
  const over = new AbortController()
  const running = publication.run(over.signal)
  const key = anApiKeyResource()
  await expect(publication.submit(changeOf(key))).rejects.toThrow('Redis is unavailable')
  expect(directory.current().revision).toBe(0)
  await clock.advance(1000)
  expect(directory.current()).toMatchObject({ revision: 1 })
  expect([directory.current().tenants.size, directory.current().keys.size]).toEqual([1, 1])
  over.abort()
  await running
})

test('a revision that is not taken is numbered again, once the one in its way is', async () => {
  const { publication, repairs } = publishing({ found: 5 })
  await expect(publication.start(platform, NEVER)).rejects.toThrow(Unavailable)
  expect(repairs()).toBe(1)
})

test('an overlap ends at its time, though nobody changes anything', async () => {
  const { publication, directory, foundKeys, clock } = publishing()
  const key = anApiKeyResource({ spec: { secretName: 'ci-key' } })
  const [current, last] = ['b', 'c'].map((digit) => digit.repeat(64) as KeyHash) as [KeyHash, KeyHash]
  foundKeys.set(key.metadata.uid, { hash: current, replaced: { hash: last, until: 60_000 } })
  await publication.start([...platform, changeOf(key)], NEVER)
  expect(new Set(directory.current().keys.keys())).toEqual(new Set([current, last]))
  const over = new AbortController()
  const running = publication.run(over.signal)
  await clock.advance(59_999)
  expect(directory.current().keys.size).toBe(2)
  await clock.advance(1)
  expect([...directory.current().keys.keys()]).toEqual([current])
  over.abort()
  await running
})

test('whoever waits when it ends is told', async () => {
  const { publication, hold, clock } = publishing()
  const over = new AbortController()
  const running = publication.run(over.signal)
  const release = hold()
  const first = publication.submit(changeOf(aPlanResource()))
  const tenant = publication.submit(changeOf(aTenantResource()))
  await clock.advance(0)
  const second = publication.submit(changeOf(anApiKeyResource()))
  over.abort()
  release()
  await expect(Promise.all([tenant, second])).rejects.toThrow()
  await first.catch(() => undefined)
  await running.catch(() => undefined)
})

test('a change after the end is refused at once: no reconcile waits for ever', async () => {
  const { publication } = publishing()
  await publication.run(AbortSignal.abort())
  await expect(publication.submit(changeOf(aPlanResource()))).rejects.toThrow('the publisher has stopped')
})
