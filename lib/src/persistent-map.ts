/**
 * An immutable map for frequent small changes. Its entries are in shards by their names. A changed copy shares all unchanged shards, so
 * making it is cheap, and differences between two maps are found without visiting shared shards.
 */

/** With tens of thousands of entries, a shard has a dozen or two. */
const SHARDS = 1024
/** FNV-1a, 32 bits. */
const [BASIS, PRIME] = [0x811c9dc5, 0x01000193]

type Shard<Name extends string, Value> = ReadonlyMap<Name, Value>

/** Results of `map`, by the shard they were made from. */
export type MappedShards<Name extends string, Value, Made> = WeakMap<Shard<Name, Value>, Shard<Name, Made>>

/** The order of entries has no meaning. */
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

  /** Of several changes of a name the last counts; undefined removes the entry. */
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

  /** A shard that was mapped before gives the same result, as long as both are in memory. */
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
