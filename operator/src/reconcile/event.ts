/**
 * Kubernetes events, for `kubectl describe`. One is recorded when a resource becomes ready, stops being ready, or has a new reason for not
 * being ready; and for a request that has no effect.
 */
import type { CoreV1Event } from '@kubernetes/client-node'
import type { Resource } from '@platen/contract/domain/resource.ts'
import { canonicalJson, sha256 } from '@platen/lib/canonical-json.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { API_VERSION } from './resource-view.ts'
import type { Status } from './status.ts'

interface EventOptions {
  readonly client: Pick<ClusterClient, 'createEvent'>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly instance: string
}

/** An event that cannot be recorded is dropped: the status or the log says the same. */
export interface Events {
  readonly transition: (
    resource: Resource,
    statuses: { readonly before: Status; readonly after: Status },
    signal: AbortSignal,
  ) => Promise<void>
  /** Records that a part of a resource has no effect. The same words are recorded once, for as long as Kubernetes keeps events. */
  readonly warning: (resource: Resource, warning: Warning, signal: AbortSignal) => Promise<void>
}

export interface Warning {
  /** In CamelCase. */
  readonly reason: string
  readonly message: string
}

/** For events of cluster-scoped resources. */
const CLUSTER_NAMESPACE = 'default'

export function openEvents(options: EventOptions): Events {
  const { client, ids, log } = options
  const record = async (resource: Resource, event: EventFields, signal: AbortSignal) => {
    const { kind } = resource
    await client
      .createEvent(eventOf(resource, event, options), signal)
      .catch((err: unknown) => log.debug({ err, kind }, 'event not recorded'))
  }
  return {
    async transition(resource, { before, after }, signal) {
      const [last, ready] = [readyIn(before), readyIn(after)]
      if (ready === undefined || (last?.status === ready.status && last.reason === ready.reason)) return
      const { status, reason, message } = ready
      const type = status === 'True' ? 'Normal' : 'Warning'
      const id = Buffer.from(ids.random(8)).toString('hex')
      await record(resource, { type, reason, message, id }, signal)
    },
    async warning(resource, { reason, message }, signal) {
      // The same warning has the same name, so the API server refuses to record it again.
      const id = sha256(canonicalJson([resource.metadata.uid, reason, message])).slice(0, 16)
      await record(resource, { type: 'Warning', reason, message, id }, signal)
    },
  }
}

interface EventFields extends Warning {
  readonly type: 'Normal' | 'Warning'
  /** Unique within the events of a resource. */
  readonly id: string
}

function eventOf(
  resource: Resource,
  { id, ...fields }: EventFields,
  { clock, instance }: Pick<EventOptions, 'clock' | 'instance'>,
): CoreV1Event {
  const { kind, metadata } = resource
  const at = new Date(clock.now())
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace: namespaceOf(resource), name: `${metadata.name.slice(0, 200)}.${id}` },
    involvedObject: {
      apiVersion: API_VERSION,
      kind,
      name: metadata.name,
      uid: metadata.uid,
      ...('namespace' in metadata && { namespace: metadata.namespace }),
    },
    ...fields,
    source: { component: 'platen-operator' },
    reportingComponent: 'platen-operator',
    reportingInstance: instance,
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  }
}

function namespaceOf({ metadata }: Resource): string {
  return 'namespace' in metadata ? metadata.namespace : CLUSTER_NAMESPACE
}

function readyIn({ conditions = [] }: Status) {
  return conditions.find(({ type }) => type === 'Ready')
}
