import { memoryRenderList } from '@platen/adapters/memory/render-ledger/render-list.ts'
import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { RENDER_ATTEMPTS_MAX } from '@platen/contract/domain/limit.ts'
import { encodeManifest, manifestKey } from '@platen/contract/domain/render.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { aManifest, aRecord, SILENT } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { memoryLimiter } from '../../../test/fixture/memory/limiter.ts'
import { fallbackLimiter } from './limiter.ts'
import { fallbackRenderLedger } from './render-ledger.ts'

const LEASE = { owner: 'a', leaseMs: 15_000 }

/** A ledger that a test can make unavailable, and its fallback. */
function aFallbackLedger() {
  const state = { isAway: false }
  const artifacts = memoryArtifactStore()
  const ledger = memoryRenderLedger(manualClock())
  const whileThere = switched(ledger, state)
  const options = { list: memoryRenderList(manualClock()), artifacts, serviceBucket: 'platen', log: SILENT }
  return { state, artifacts, ledger, options, fallback: fallbackRenderLedger(whileThere, options) }
}

/** The same port, with methods that throw `Unavailable` while it is away. */
function switched<Port extends object>(port: Port, state: { readonly isAway: boolean }): Port {
  const methods = Object.entries(port).map(([name, method]) => {
    const call = async (...values: unknown[]) => {
      if (state.isAway) throw new Unavailable('away')
      return await method(...values)
    }
    return [name, call] as const
  })
  // Each method keeps its type.
  return Object.fromEntries(methods) as Port
}

describe('without its ledger', () => {
  test('a render is begun, and its claim is neither renewed nor lost', async ({ signal }) => {
    const { fallback, ledger, state } = aFallbackLedger()
    const record = aRecord()
    state.isAway = true
    const answer = await fallback.claim(record, LEASE, signal)
    expect(answer).toStrictEqual({ kind: 'granted', claim: { id: record.id, fence: 0, attempt: 1 } })
    if (answer.kind !== 'granted') return
    expect(await fallback.renew(answer.claim, LEASE, signal)).toBe(true)
    state.isAway = false
    expect(await fallback.renew(answer.claim, LEASE, signal)).toBe(true)
    expect(await ledger.find(record.id, signal)).toBeUndefined()
  })

  test('a render that has a manifest has ended', async ({ signal }) => {
    const { fallback, artifacts, state } = aFallbackLedger()
    const record = aRecord()
    const address = { bucket: 'platen', key: manifestKey(record.id) }
    await artifacts.create(address, encodeManifest(aManifest({ record })), signal)
    state.isAway = true
    expect(await fallback.claim(record, LEASE, signal)).toStrictEqual({ kind: 'settled' })
  })

  test('a render that brings its thread down is given up as one is with it', async ({ signal }) => {
    const { fallback, state } = aFallbackLedger()
    const record = aRecord()
    state.isAway = true
    for (let attempt = 1; attempt <= RENDER_ATTEMPTS_MAX; attempt++) {
      expect(await fallback.claim(record, LEASE, signal)).toMatchObject({ claim: { attempt } })
    }
    const exhausted = { kind: 'exhausted', attempts: RENDER_ATTEMPTS_MAX }
    expect(await fallback.claim(record, LEASE, signal)).toStrictEqual(exhausted)
    await fallback.complete(aManifest({ record }), signal)
    expect(await fallback.claim(record, LEASE, signal)).toMatchObject({ claim: { attempt: 1 } })
  })

  test('the end of a render is reported when it can be, and is no error when it cannot', async ({ signal }) => {
    const { fallback, ledger, state } = aFallbackLedger()
    const [record, next] = [aRecord(), aRecord()]
    state.isAway = true
    await fallback.complete(aManifest({ record }), signal)
    state.isAway = false
    await fallback.complete(aManifest({ record: next }), signal)
    expect(await ledger.find(record.id, signal)).toBeUndefined()
    expect((await ledger.find(next.id, signal))?.state.status).toBe('succeeded')
  })

  test('what is wrong in another way is still wrong', async ({ signal }) => {
    const broken = async () => {
      throw new TypeError('a defect')
    }
    const ledger = { ...memoryRenderLedger(manualClock()), claim: broken, complete: broken }
    const fallback = fallbackRenderLedger(ledger, aFallbackLedger().options)
    await expect(fallback.claim(aRecord(), LEASE, signal)).rejects.toThrow('a defect')
    await expect(fallback.complete(aManifest(), signal)).rejects.toThrow('a defect')
  })
})

test('without its list a render is accepted, begun and ended', async ({ signal }) => {
  const { options, ledger } = aFallbackLedger()
  const fallback = fallbackRenderLedger(ledger, { ...options, list: switched(options.list, { isAway: true }) })
  const record = aRecord({ mode: 'async' })
  await fallback.markQueued(record, signal)
  expect(await fallback.claim(record, LEASE, signal)).toMatchObject({ claim: { fence: 1 } })
  await fallback.complete(aManifest({ record }), signal)
  expect((await ledger.find(record.id, signal))?.state.status).toBe('succeeded')
})

test('without its limiter a render is neither held up nor counted, and counted when it is back', async ({ signal }) => {
  const state = { isAway: true }
  const limiter = memoryLimiter(manualClock())
  const eventual = fallbackLimiter({ limiter: switched(limiter, state), clock: manualClock(), log: SILENT })
  const record = aRecord()
  await eventual.confirm(record, signal)
  await eventual.complete(aManifest({ record }), signal)
  expect(await limiter.usage(record.account, record.period, signal)).toEqual({ charged: 0, reserved: 0 })
  state.isAway = false
  await eventual.complete(aManifest({ record }), signal)
  expect(await limiter.usage(record.account, record.period, signal)).toEqual({ charged: 1, reserved: 0 })
})
