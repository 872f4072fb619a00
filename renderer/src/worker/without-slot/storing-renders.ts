/**
 * Renders that have left their slot: the document is made, a sync caller has it, and the outcome is being stored and published. So a slot
 * makes the next document while the last one is stored.
 *
 * Their number and bytes are limited: a slot whose render finds no room waits for it. Sync renders have more room, because callers wait for
 * their slots. If the store has become slow, every slot waits: new renders would wait for the same store, and might miss their deadline
 * there.
 */
import type { Clock } from '@platen/lib/clock.ts'
import { STORE_SLOW_MS, STORING_BYTES_MAX, STORING_PER_SLOT_MAX, SYNC_STORING_PER_SLOT_MAX } from '../limit.ts'

interface Rendered {
  readonly bytes: number
  readonly isSync: boolean
}

export interface StoringRenders {
  /**
   * Takes a render, which is over when `ended` resolves; it must not reject. Resolves when the slot may go on: when there is room for the
   * render, or when it is over.
   */
  add(rendered: Rendered, ended: Promise<void>): Promise<void>
  count(): number
  ended(): Promise<void>
}

export function openStoringRenders({
  clock,
  slots,
}: {
  readonly clock: Clock
  readonly slots: number
}): StoringRenders {
  const storing = new Set<Promise<void>>()
  let storedBytes = 0
  let isSlow = false
  const hasRoom = ({ bytes, isSync }: Rendered) =>
    !isSlow &&
    storing.size < slots * (isSync ? SYNC_STORING_PER_SLOT_MAX : STORING_PER_SLOT_MAX) &&
    storedBytes + bytes <= STORING_BYTES_MAX

  return {
    async add(rendered, ended) {
      const beganAt = clock.monotonic()
      const render = { isOver: false }
      const over = async () => {
        await ended
        render.isOver = true
        isSlow = clock.monotonic() - beganAt > STORE_SLOW_MS
        if (storing.delete(stored)) storedBytes -= rendered.bytes
      }
      const stored = over()
      while (!render.isOver && !hasRoom(rendered)) await Promise.race([stored, ...storing])
      if (render.isOver) return
      storedBytes += rendered.bytes
      storing.add(stored)
    },
    count: () => storing.size,
    ended: async () => void (await Promise.all(storing)),
  }
}
