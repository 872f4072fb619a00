/** Compile results of one kind, by uid, with their changes. */
import { isDeepStrictEqual } from 'node:util'
import type { Condition, Resource, Uid } from '@platen/contract/domain/resource.ts'
import { openLruCache } from '@platen/lib/lru-cache.ts'
import type { CompileResult, CompileResults, InForce } from '../compile/compile-result.ts'
import type { Replacement } from './compiled-settings.ts'
import { type AncestorsOf, type ConflictIndex, openConflictIndex } from './conflict-index.ts'

export interface CompiledKind<Kind extends Resource, Settings> {
  readonly results: CompileResults<Kind, Settings>
  /** In the form that compiling takes. Before the first compile, the previous settings. */
  readonly inForce: Pick<InForce<Settings>, 'get'>
  readonly withConflicting: ConflictIndex['withConflicting']
  /** Keeps the old settings object if the new one is equal. */
  readonly setResults: (outcomes: readonly CompileResult<Kind, Settings>[]) => void
  readonly remove: (uid: Uid) => void
  /** Indexes the exclusive names that a resource asks for, and those it has in force. */
  readonly indexNames: (resource: Kind) => void
  /** Since the last `clearChanges`. */
  readonly changes: KindChanges<Settings>
  readonly clearChanges: () => void
}

interface KindChanges<Settings> {
  /** Resources whose settings or conditions changed. */
  readonly uids: ReadonlySet<Uid>
  readonly replacements: ReadonlyMap<Uid, Replacement<Settings>>
}

interface CompiledKindOptions<Kind extends Resource, Settings> {
  readonly previous: InForce<Settings>
  /** Those that a resource asks for and those it holds. */
  readonly exclusiveNamesOf: (asked: Kind, held: Settings | undefined) => readonly string[]
  readonly ancestorsOf?: AncestorsOf
}

/** Equal lists are kept once: thousands of resources have them. */
const SHARED_CONDITIONS_MAX = 1000

export function openCompiledKind<Kind extends Resource, Settings>({
  previous,
  exclusiveNamesOf,
  ancestorsOf = () => [],
}: CompiledKindOptions<Kind, Settings>): CompiledKind<Kind, Settings> {
  const results = new Map<Uid, CompileResult<Kind, Settings>>()
  /** Previous settings of resources that are not yet compiled. */
  const left = new Map(previous)
  const index = openConflictIndex(ancestorsOf)
  const interned = openLruCache<readonly Condition[]>(SHARED_CONDITIONS_MAX)
  const uids = new Set<Uid>()
  const replacements = new Map<Uid, Replacement<Settings>>()

  const inForce = { get: (uid: Uid) => results.get(uid) ?? left.get(uid) }
  const replace = (uid: Uid, before: Settings | undefined, after: Settings | undefined) => {
    uids.add(uid)
    if (before !== after)
      replacements.set(uid, { before: replacements.has(uid) ? replacements.get(uid)?.before : before, after })
  }
  return {
    results,
    inForce,
    withConflicting: index.withConflicting,
    setResults(news) {
      for (const { resource, settings: found, conditions: said } of news) {
        const { uid } = resource.metadata
        const before = results.get(uid)
        const settings = isDeepStrictEqual(before?.settings, found) ? before?.settings : found
        const text = JSON.stringify(said)
        const conditions = interned.peek(text) ?? interned.set(text, said)
        left.delete(uid)
        results.set(uid, { resource, conditions, ...(settings !== undefined && { settings }) })
        index.set(uid, exclusiveNamesOf(resource, settings))
        if (before?.settings !== settings || !isDeepStrictEqual(before?.conditions, conditions))
          replace(uid, before?.settings, settings)
      }
    },
    remove(uid) {
      const before = results.get(uid)
      results.delete(uid)
      left.delete(uid)
      index.set(uid, [])
      if (before !== undefined) replace(uid, before.settings, undefined)
    },
    indexNames(resource) {
      index.set(resource.metadata.uid, exclusiveNamesOf(resource, inForce.get(resource.metadata.uid)?.settings))
    },
    changes: { uids, replacements },
    clearChanges() {
      uids.clear()
      replacements.clear()
    },
  }
}
