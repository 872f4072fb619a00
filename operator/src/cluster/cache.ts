/** The objects of one kind as an informer last read them, and the changes between two reads. */
import { type KubeObject, keyOf } from './object.ts'

export interface ObjectChange<T> {
  /** As `keyOf` returns it. */
  readonly key: string
  /** Absent when the object is new, or could not be read before. */
  readonly before: T | undefined
  /** Absent when the object is gone. */
  readonly after: T | undefined
  /** True when a watch reported the change, false when a list found it. */
  readonly isLive: boolean
}

interface CacheOptions<T> {
  /** `before` is what was last read of the same object. */
  readonly read: (object: KubeObject, before: T | undefined) => T
  readonly onChange: (change: ObjectChange<T>) => void
  /** Called once for each object, until the object can be read again. */
  readonly onUnreadable: (key: string, error: unknown) => void
}

/** `value` is undefined when the object could never be read. */
export interface Entry<T> {
  readonly key: string
  readonly uid: string
  readonly resourceVersion: string
  readonly value: T | undefined
}

/**
 * Keeps the last readable value of an object that cannot be read now, so that a bad write disables nothing. A new object with the same name
 * does not get that value. When `onChange` throws, the cache undoes the change, and the next attempt reports it again.
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

  /** Returns the existing entry when the resource version is the same. */
  toEntry(object: KubeObject): Entry<T> {
    const { uid, resourceVersion } = object.metadata
    const key = keyOf(object.metadata)
    const known = this.#entries.get(key)
    const kept = known?.uid === uid ? known : undefined
    if (kept?.resourceVersion === resourceVersion) return kept
    return { key, uid, resourceVersion, value: this.#read(key, object, kept?.value) ?? kept?.value }
  }

  set(object: KubeObject): void {
    const entry = this.toEntry(object)
    this.#update(entry.key, entry)
  }

  remove(object: KubeObject): void {
    this.#unreadable.delete(object.metadata.uid)
    this.#update(keyOf(object.metadata), undefined)
  }

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

  #read(key: string, object: KubeObject, before: T | undefined): T | undefined {
    const { uid } = object.metadata
    try {
      const value = this.#options.read(object, before)
      this.#unreadable.delete(uid)
      return value
    } catch (error) {
      if (!this.#unreadable.has(uid)) this.#options.onUnreadable(key, error)
      this.#unreadable.add(uid)
      return undefined
    }
  }
}
