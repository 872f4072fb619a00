/** Events, for `kubectl describe`: one each time a resource becomes ready, ceases to be, or is not for another reason. */
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { Resource } from '@platen/contract/resource.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { pathOf } from '../cluster/path.ts'
import { API_VERSION } from './declared.ts'
import { type Status, secondsOf } from './status.ts'

export interface EventOptions {
  readonly client: Pick<ClusterClient, 'create'>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** The name of this process. */
  readonly instance: string
}

/** Records what became of a resource from one status to the next. One that cannot be recorded is left out: the status says the same. */
export type RecordTransition = (
  resource: Resource,
  statuses: { readonly before: Status; readonly after: Status },
  signal: AbortSignal,
) => Promise<void>

/** Where events of what is in no namespace stand. */
const CLUSTER_NAMESPACE = 'default'

export function eventRecorder({ client, clock, ids, log, instance }: EventOptions): RecordTransition {
  return async (resource, { before, after }, signal) => {
    const [last, ready] = [readyIn(before), readyIn(after)]
    if (ready === undefined || (last?.status === ready.status && last.reason === ready.reason)) return
    const { kind, metadata } = resource
    const namespace = 'namespace' in metadata ? metadata.namespace : CLUSTER_NAMESPACE
    const at = secondsOf(clock.now())
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name: `${metadata.name.slice(0, 200)}.${Buffer.from(ids.random(8)).toString('hex')}` },
      involvedObject: {
        apiVersion: API_VERSION,
        kind,
        name: metadata.name,
        uid: metadata.uid,
        ...('namespace' in metadata && { namespace }),
      },
      type: ready.status === 'True' ? 'Normal' : 'Warning',
      reason: ready.reason,
      message: ready.message,
      source: { component: 'platen-operator' },
      reportingComponent: 'platen-operator',
      reportingInstance: instance,
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    }
    const path = pathOf({ group: '', version: 'v1', plural: 'events', namespace })
    await client.create(path, event, signal).catch((err: unknown) => log.debug({ err, kind }, 'event lost'))
  }
}

function readyIn({ conditions = [] }: Status) {
  return conditions.find(({ type }) => type === 'Ready')
}
