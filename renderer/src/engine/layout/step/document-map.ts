/**
 * What steps of react-pdf remember of the document under way. A thread makes one document after the other, and forgets each at its end.
 *
 * Weak maps for all documents would keep no document either, and yet they cost memory: collections of new objects found 230 KiB of each
 * small document alive after its end, and made them old. Then only a collection of the whole heap removes them.
 */

/** Maps objects of a document. Its keys are weak, too: a large document leaves many behind. */
export interface DocumentMap<Key extends object, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): void
}

const actions: (() => void)[] = []

/** Calls `action` at the end of each document. */
export function atDocumentEnd(action: () => void): void {
  actions.push(action)
}

/** Makes an empty map, for all documents of this thread in turn. */
export function openDocumentMap<Key extends object, Value>(): DocumentMap<Key, Value> {
  let entries = new WeakMap<Key, Value>()
  atDocumentEnd(() => {
    entries = new WeakMap()
  })
  return {
    get: (key) => entries.get(key),
    set: (key, value) => void entries.set(key, value),
  }
}

/** Call it at the end of each document. */
export function forgetDocument(): void {
  for (const action of actions) action()
}
