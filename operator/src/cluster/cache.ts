/** What an informer has read of the objects of a kind, and what becomes of it. */
import { type KubeObject, keyOf } from './object.ts'

export interface ObjectChange<T> {
  /** By `keyOf`. */
  readonly key: string
  /** Absent: the object is new, or could not be read. */
  readonly before: T | undefined
  /** Absent: the object is gone. */
  readonly after: T | undefined
  /** It has just happened; else it was found when all was listed. */
  readonly isLive: boolean
}

export interface CacheOptions<T> {
  readonly read: (object: KubeObject) => T
  readonly onChange: (change: ObjectChange<T>) => void
  /** Once for each object, until it can be read again. */
  readonly onUnreadable: (key: string, error: unknown) => void
}

/** One object as it was read; without a value it never could be. */
export interface Entry<T> {
  readonly key: string
  readonly uid: string
  readonly resourceVersion: string
  readonly value: T | undefined
}

/**
 * What cannot be read stays as it was read last, so that one bad write puts nothing out of force; of another object with its name
 * nothing stays. When `onChange` throws, what it was told of has not happened, and the next attempt tells of it again.
 */
export class Cache<T> {
  readonly #options: CacheOptions<T>
  readonly #unreadable = new Set<string>()
  #entries = new Map<string, Entry<T>>()

  constructor(options: CacheOptions<T>) {
    this.#options = options
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.value
  }

  *values(): Generator<T> {
    for (const { value } of this.#entries.values()) if (value !== undefined) yield value
  }

  /** How many can be read. */
  size(): number {
    return this.values().reduce((count) => count + 1, 0)
  }

  /** The object as it would be kept: what it is kept as, where that is the same. */
  toEntry(object: KubeObject): Entry<T> {
    const { uid, resourceVersion } = object.metadata
    const key = keyOf(object.metadata)
    const known = this.#entries.get(key)
    const kept = known?.uid === uid ? known : undefined
    if (kept?.resourceVersion === resourceVersion) return kept
    return { key, uid, resourceVersion, value: this.#read(key, object) ?? kept?.value }
  }

  /** An object has been made or changed. */
  set(object: KubeObject): void {
    const entry = this.toEntry(object)
    this.#update(entry.key, entry)
  }

  /** An object is gone. */
  remove(object: KubeObject): void {
    this.#unreadable.delete(object.metadata.uid)
    this.#update(keyOf(object.metadata), undefined)
  }

  /** These are all there are. */
  replace(entries: readonly Entry<T>[]): void {
    const former = this.#entries
    this.#entries = new Map(entries.map((entry) => [entry.key, entry]))
    try {
      for (const entry of entries) this.#notify(former.get(entry.key), entry, false)
      for (const entry of former.values()) if (!this.#entries.has(entry.key)) this.#notify(entry, undefined, false)
    } catch (error) {
      this.#entries = former
      throw error
    }
    const uids = new Set(entries.map(({ uid }) => uid))
    for (const uid of this.#unreadable) if (!uids.has(uid)) this.#unreadable.delete(uid)
  }

  #update(key: string, after: Entry<T> | undefined): void {
    const before = this.#entries.get(key)
    this.#put(key, after)
    try {
      this.#notify(before, after, true)
    } catch (error) {
      this.#put(key, before)
      throw error
    }
  }

  #put(key: string, entry: Entry<T> | undefined): void {
    if (entry === undefined) this.#entries.delete(key)
    else this.#entries.set(key, entry)
  }

  #notify(before: Entry<T> | undefined, after: Entry<T> | undefined, isLive: boolean): void {
    const key = (after ?? before)?.key
    if (key === undefined || before?.value === after?.value) return
    this.#options.onChange({ key, before: before?.value, after: after?.value, isLive })
  }

  #read(key: string, object: KubeObject): T | undefined {
    const { uid } = object.metadata
    try {
      const value = this.#options.read(object)
      this.#unreadable.delete(uid)
      return value
    } catch (error) {
      if (!this.#unreadable.has(uid)) this.#options.onUnreadable(key, error)
      this.#unreadable.add(uid)
      return undefined
    }
  }
}
