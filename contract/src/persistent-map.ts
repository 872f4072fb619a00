/**
 * A map of which the next is made by changing a little, as often as somebody likes. Its entries stand in shards by their names, and the
 * next shares those in which nothing changed: making it copies no more than the others, and what differs between two is found without
 * looking at what they share.
 */

/** Of tens of thousands of entries a dozen or two in each. */
const SHARDS = 1024
/** FNV-1a, 32 bits. */
const [BASIS, PRIME] = [0x811c9dc5, 0x01000193]

type Shard<Name extends string, Value> = ReadonlyMap<Name, Value>

/** What shards were made into. */
export type MappedShards<Name extends string, Value, Made> = WeakMap<Shard<Name, Value>, Shard<Name, Made>>

/** What never changes; entries come in no order that means anything. */
export class PersistentMap<Name extends string, Value> implements ReadonlyMap<Name, Value> {
  readonly #shards: readonly Shard<Name, Value>[]
  readonly size: number

  private constructor(shards: readonly Shard<Name, Value>[]) {
    this.#shards = shards
    this.size = shards.reduce((sum, shard) => sum + shard.size, 0)
  }

  static of<Name extends string, Value>(entries: Iterable<readonly [Name, Value]> = []): PersistentMap<Name, Value> {
    const nothing: Shard<Name, Value> = new Map()
    return new PersistentMap<Name, Value>(Array.from({ length: SHARDS }, () => nothing)).with(entries)
  }

  /** The map after changes, of which a later one of the same name counts; undefined takes an entry away. */
  with(changes: Iterable<readonly [Name, Value | undefined]>): PersistentMap<Name, Value> {
    const own = new Map<number, Map<Name, Value>>()
    for (const [name, value] of changes) {
      const at = shardOf(name)
      const shard = own.get(at) ?? new Map(this.#shards[at])
      own.set(at, shard)
      if (value === undefined) shard.delete(name)
      else shard.set(name, value)
    }
    return own.size === 0 ? this : new PersistentMap(this.#shards.map((shard, at) => own.get(at) ?? shard))
  }

  /** Each value made into another; a shard that was before is made into the same one, as long as both are there. */
  map<Made>(
    make: (value: Value, name: Name) => Made,
    made: MappedShards<Name, Value, Made>,
  ): PersistentMap<Name, Made> {
    const makeOf = (shard: Shard<Name, Value>) => {
      const all = new Map(Array.from(shard, ([name, value]) => [name, make(value, name)]))
      made.set(shard, all)
      return all
    }
    return new PersistentMap(this.#shards.map((shard) => made.get(shard) ?? makeOf(shard)))
  }

  /** What may not be the same in both, shard by shard. */
  *differingShards(other: PersistentMap<Name, Value>): Generator<readonly [Shard<Name, Value>, Shard<Name, Value>]> {
    for (const [at, shard] of this.#shards.entries()) {
      const { [at]: theirs } = other.#shards
      if (theirs !== undefined && theirs !== shard) yield [shard, theirs]
    }
  }

  get(name: Name): Value | undefined {
    return this.#shards[shardOf(name)]?.get(name)
  }

  has(name: Name): boolean {
    return this.#shards[shardOf(name)]?.has(name) === true
  }

  forEach(each: (value: Value, name: Name, map: ReadonlyMap<Name, Value>) => void): void {
    for (const [name, value] of this) each(value, name, this)
  }

  *entries(): MapIterator<[Name, Value]> {
    for (const shard of this.#shards) yield* shard
  }

  *keys(): MapIterator<Name> {
    for (const shard of this.#shards) yield* shard.keys()
  }

  *values(): MapIterator<Value> {
    for (const shard of this.#shards) yield* shard.values()
  }

  [Symbol.iterator](): MapIterator<[Name, Value]> {
    return this.entries()
  }
}

function shardOf(name: string): number {
  let hash = BASIS
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), PRIME)
  return (hash >>> 0) % SHARDS
}
