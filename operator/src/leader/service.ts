/** The operator. It reads all resources from the start, and reconciles while it holds the lease. */
import { raceAbort } from '@platen/lib/race.ts'
import { acquireLease, type HeldLease } from '../cluster/lease.ts'
import { openResourceCache, type ResourceCache } from '../reconcile/resource-cache.ts'
import { type LeaderPorts, type LeaderSettings, type Publisher, runLeader, type Subscriber } from './leader.ts'

interface OperatorOptions {
  readonly ports: Omit<LeaderPorts, 'publisher'>
  readonly settings: LeaderSettings
  /** Acquires the right to publish with an epoch. */
  readonly openPublisher: (epoch: number, signal: AbortSignal) => Promise<Publisher>
  /** The highest epoch of anything published. */
  readonly readEpoch: (signal: AbortSignal) => Promise<number>
}

interface Operator extends AsyncDisposable {
  readonly resources: Pick<ResourceCache, 'keyExpiries'>
  /** True when all resources have been read. Only then can this process take over at once. */
  readonly isReady: () => boolean
  /** Waits for the lease and then leads. Resolves once `stop` aborts. Throws as `runLeader` does, and when the lease is lost. */
  readonly run: (stop: AbortSignal) => Promise<void>
}

export const LEASE = 'platen-operator'

const IDENTITY_BYTES = 8

/** Starts to read all resources. */
export function openOperator({ ports, settings, openPublisher, readEpoch }: OperatorOptions): Operator {
  let subscriber: Subscriber | undefined
  const resources = openResourceCache({
    ...ports,
    onChange: (change) => subscriber?.onChange(change),
    onConfigMap: (name) => subscriber?.onConfigMapChange(name),
  })
  // Prevents an unhandled rejection. `run` waits for `synced` and receives the error.
  resources.synced.catch(() => undefined)
  const runWithLease = async (lease: HeldLease, stop: AbortSignal) => {
    const publisher = await openPublisher(lease.epoch, AbortSignal.any([stop, lease.lost]))
    const client = leaseGuardedClient(ports.client, lease)
    const subscribe = (next: Subscriber) => {
      subscriber = next
    }
    await runLeader(
      { ...settings, ports: { ...ports, client, publisher }, resources, subscribe },
      { stop, lost: lease.lost },
    )
  }
  return {
    resources,
    isReady: resources.isAnswered,
    async run(stop) {
      try {
        await raceAbort(resources.synced, stop)
        const epochMin = async (signal: AbortSignal) => (await readEpoch(signal)) + 1
        // A restarted process has the name of the one before, which may only be paused. So each process adds random bytes.
        const identity = `${settings.instance}_${Buffer.from(ports.ids.random(IDENTITY_BYTES)).toString('hex')}`
        const { namespace } = settings
        await using lease = await acquireLease({ ...ports, namespace, name: LEASE, identity, epochMin }, stop)
        await runWithLease(lease, stop)
      } catch (error) {
        // Most operators are stopped while they wait for the lease. That is not an error.
        if (!stop.aborted || error !== stop.reason) throw error
      }
    },
    [Symbol.asyncDispose]: () => resources[Symbol.asyncDispose](),
  }
}

/** Refuses to write once another process may hold the lease. */
function leaseGuardedClient(client: LeaderPorts['client'], { isHeld, lost }: HeldLease): LeaderPorts['client'] {
  const guarded = <Arguments extends readonly unknown[], Answer>(
    call: (...given: Arguments) => Promise<Answer>,
  ): ((...given: Arguments) => Promise<Answer>) => {
    return async (...given) => {
      if (!isHeld()) throw lost.reason ?? new Error('the lease is no longer held')
      return call(...given)
    }
  }
  const { createLease, replaceLease, createSecret, patchSecret, createEvent, apply, mergePatch, remove } = client
  return {
    ...client,
    createLease: guarded(createLease),
    replaceLease: guarded(replaceLease),
    createSecret: guarded(createSecret),
    patchSecret: guarded(patchSecret),
    createEvent: guarded(createEvent),
    apply: guarded(apply),
    mergePatch: guarded(mergePatch),
    remove: guarded(remove),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  }
}
