/** An informer under a test, with all that it notified, logged and counted. */

import type { KubeConfig } from '@kubernetes/client-node'
import { systemIds } from '@platen/adapters/system/ids.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { ObjectChange } from '@platen/operator/cluster/cache.ts'
import { openClusterClient } from '@platen/operator/cluster/client.ts'
import { openInformer } from '@platen/operator/cluster/informer.ts'
import { keyOf } from '@platen/operator/cluster/object.ts'
import type { ObjectLocation } from '@platen/operator/cluster/path.ts'
import { logTo } from '../../fixture/build.ts'
import { hurriedClock } from '../../time/hurried-clock.ts'

/** What the informer keeps of an object. */
export interface Seen {
  readonly name: string
  readonly resourceVersion: string
}

export interface Followed extends AsyncDisposable {
  readonly synced: Promise<void>
  /** Name and resourceVersion of each object, as `listed` of the scripted API server. */
  seen(): Readonly<Record<string, string>>
  /** The same, by the changes it was notified of alone. */
  notified(): Readonly<Record<string, string>>
  readonly changes: readonly ObjectChange<Seen>[]
  readonly logged: readonly string[]
  readonly counts: { lists: number; watches: number; unread: number }
  heardAt(): number | undefined
}

export interface FollowedOptions {
  readonly config: KubeConfig
  readonly of: ObjectLocation
  readonly metadataOnly?: boolean
  readonly clock?: Clock
  /** Throws at what cannot be read. */
  readonly check?: (spec: unknown) => void
  /** Throws at what it does not want to be told. */
  readonly hear?: (change: ObjectChange<Seen>) => void
}

export function follow({
  config,
  of,
  metadataOnly = false,
  clock = hurriedClock(),
  check,
  hear,
}: FollowedOptions): Followed {
  const counts = { lists: 0, watches: 0, unread: 0 }
  const changes: ObjectChange<Seen>[] = []
  const notified = new Map<string, string>()
  const logged: string[] = []
  const meter = {
    requested: () => undefined,
    relisted: () => void counts.lists++,
    watched: () => void counts.watches++,
    unread: () => void counts.unread++,
  }
  const log = logTo(({ fields: { err }, message }) =>
    logged.push(`${message}: ${err instanceof Error ? err.message : ''}`),
  )
  const client = openClusterClient({ config, clock, meter })
  const informer = openInformer<Seen>({
    client,
    kind: 'Note',
    of,
    metadataOnly,
    read: ({ metadata, spec }) => {
      check?.(spec)
      return { name: keyOf(metadata), resourceVersion: metadata.resourceVersion }
    },
    onChange(change) {
      hear?.(change)
      changes.push(change)
      if (change.after === undefined) notified.delete(change.key)
      else notified.set(change.key, change.after.resourceVersion)
    },
    clock,
    ids: systemIds(),
    log,
    meter,
  })
  return {
    synced: informer.synced,
    seen: () =>
      Object.fromEntries(Array.from(informer.values(), ({ name, resourceVersion }) => [name, resourceVersion])),
    notified: () => Object.fromEntries(notified),
    changes,
    logged,
    counts,
    heardAt: informer.lastContactAt,
    async [Symbol.asyncDispose]() {
      await informer[Symbol.asyncDispose]()
      client[Symbol.dispose]()
    },
  }
}
