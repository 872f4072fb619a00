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
export interface ObjectRef {
  readonly kind: Kind
  readonly namespace?: string
  readonly name: string
}

export interface Resources extends AsyncDisposable {
  /** Each throws what the API server says where it refuses. */
  readonly create: (ref: ObjectRef, spec: object) => Promise<Written>
  /** Of the spec, as JSON merge patch. */
  readonly patch: (ref: ObjectRef, spec: object) => Promise<Written>
  /** Asks, by the annotation of a Tenant or ApiKey, for another of what stands in its Secret. */
  readonly rotate: (ref: ObjectRef, at: string) => Promise<Written>
  readonly remove: (ref: ObjectRef) => Promise<void>
  /** As it was seen last. */
  readonly get: (ref: ObjectRef) => ResourceView | undefined
  /** Resolves when something holds that depends on what is seen. Rejects with the signal's reason. */
  readonly until: (holds: () => boolean, signal: AbortSignal) => Promise<void>
  /** As `kubectl wait --for=condition=Propagated` does, for the generation that was written or a later one. */
  readonly untilPropagated: (ref: ObjectRef, written: Written, signal: AbortSignal) => Promise<void>
  /** As `kubectl wait --for=jsonpath` does: what is told of the resource is as wanted. */
  readonly untilTold: (ref: ObjectRef, isWanted: (status: Status) => boolean, signal: AbortSignal) => Promise<void>
  /** As `kubectl wait --for=delete`: that object of the name is there no more. */
  readonly untilGone: (ref: ObjectRef, written: Pick<Written, 'uid'>, signal: AbortSignal) => Promise<void>
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
  const get: Resources['get'] = (ref) => inventory.get(keyOf(ref))
  const until: Resources['until'] = async (holds, signal) => {
    const changed = openNotifier()
    const look = () => changed.notify()
    waiting.add(look)
    using _ = { [Symbol.dispose]: () => void waiting.delete(look) }
    while (!holds()) await changed.wait(signal)
  }
  const write = async (ref: ObjectRef, call: { method: string; path: string; body: object; type?: string }) => {
    const { uid, generation } = metadataIn(await kube.request(call), ref)
    return { uid, generation }
  }
  const merge = (ref: ObjectRef, body: object) =>
    write(ref, { method: 'PATCH', type: 'application/merge-patch+json', path: pathTo(ref), body })
  const owned = stack.move()
  return {
    get,
    until,
    create: (ref, spec) => {
      const { kind, name, namespace } = ref
      const metadata = { name, ...(namespace !== undefined && { namespace }) }
      const body = { apiVersion: API_VERSION, kind, metadata, spec }
      return write(ref, { method: 'POST', path: collectionOf(ref), body })
    },
    patch: (ref, spec) => merge(ref, { spec }),
    rotate: (ref, at) => {
      const annotation = ref.kind === 'Tenant' ? ROTATE_ANNOTATION : ROTATE_KEY_ANNOTATION
      return merge(ref, { metadata: { annotations: { [annotation]: at } } })
    },
    async remove(ref) {
      const answer = await kube.request({ method: 'DELETE', path: pathTo(ref) })
      if (answer.status !== 404) refuse(answer, ref)
    },
    untilPropagated: (ref, { uid, generation }, signal) =>
      until(() => {
        const seen = get(ref)
        return seen?.resource.metadata.uid === uid && propagatedGeneration(seen) >= generation
      }, signal),
    untilTold: (ref, isWanted, signal) =>
      until(() => {
        const seen = get(ref)
        return seen !== undefined && isWanted(unpackStatus(seen.status))
      }, signal),
    untilGone: (ref, { uid }, signal) => until(() => get(ref)?.resource.metadata.uid !== uid, signal),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The generation of which the condition Propagated says True; 0 where it says so of none. */
function propagatedGeneration({ status }: ResourceView): number {
  const { conditions = [] } = unpackStatus(status)
  const propagated = conditions.find((condition) => condition.type === 'Propagated' && condition.status === 'True')
  return propagated?.observedGeneration ?? 0
}

function metadataIn(answer: KubeAnswer, ref: ObjectRef): Written {
  refuse(answer, ref)
  // An object, as it was not refused.
  return answer.body['metadata'] as Written
}

function refuse({ status, body }: KubeAnswer, ref: ObjectRef): void {
  if (status >= 300) throw new Error(`${keyOf(ref)}: ${status} ${String(body['message'])}`)
}

function keyOf({ kind, namespace, name }: ObjectRef): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}

function collectionOf({ kind, namespace }: ObjectRef): string {
  const own = namespace === undefined ? {} : { namespace }
  return pathOf({ group: 'platen.dev', version: 'v1alpha1', plural: PLURALS[kind], ...own })
}

function pathTo(ref: ObjectRef): string {
  return `${collectionOf(ref)}/${ref.name}`
}
