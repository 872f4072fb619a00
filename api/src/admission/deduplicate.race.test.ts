import { IDEMPOTENCY_MS } from '@platen/contract/domain/limit.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { encodeClaim, idempotencyFolder } from '@platen/contract/stored/idempotency.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anApi } from '../../../test/fixture/api.ts'
import { aRecord, aTenant, NEVER } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import type { ApiPorts } from '../ports.ts'
import type { Caller } from './authenticate.ts'
import { duplicateCheck } from './deduplicate.ts'
import { abandon } from './submit.ts'

const KEY = 'order 66'
const FOLDER = idempotencyFolder({ account: aTenant().account, environment: 'live' }, KEY)
const FINGERPRINT = sha256('the body')
const SPENT = { bucket: 'platen', key: `${FOLDER}1` }
const MIDNIGHT = Date.UTC(2026, 10, 22)

/**
 * Several processes race for one key whose last claim has expired and is being removed. The schedule delays every store call for as long
 * as it likes. A holder may give up, as it does when the queue fails: then the next process can claim the key.
 */
describe('of any number of requests that find a key free', () => {
  test('one at a time holds it, however their calls interleave', async () => {
    // Each process tries again until a try does not give up. For some, the clock says that the day is over.
    const process = fc.record({
      tries: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
      now: fc.constantFrom(MIDNIGHT - 1, MIDNIGHT),
    })
    const processes = fc.array(process, { minLength: 2, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), processes, fc.nat(12), async (scheduler, workers, stepsToSweep) => {
        const artifacts = heldUp(memoryArtifactStore(), scheduler)
        const { ports } = anApi({ ports: { artifacts } })
        const caller = callerIn(ports)
        const holders = new Set<string>()
        let mostHolders = 0
        const attempt = async (check: ReturnType<typeof duplicateCheck>, givesUp: boolean) => {
          const record = aRecord()
          using keyed = check({ key: KEY, caller, fingerprint: FINGERPRINT, admission: { record } })
          if ((await keyed.find()) !== undefined) return
          await keyed.claim(record)
          mostHolders = Math.max(mostHolders, holders.add(record.id).size)
          if (!givesUp) return await ports.ledger.markQueued(record, NEVER)
          holders.delete(record.id)
          await abandon(record, ports)
        }
        const work = async ({ tries, now }: (typeof workers)[number]) => {
          const check = duplicateCheck({ ...ports, clock: manualClock(now) })
          for (const givesUp of tries) await attempt(check, givesUp).catch(expectInProgress)
        }
        const sweep = async () => {
          for (let step = 0; step < stepsToSweep; step++) await scheduler.schedule(Promise.resolve())
          await artifacts.delete(SPENT, NEVER)
        }
        await scheduler.waitFor(leaveSpent(artifacts))
        await scheduler.waitFor(Promise.all([...workers.map(work), sweep()]))
        expect(mostHolders).toBeLessThanOrEqual(1)
      }),
      { numRuns: 300 },
    )
  })

  test('neither the one who saw a spent claim nor the one who came after its removal holds it beside the other', async () => {
    const { ports } = anApi()
    const caller = callerIn(ports)
    // One check per process. A single check would know both requests.
    const [early, late] = [duplicateCheck(ports), duplicateCheck(ports)].map((check) => {
      const record = aRecord()
      return { record, keyed: check({ key: KEY, caller, fingerprint: FINGERPRINT, admission: { record } }) }
    })
    if (early === undefined || late === undefined) throw new Error('there are two')
    await leaveSpent(ports.artifacts)
    expect(await early.keyed.find()).toBeUndefined()
    await ports.artifacts.delete(SPENT, NEVER)
    expect(await late.keyed.find()).toBeUndefined()
    await late.keyed.claim(late.record)
    await expect(early.keyed.claim(early.record)).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
  })
})

/** Leaves a claim that is two days old. */
async function leaveSpent(artifacts: ArtifactStore): Promise<void> {
  const { data: _data, ...record } = aRecord()
  const claim = { fingerprint: FINGERPRINT, claimedAt: MIDNIGHT - 2 * IDEMPOTENCY_MS, record }
  await artifacts.create(SPENT, encodeClaim(claim), NEVER)
}

/** A store whose calls finish when the schedule lets them. */
function heldUp(store: ArtifactStore, scheduler: fc.Scheduler): ArtifactStore {
  return {
    ...store,
    create: scheduler.scheduleFunction((...call: Parameters<ArtifactStore['create']>) => store.create(...call)),
    get: scheduler.scheduleFunction((...call: Parameters<ArtifactStore['get']>) => store.get(...call)),
    delete: scheduler.scheduleFunction((...call: Parameters<ArtifactStore['delete']>) => store.delete(...call)),
    async *list(...call) {
      yield* await scheduler.schedule(Promise.resolve()).then(() => Array.fromAsync(store.list(...call)))
    },
  }
}

function callerIn({ directory }: ApiPorts): Caller {
  const { tenants, keys } = directory.current()
  const [[tenant], [key]] = [[...tenants.values()], [...keys.values()]]
  if (tenant === undefined || key === undefined) throw new Error('the fixture has a tenant and a key')
  return { tenant, key, revision: 1 }
}

function expectInProgress(error: unknown): void {
  expect(error).toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
}
