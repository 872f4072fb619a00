/** All resources, kept current. Holds the four kinds completely, and the names and resource versions of ConfigMaps. */

import type { Kind } from '@platen/contract/domain/resource-spec.ts'
import type { OperatorMeter, Priority } from '@platen/contract/port/operator-meter.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import type { ObjectChange } from '../cluster/cache.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { type Informer, openInformer } from '../cluster/informer.ts'
import {
  collectionOf,
  hasSameSpec,
  KINDS,
  keyOfResource,
  type ResourceView,
  readResourceView,
} from './resource-view.ts'

interface ResourceCacheOptions {
  readonly client: Pick<ClusterClient, 'list' | 'watch'>
  readonly onChange: (change: ViewChange) => void
  /** Called with `namespace/name` when a ConfigMap appears, changes or disappears. */
  readonly onConfigMap: (name: string) => void
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly meter: Pick<OperatorMeter, 'relisted' | 'watched' | 'unread'>
}

/** A resource changed, appeared or disappeared. The resource cache already has its new state. */
export interface ViewChange {
  readonly key: string
  readonly priority: Priority
  /** True when the declaration changed, not only the status. */
  readonly isSpecChange: boolean
}

export interface ResourceCache extends AsyncDisposable {
  readonly synced: Promise<void>
  /** By the key of a resource, such as `Template team-acme/invoice`. */
  readonly get: (key: string) => ResourceView | undefined
  readonly all: () => readonly ResourceView[]
  /** The expiry of every ApiKey that has one. The same list until a key changes: each scrape of the metrics reads it. */
  readonly keyExpiries: () => readonly Instant[]
  readonly versionOf: (configMap: string) => string | undefined
  /** Has the API server answered for every kind? */
  readonly isAnswered: () => boolean
}

/** The kinds that are listed and watched. Erasures are no settings, so this cache does not have them. */
export const FOLLOWED_KINDS: readonly string[] = [...KINDS, 'ConfigMap', 'Erasure']
const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps' }

export function openResourceCache(options: ResourceCacheOptions): ResourceCache {
  const { onChange, onConfigMap } = options
  let knownExpiries: readonly Instant[] | undefined
  const onObjectChange = ({ before, after, isLive }: ObjectChange<ResourceView>) => {
    const view = after ?? before
    if (view === undefined) return
    const isSpecChange = before === undefined || after === undefined || !hasSameSpec(before, after)
    if (!isSpecChange && before?.status === after?.status) return
    if (isSpecChange && view.resource.kind === 'ApiKey') knownExpiries = undefined
    onChange({ key: keyOfResource(view.resource), priority: isLive ? 'live' : 'resync', isSpecChange })
  }
  const informers = new Map(
    KINDS.map((kind) => [
      kind,
      openInformer<ResourceView>({
        ...options,
        kind,
        of: collectionOf(kind),
        read: (object, before) => readResourceView(kind, object, before),
        onChange: onObjectChange,
      }),
    ]),
  )
  const configMaps = openInformer<string>({
    ...options,
    kind: 'ConfigMap',
    of: CONFIG_MAPS,
    metadataOnly: true,
    read: ({ metadata }) => metadata.resourceVersion,
    onChange: ({ key }) => onConfigMap(key),
  })
  const all: readonly Informer<unknown>[] = [...informers.values(), configMaps]
  return {
    synced: Promise.all(all.map(({ synced }) => synced)).then(() => undefined),
    get(key) {
      const space = key.indexOf(' ')
      return informers.get(key.slice(0, space) as Kind)?.get(key.slice(space + 1))
    },
    all: () => [...informers.values()].flatMap((informer) => [...informer.values()]),
    keyExpiries: () => (knownExpiries ??= expiriesOf(informers.get('ApiKey')?.values() ?? [])),
    versionOf: (configMap) => configMaps.get(configMap),
    isAnswered: () => all.every(({ lastContactAt }) => lastContactAt() !== undefined),
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((informer) => informer[Symbol.asyncDispose]()))
    },
  }
}

function expiriesOf(views: Iterable<ResourceView>): readonly Instant[] {
  const ends: Instant[] = []
  for (const { resource } of views)
    if (resource.kind === 'ApiKey' && resource.spec.expiresAt !== undefined)
      ends.push(Date.parse(resource.spec.expiresAt))
  return ends
}
