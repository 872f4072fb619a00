/**
 * Erases renders, or all renders of a tenant, before their retention is over. Prints what is erased and what stays where until when, and
 * logs one line of JSON for audits. Calling it again is safe, and completes what was interrupted.
 */
import { userInfo } from 'node:os'
import { REQUESTS_KEPT } from '@platen/adapters/kafka/limit.ts'
import type { Variables } from '@platen/adapters/setting/setting.ts'
import {
  type ErasureOrder,
  encodeErasure,
  erasureKey,
  held,
  keptInKafkaUntil,
  lastRoundAt,
} from '@platen/contract/domain/erasure.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { ArtifactStoreUnfit } from '@platen/contract/port/artifact-store.ts'
import type { RenderPage } from '@platen/contract/port/render-list.ts'
import { dayOf } from '@platen/contract/stored/expiry.ts'
import { eraseRenders } from '@platen/events/retention/erasure.ts'
import { eraseTenant } from '@platen/events/retention/erasure-order.ts'
import { ERASED_TOGETHER_MAX } from '@platen/events/retention/limit.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { count, UsageError, withoutControls } from '../diagnostic/diagnostic.ts'
import type { RendererPorts } from '../renderer.ts'
import { type ErasureStores, type FoundTenant, openClusterStores, openEmbeddedStores } from './erasure-stores.ts'

export interface EraseOptions {
  readonly what:
    | { readonly renders: readonly RenderId[] }
    | {
        readonly tenant: string
        /** Only renders accepted before this; absent = before now. */
        readonly before?: Instant
        /** The account of a removed tenant. */
        readonly account?: string
        /** Only renders with this `reference` that are listed now. */
        readonly reference?: string
      }
  /** In the data folder of a stopped embedded service, instead of a cluster. */
  readonly isEmbedded: boolean
  /** Who erases, for the audit; absent = the user of this process. */
  readonly by?: string
}

export interface ErasePorts extends Pick<RendererPorts, 'clock' | 'ids' | 'log'> {
  readonly variables: Variables
  readonly print: (text: string) => void
  readonly printError: (text: string) => void
}

/** Resolves with whether everything was erased. Throws `UsageError` or `ConfigError`. */
export async function erase(options: EraseOptions, ports: ErasePorts, signal: AbortSignal): Promise<boolean> {
  const { what, isEmbedded, by = userInfo().username } = options
  try {
    await using stores = await (isEmbedded ? openEmbeddedStores : openClusterStores)(ports, signal)
    const erasing: Erasing = { stores, by, ports, signal }
    const isErased = await eraseWhat(what, erasing)
    ports.print(isEmbedded ? '' : keptInKafka(ports.clock.now()))
    return isErased
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof Unavailable || error instanceof ArtifactStoreUnfit)) throw error
    ports.printError(`platen: ${withoutControls(error.message)}\n`)
    return false
  }
}

function eraseWhat(what: EraseOptions['what'], erasing: Erasing): Promise<boolean> {
  if ('renders' in what) return eraseByIds(what.renders, erasing)
  const { reference, ...ofTenant } = what
  return reference === undefined
    ? eraseByTenant(ofTenant, erasing)
    : eraseByReference({ ...ofTenant, reference }, erasing)
}

interface Erasing {
  readonly stores: ErasureStores
  readonly by: string
  readonly ports: ErasePorts
  readonly signal: AbortSignal
}

async function eraseByIds(ids: readonly RenderId[], { stores, by, ports, signal }: Erasing): Promise<boolean> {
  const { erased, failed, err } = await eraseRenders({ ids, isWanted: () => true }, stores, signal)
  for (const { id, hadManifest } of erased)
    ports.print(`${id}: ${hadManifest ? 'erased' : 'has no outcome; if it waits or runs, it leaves none'}\n`)
  for (const id of failed) ports.printError(`platen: ${id} is not erased\n`)
  reportFailure(err, ports)
  audit({ by, renders: erased.map(({ id }) => id), failed: failed.length }, ports)
  return failed.length === 0
}

type TenantToErase = Omit<Exclude<EraseOptions['what'], { renders: unknown }>, 'reference'>

/** Erases page by page. There is no later round: a render that is accepted or listed afterwards is not erased. */
async function eraseByReference(
  { reference, before, ...what }: TenantToErase & { readonly reference: string },
  { stores, by, ports, signal }: Erasing,
): Promise<boolean> {
  const { account } = await accountOf(what, stores)
  const result = { erased: 0, failed: 0 }
  for (const environment of ['live', 'test'] as const) {
    const scope = { account, environment }
    const query = { scope, limit: ERASED_TOGETHER_MAX, reference, ...(before !== undefined && { before }) }
    let below: RenderId | undefined
    do {
      const page: RenderPage = await stores.listed.page({ ...query, ...(below && { below }) }, signal)
      const ids = page.renders.map(({ id }) => id)
      const { erased, failed, err } = await eraseRenders({ ids, isWanted: () => true }, stores, signal)
      result.erased += erased.length
      result.failed += failed.length
      reportFailure(err, ports)
      below = page.next
    } while (below !== undefined)
  }
  ports.print(`${withoutControls(what.tenant)}: ${count(result.erased, 'render')} of the reference erased\n`)
  if (result.failed > 0) ports.printError(`platen: ${count(result.failed, 'render')} not erased; erase them again\n`)
  // A reference may be personal data, which an audit must not keep.
  audit({ by, tenant: what.tenant, account, of: 'reference', ...result }, ports)
  return result.failed === 0
}

async function eraseByTenant(what: TenantToErase, { stores, by, ports, signal }: Erasing): Promise<boolean> {
  const { tenant } = what
  const orderedAt = ports.clock.now()
  const found = await accountOf(what, stores)
  // A time in the future would erase later renders.
  const before = Math.min(what.before ?? orderedAt, orderedAt)
  // Held, so that processes of the cluster do not run the first round at the same time as this one.
  const order: ErasureOrder = held({ tenant, ...found, before, orderedAt, by }, orderedAt)
  const address = { bucket: stores.serviceBucket, key: erasureKey(order) }
  // Durable first: from now on retention completes it, even if this process dies.
  await stores.artifacts.put(address, encodeErasure(order), signal)
  const { erased, failed, err } = await eraseTenant({ order, address }, stores, signal)
  ports.print(`${withoutControls(tenant)}: ${count(erased, 'render')} erased\n`)
  ports.print(
    `renders that wait, run or ended just now are erased when they have ended, until ${dayOf(lastRoundAt(order))}\n`,
  )
  if (failed > 0)
    ports.printError(`platen: ${count(failed, 'render')} not erased; this is tried again within the hour\n`)
  reportFailure(err, ports)
  audit({ by, tenant, account: order.account, before: timeOf(before), erased, failed }, ports)
  return failed === 0
}

/** Several accounts may have had the tenant's name, one after the other. */
async function accountOf({ tenant, account }: TenantToErase, stores: ErasureStores): Promise<FoundTenant> {
  const found = await stores.tenantOf(tenant)
  if (account === undefined || account === found?.account) {
    if (found !== undefined) return found
    throw new UsageError(`there is no tenant ${tenant}; name the uid of one that was removed with --account`)
  }
  return { account }
}

function reportFailure(err: unknown, { printError }: ErasePorts): void {
  if (err instanceof Error) printError(`platen: ${withoutControls(err.message)}\n`)
}

/** In the form of the service's logs, so that they can be kept together. */
function audit(fields: object, { clock, printError }: ErasePorts): void {
  printError(`${JSON.stringify({ level: 'info', time: timeOf(clock.now()), ...fields, msg: 'erasure audited' })}\n`)
}

/** Single records cannot be removed from Kafka. */
function keptInKafka(now: Instant): string {
  const rows = REQUESTS_KEPT.map(
    (kept) => `  ${kept.topic.padEnd(22)}  ${dayOf(keptInKafkaUntil(now, kept.keptMs))}  ${kept.what}`,
  )
  return [
    'records that stay in Kafka until its retention is over, at the latest:',
    ...rows,
    'none of them has anything of requests that were accepted with requestData: Stored',
    '',
  ].join('\n')
}

function timeOf(instant: Instant): string {
  return new Date(instant).toISOString()
}
