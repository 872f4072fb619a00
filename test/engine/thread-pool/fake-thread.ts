/** A render thread whose messages come from the test. */
import { EventEmitter } from 'node:events'
import type { ThreadMessage, ThreadReply } from '@platen/renderer/engine/thread/message.ts'

export const MIB = 1024 * 1024

export class FakeThread extends EventEmitter {
  readonly isLow: boolean
  isAlive = true
  isReady = false
  isBusy = false
  keptMib = 0
  readonly asked: ThreadMessage['kind'][] = []

  constructor(isLow: boolean) {
    super()
    this.isLow = isLow
  }
  say(reply: ThreadReply): void {
    if (reply.kind === 'loaded' || reply.kind === 'warm') this.isReady = true
    else this.isBusy = false
    this.emit('message', reply)
  }
  /** Ends its task. */
  done(): void {
    this.say({ kind: 'done', value: { html: '', isMultiscript: false, missing: '', absent: [], unloaded: [] } })
  }
  die(): void {
    this.isAlive = false
    this.emit('exit', 1)
  }
  postMessage({ kind }: ThreadMessage): void {
    this.asked.push(kind)
    if (kind === 'warm_up') this.say({ kind: 'warm' })
    else this.isBusy = true
  }
  async terminate(): Promise<number> {
    this.isAlive = false
    return 1
  }
  async getHeapStatistics() {
    return { total_heap_size: this.keptMib * MIB, external_memory: 0, used_heap_size: 0 }
  }
}
