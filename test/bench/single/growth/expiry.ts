/**
 * What the expiry index costs in S3 with the renders of a cluster that are kept: an hourly pass in which nothing is due, one with a part that
 * is due, and the round of an erasure, in calls and in time. The objects are files of the S3 server, most of them names of few.
 */
import { channel } from 'node:diagnostics_channel'
import { linkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { dayOf, expiryObjectOf } from '@platen/contract/stored/expiry.ts'
import { rendersInIndex } from '@platen/events/retention/erasure-order.ts'
import { removeExpired } from '@platen/events/retention/expired.ts'
import { EXPIRY_RENDERS_MAX } from '@platen/events/retention/limit.ts'
import type { RemovalPorts } from '@platen/events/retention/removal.ts'
import { aRecord, aRenderId, NEVER, SILENT } from '../../../fixture/build.ts'
import { memoryDeliveryLog } from '../../../fixture/memory/delivery-log.ts'
import { type S3Server, startS3 } from '../../../topology/server/s3.ts'
import type { Figure } from '../../measure.ts'
import { grouped, rounded, tableOf } from './table.ts'

const SIZES = [1000, 100_000, 1_000_000, 10_000_000]
const DAYS = 30
const DAY_MS = 24 * 3_600_000
const BUCKET = 'platen'
/** Renders that are due in the second pass. */
const DUE = 100
/** Objects are listed by a thousand, and thirty days are one call; so this is the first call of each more. */
const CALLS_MAX = 1

interface Cost {
  readonly calls: number
  readonly ms: number
}

export async function* expiry(): AsyncGenerator<Figure> {
  const rows: { readonly count: number; readonly idle: Cost; readonly due: Cost; readonly erasure: Cost }[] = []
  for (const count of SIZES) {
    await using server = await startS3()
    using artifacts = await openS3ArtifactStore(
      {
        ...server,
        isPathStyle: true,
        namespace: { bucket: BUCKET, prefix: '', installation: 'platen' },
        clock: systemClock(),
        ids: systemIds(),
      },
      NEVER,
    )
    await fill(server, artifacts, count)
    const ports = portsOn(artifacts)
    const idle = await costOf(() => removeExpired(ports, NEVER))
    await putDue(artifacts)
    rows.push({
      count,
      idle,
      due: await costOf(() => removeExpired(ports, NEVER)),
      erasure: await costOf(() => findFew(artifacts)),
    })
  }
  const cells = rows.map(({ count, idle, due, erasure }) =>
    [grouped(count), ...[idle, due, erasure].flatMap(({ calls, ms }) => [grouped(calls), rounded(ms)])].flat(),
  )
  const head = ['an hour with nothing due', `with ${DUE} due`, 'a round of an erasure']
  const columns = head.flatMap((text) => [`${text}: calls of S3`, 'ms'])
  process.stdout.write(tableOf(['renders kept', ...columns], cells))
  yield {
    name: 'calls of S3 of an hour with nothing due, whatever is kept',
    detail: rows.map(({ idle }) => idle.calls).join(', '),
    value: Math.max(...rows.map(({ idle }) => idle.calls)),
    target: { atMost: CALLS_MAX },
  }
  const [few, many] = [rows[0]?.due.calls ?? Number.NaN, rows.at(-1)?.due.calls ?? Number.NaN]
  yield {
    name: `calls to remove ${DUE} renders: ${grouped(SIZES.at(-1) ?? 0)} kept ÷ ${grouped(SIZES[0] ?? 0)}`,
    detail: `${grouped(many)} ÷ ${grouped(few)}`,
    value: many / few,
    target: { atMost: 1 },
  }
}

/** Fills the index with full objects, the same number for each of the next days. */
async function fill(server: S3Server, artifacts: ArtifactStore, count: number): Promise<void> {
  const objects = Math.ceil(count / EXPIRY_RENDERS_MAX)
  for (let day = 1; day <= DAYS; day += 1) {
    const { key, bytes } = partOf(day, EXPIRY_RENDERS_MAX, 'other')
    await artifacts.put({ bucket: BUCKET, key }, bytes, NEVER)
    const file = join(server.folder, 'store', BUCKET, key)
    const others = Math.floor(objects / DAYS) + (day <= objects % DAYS ? 1 : 0) - 1
    for (let at = 0; at < others; at += 1) linkSync(file, join(dirname(file), `${`${at}`.padStart(64, '0')}.json`))
  }
}

/** The object of a day, counted from today. */
function partOf(day: number, count: number, account: string) {
  const { storage } = aRecord()
  const renders = Array.from({ length: count }, () => ({ id: aRenderId(), storage, account }))
  return expiryObjectOf(dayOf(Date.now() + day * DAY_MS), renders)
}

async function putDue(artifacts: ArtifactStore): Promise<void> {
  const { key, bytes } = partOf(-1, DUE, 'other')
  await artifacts.put({ bucket: BUCKET, key }, bytes, NEVER)
}

async function findFew(artifacts: ArtifactStore): Promise<void> {
  const order = { tenant: 'few', account: 'few', orderedAt: Date.now(), by: 'bench' }
  const found = await Array.fromAsync(rendersInIndex(order, { artifacts, serviceBucket: BUCKET }, NEVER))
  if (found.length > 0) throw new Error('the tenant has no renders')
}

function portsOn(artifacts: ArtifactStore): RemovalPorts {
  const clock = systemClock()
  const failed = (_kind: string, counts: { readonly failed: number }) => {
    if (counts.failed > 0) throw new Error('some renders were not removed')
  }
  return {
    artifacts,
    deliveries: memoryDeliveryLog(clock),
    serviceBucket: BUCKET,
    clock,
    log: SILENT,
    meter: { ended: failed },
  }
}

/** The requests that this process makes meanwhile, and the time. */
async function costOf(task: () => Promise<unknown>): Promise<Cost> {
  const requests = channel('http.client.request.start')
  let calls = 0
  const count = () => {
    calls += 1
  }
  requests.subscribe(count)
  const begunAt = performance.now()
  try {
    await task()
  } finally {
    requests.unsubscribe(count)
  }
  return { calls, ms: performance.now() - begunAt }
}
