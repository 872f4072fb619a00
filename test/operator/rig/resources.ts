/** Resources as people write them by the API itself, where hundreds of kubectl processes would take too long; and what is said of them. */
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { openNotifier } from '@platen/contract/notifier.ts'
import type { Kind } from '@platen/contract/schema/resource.ts'
import { ROTATE_ANNOTATION, ROTATE_KEY_ANNOTATION } from '@platen/contract/schema/resource.ts'
import { loadAccess } from '@platen/operator/cluster/access.ts'
import { openClusterClient } from '@platen/operator/cluster/client.ts'
import { pathOf } from '@platen/operator/cluster/path.ts'
import { unpackStatus } from '@platen/operator/reconcile/packed-status.ts'
import { openResourceCache } from '@platen/operator/reconcile/resource-cache.ts'
import { API_VERSION, PLURALS, type ResourceView } from '@platen/operator/reconcile/resource-view.ts'
import type { Status } from '@platen/operator/reconcile/status.ts'
import { SILENT } from '../../fixture/build.ts'
import { ADMIN, type KubeAnswer, type KubeApi } from '../../topology/server/kube.ts'

/** One resource; `namespace` for Templates and ApiKeys alone. */
export interface Place {
  readonly kind: Kind
  readonly namespace?: string
  readonly name: string
}

export interface Resources extends AsyncDisposable {
  /** Each throws what the API server says where it refuses. */
  readonly create: (place: Place, spec: object) => Promise<Written>
  /** Of the spec, as JSON merge patch. */
  readonly patch: (place: Place, spec: object) => Promise<Written>
  /** Asks, by the annotation of a Tenant or ApiKey, for another of what stands in its Secret. */
  readonly rotate: (place: Place, at: string) => Promise<Written>
  readonly remove: (place: Place) => Promise<void>
  /** As it was seen last. */
  readonly get: (place: Place) => ResourceView | undefined
  /** Resolves when something holds that depends on what is seen. Rejects with the signal's reason. */
  readonly until: (holds: () => boolean, signal: AbortSignal) => Promise<void>
  /** As `kubectl wait --for=condition=Propagated` does, for the generation that was written or a later one. */
  readonly untilPropagated: (place: Place, written: Written, signal: AbortSignal) => Promise<void>
  /** As `kubectl wait --for=jsonpath` does: what is told of the resource is as wanted. */
  readonly untilTold: (place: Place, isWanted: (status: Status) => boolean, signal: AbortSignal) => Promise<void>
  /** As `kubectl wait --for=delete`: that object of the name is there no more. */
  readonly untilGone: (place: Place, written: Pick<Written, 'uid'>, signal: AbortSignal) => Promise<void>
}

/** What the API server made of a write. */
export interface Written {
  readonly uid: string
  readonly generation: number
}

const nothing = () => undefined
const METER = { requested: nothing, relisted: nothing, watched: nothing, unread: nothing }

/** Follows all resources there are. */
export async function openResources(kube: KubeApi): Promise<Resources> {
  await using stack = new AsyncDisposableStack()
  const [clock, ids] = [systemClock(), systemIds()]
  const client = stack.use(
    openClusterClient({ access: await loadAccess(await kube.kubeconfig(ADMIN)), clock, meter: METER }),
  )
  const waiting = new Set<() => void>()
  const onChange = () => {
    for (const look of waiting) look()
  }
  const inventory = stack.use(
    openResourceCache({ client, clock, ids, log: SILENT, meter: METER, onChange, onConfigMap: nothing }),
  )
  await inventory.synced
  const get: Resources['get'] = (place) => inventory.get(keyOf(place))
  const until: Resources['until'] = async (holds, signal) => {
    const changed = openNotifier()
    const look = () => changed.notify()
    waiting.add(look)
    using _ = { [Symbol.dispose]: () => void waiting.delete(look) }
    while (!holds()) await changed.wait(signal)
  }
  const write = async (place: Place, call: { method: string; path: string; body: object; type?: string }) => {
    const { uid, generation } = metadataIn(await kube.request(call), place)
    return { uid, generation }
  }
  const merge = (place: Place, body: object) =>
    write(place, { method: 'PATCH', type: 'application/merge-patch+json', path: pathTo(place), body })
  const owned = stack.move()
  return {
    get,
    until,
    create: (place, spec) => {
      const { kind, name, namespace } = place
      const metadata = { name, ...(namespace !== undefined && { namespace }) }
      const body = { apiVersion: API_VERSION, kind, metadata, spec }
      return write(place, { method: 'POST', path: collectionOf(place), body })
    },
    patch: (place, spec) => merge(place, { spec }),
    rotate: (place, at) => {
      const annotation = place.kind === 'Tenant' ? ROTATE_ANNOTATION : ROTATE_KEY_ANNOTATION
      return merge(place, { metadata: { annotations: { [annotation]: at } } })
    },
    async remove(place) {
      const answer = await kube.request({ method: 'DELETE', path: pathTo(place) })
      if (answer.status !== 404) refuse(answer, place)
    },
    untilPropagated: (place, { uid, generation }, signal) =>
      until(() => {
        const seen = get(place)
        return seen?.resource.metadata.uid === uid && propagatedGeneration(seen) >= generation
      }, signal),
    untilTold: (place, isWanted, signal) =>
      until(() => {
        const seen = get(place)
        return seen !== undefined && isWanted(unpackStatus(seen.status))
      }, signal),
    untilGone: (place, { uid }, signal) => until(() => get(place)?.resource.metadata.uid !== uid, signal),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The generation of which the condition Propagated says True; 0 where it says so of none. */
function propagatedGeneration({ status }: ResourceView): number {
  const { conditions = [] } = unpackStatus(status)
  const propagated = conditions.find((condition) => condition.type === 'Propagated' && condition.status === 'True')
  return propagated?.observedGeneration ?? 0
}

function metadataIn(answer: KubeAnswer, place: Place): Written {
  refuse(answer, place)
  // An object, as it was not refused.
  return answer.body['metadata'] as Written
}

function refuse({ status, body }: KubeAnswer, place: Place): void {
  if (status >= 300) throw new Error(`${keyOf(place)}: ${status} ${String(body['message'])}`)
}

function keyOf({ kind, namespace, name }: Place): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}

function collectionOf({ kind, namespace }: Place): string {
  const own = namespace === undefined ? {} : { namespace }
  return pathOf({ group: 'platen.dev', version: 'v1alpha1', plural: PLURALS[kind], ...own })
}

function pathTo(place: Place): string {
  return `${collectionOf(place)}/${place.name}`
}
