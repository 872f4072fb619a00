/** A process that follows the directory as an API process does, and says when it has which settings. */
import { connectRedis } from '@platen/adapters/redis/connect.ts'
import { openRedisDirectory } from '@platen/adapters/redis/directory.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import type { Limits } from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'

/** One revision, as it is in force here. */
export interface Seen {
  readonly revision: number
  /** Epoch milliseconds, with their fraction. */
  readonly at: number
  readonly counts: { readonly tenants: number; readonly keys: number; readonly templates: number }
  /** The limits of the tenants that it has changed, by their names. */
  readonly limits: readonly (readonly [string, Limits])[]
}

/** How often is looked: it is what the figures may be wrong by. */
const LOOK_EVERY_MS = 2

const [port] = process.argv.slice(2)
const signal = AbortSignal.timeout(60_000)
const location = { kind: 'server', address: { host: '127.0.0.1', port: Number(port) } } as const
const redis = await connectRedis({ location, callMsMax: 20_000, clock: systemClock() }, signal)
const directory = await openRedisDirectory(
  { redis, clock: systemClock(), log: openLog({ level: 'error', process: 'test', instance: 'test' }), reader: 'bench' },
  signal,
)
let known: DirectorySnapshot = { revision: 0, tenants: new Map(), keys: new Map(), templates: new Map() }
process.send?.('ready')
process.once('disconnect', () => process.exit())
setInterval(look, LOOK_EVERY_MS)

function look(): void {
  const current = directory.current()
  if (current === known) return
  const at = performance.timeOrigin + performance.now()
  const changed = [...current.tenants].filter(([name, tenant]) => known.tenants.get(name) !== tenant)
  const { tenants, keys, templates } = current
  const counts = {
    tenants: tenants.size,
    keys: keys.size,
    templates: templates.values().reduce((sum, codes) => sum + codes.size, 0),
  }
  const limits = changed.map(([name, tenant]) => [name, tenant.limits] as const)
  known = current
  process.send?.({ revision: current.revision, at, counts, limits } satisfies Seen)
}
