/** Resources as people write them by the API itself, where hundreds of kubectl processes would take too long; and what is said of them. */
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import type { Kind } from '@platen/contract/domain/resource-spec.ts'
import { ROTATE_ANNOTATION, ROTATE_KEY_ANNOTATION } from '@platen/contract/domain/resource-spec.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import { openClusterClient } from '@platen/operator/cluster/client.ts'
import { loadKubeConfig } from '@platen/operator/cluster/kubeconfig.ts'
import { pathOf } from '@platen/operator/cluster/path.ts'
import { unpackStatus } from '@platen/operator/reconcile/packed-status.ts'
import { openResourceCache } from '@platen/operator/reconcile/resource-cache.ts'
import { API_VERSION, PLURALS, type ResourceView } from '@platen/operator/reconcile/resource-view.ts'
import type { Status } from '@platen/operator/reconcile/status.ts'
import { SILENT } from '../../fixture/build.ts'
import { ADMIN, type KubeAnswer, type KubeApi } from '../../topology/server/kube.ts'

/** One resource; `namespace` for Templates and ApiKeys alone. */
export interface Reference {
  readonly kind: Kind
  readonly namespace?: string
  readonly name: string
}

export interface Resources extends AsyncDisposable {
  /** Each throws what the API server says where it refuses. */
  readonly create: (reference: Reference, spec: object) => Promise<Written>
  /** Of the spec, as JSON merge patch. */
  readonly patch: (reference: Reference, spec: object) => Promise<Written>
  /** Asks, by the annotation of a Tenant or ApiKey, for another of what is in its Secret. */
  readonly rotate: (reference: Reference, at: string) => Promise<Written>
  readonly remove: (reference: Reference) => Promise<void>
  /** As it was seen last. */
  readonly get: (reference: Reference) => ResourceView | undefined
  /** Resolves when something holds that depends on what is seen. Rejects with the signal's reason. */
  readonly until: (holds: () => boolean, signal: AbortSignal) => Promise<void>
  /** As `kubectl wait --for=condition=Propagated` does, for the generation that was written or a later one. */
  readonly untilPropagated: (reference: Reference, written: Written, signal: AbortSignal) => Promise<void>
  /** As `kubectl wait --for=jsonpath` does: the status of the resource is as wanted. */
  readonly untilStatus: (
    reference: Reference,
    isWanted: (status: Status) => boolean,
    signal: AbortSignal,
  ) => Promise<void>
  /** As `kubectl wait --for=delete`: that object of the name is there no more. */
  readonly untilGone: (reference: Reference, written: Pick<Written, 'uid'>, signal: AbortSignal) => Promise<void>
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
    openClusterClient({ config: loadKubeConfig(await kube.kubeconfig(ADMIN)), clock, meter: METER }),
  )
  const waiting = new Set<() => void>()
  const onChange = () => {
    for (const look of waiting) look()
  }
  const inventory = stack.use(
    openResourceCache({ client, clock, ids, log: SILENT, meter: METER, onChange, onConfigMap: nothing }),
  )
  await inventory.synced
  const get: Resources['get'] = (reference) => inventory.get(keyOf(reference))
  const until: Resources['until'] = async (holds, signal) => {
    const changed = openNotifier()
    const look = () => changed.notify()
    waiting.add(look)
    using _ = { [Symbol.dispose]: () => void waiting.delete(look) }
    while (!holds()) await changed.wait(signal)
  }
  const write = async (reference: Reference, call: { method: string; path: string; body: object; type?: string }) => {
    const { uid, generation } = metadataIn(await kube.request(call), reference)
    return { uid, generation }
  }
  const merge = (reference: Reference, body: object) =>
    write(reference, { method: 'PATCH', type: 'application/merge-patch+json', path: pathTo(reference), body })
  const owned = stack.move()
  return {
    get,
    until,
    create: (reference, spec) => {
      const { kind, name, namespace } = reference
      const metadata = { name, ...(namespace !== undefined && { namespace }) }
      const body = { apiVersion: API_VERSION, kind, metadata, spec }
      return write(reference, { method: 'POST', path: collectionOf(reference), body })
    },
    patch: (reference, spec) => merge(reference, { spec }),
    rotate: (reference, at) => {
      const annotation = reference.kind === 'Tenant' ? ROTATE_ANNOTATION : ROTATE_KEY_ANNOTATION
      return merge(reference, { metadata: { annotations: { [annotation]: at } } })
    },
    async remove(reference) {
      const answer = await kube.request({ method: 'DELETE', path: pathTo(reference) })
      if (answer.status !== 404) refuse(answer, reference)
    },
    untilPropagated: (reference, { uid, generation }, signal) =>
      until(() => {
        const seen = get(reference)
        return seen?.resource.metadata.uid === uid && propagatedGeneration(seen) >= generation
      }, signal),
    untilStatus: (reference, isWanted, signal) =>
      until(() => {
        const seen = get(reference)
        return seen !== undefined && isWanted(unpackStatus(seen.status))
      }, signal),
    untilGone: (reference, { uid }, signal) => until(() => get(reference)?.resource.metadata.uid !== uid, signal),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The generation of which the condition Propagated says True; 0 where it says so of none. */
function propagatedGeneration({ status }: ResourceView): number {
  const { conditions = [] } = unpackStatus(status)
  const propagated = conditions.find((condition) => condition.type === 'Propagated' && condition.status === 'True')
  return propagated?.observedGeneration ?? 0
}

function metadataIn(answer: KubeAnswer, reference: Reference): Written {
  refuse(answer, reference)
  // An object, as it was not refused.
  return answer.body['metadata'] as Written
}

function refuse({ status, body }: KubeAnswer, reference: Reference): void {
  if (status >= 300) throw new Error(`${keyOf(reference)}: ${status} ${String(body['message'])}`)
}

function keyOf({ kind, namespace, name }: Reference): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}

function collectionOf({ kind, namespace }: Reference): string {
  const own = namespace === undefined ? {} : { namespace }
  return pathOf({ group: 'platen.dev', version: 'v1alpha1', plural: PLURALS[kind], ...own })
}

function pathTo(reference: Reference): string {
  return `${collectionOf(reference)}/${reference.name}`
}
