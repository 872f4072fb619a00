/**
 * Threads that tenants' templates run in. Layout and evaluation hold their thread from start to end and may never come to one,
 * so what a caller no longer waits for is ended with its thread, and a spare thread, warm already, takes its place. Threads start when
 * they are needed: while all that are there are busy, one more comes up. A thread that is worn, by its renders, its memory or its age,
 * goes between two tasks when the next one is ready, one thread at a time.
 */
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { ServiceError } from '@platen/contract/error.ts'
import {
  RENDER_THREAD_AGE_MS_MAX,
  RENDER_THREAD_HEAP_MIB_MAX,
  RENDER_THREAD_KEPT_MIB_MAX,
  RENDER_THREAD_RENDERS_MAX,
} from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { type Availability, type AvailabilityTracker, trackAvailability } from '../port/availability.ts'
import { FilesNeeded } from '../template/remote-images.ts'
import type { RenderTask, TaskKind, TaskResults, ThreadReply } from './thread-message.ts'

/** Its presence is that of a thread that is ready, busy or not. */
export interface ThreadPool extends AsyncDisposable, Availability {
  /**
   * Runs a task in a thread of its own, when one of `size` is free. When `signal` aborts, rejects at once with its reason,
   * and the thread is ended. Throws `FilesNeeded`, and `ServiceError` with what the task threw; with `template_error` when it needed more memory
   * than a thread has, and `render_crashed` when the thread died under it.
   */
  run<Kind extends TaskKind>(task: Extract<RenderTask, { kind: Kind }>, signal: AbortSignal): Promise<TaskResults[Kind]>
}

export interface ThreadPoolOptions {
  /** Tasks at once. There is at most one thread more than that. */
  readonly size: number
  readonly clock: Clock
  /** Tasks after which a thread is replaced; `RENDER_THREAD_RENDERS_MAX` where not said. */
  readonly rendersMax?: number
  /** Heap and buffers of a thread; `RENDER_THREAD_HEAP_MIB_MAX` where not said. */
  readonly heapMibMax?: number
  /** Starts a thread that speaks as `render-thread.ts` does, which it is where not said. */
  readonly spawn?: (heapMibMax: number) => PoolWorker
}

/** What the pool needs of a thread. */
export type PoolWorker = Pick<Worker, 'on' | 'once' | 'postMessage' | 'terminate' | 'getHeapStatistics'>

/** Starts the first thread and returns without waiting for it. Closing it ends them, whatever they do; running tasks reject. */
export function openThreadPool(options: ThreadPoolOptions): ThreadPool {
  return new RenderThreadPool(options)
}

/** For `spawn`: a thread that does nothing but checks. It leaves react-pdf out, which takes a hundred MiB. */
export function spawnCheckThread(heapMibMax: number): PoolWorker {
  return spawnThread(heapMibMax, { isForChecks: true })
}

/** Wait before a thread is started again that died before it was ready, doubled up to the second. */
const RESTART_MS_MIN = 100
const RESTART_MS_MAX = 10_000

/** How long a cold thread that can take a task rests before it is warmed up. */
const WARM_UP_AFTER_MS = 200

/** Heap of a thread for what is new; V8 fills a third of it at a time. */
const YOUNG_GENERATION_MIB = 48

const MIB = 1024 * 1024
/** Between two looks at a busy thread's memory, and what its heap may grow by in between before V8 ends the process. */
const HEAP_CHECK_MS = 100
const HEAP_HEADROOM_MIB = 1024

interface Job {
  readonly task: RenderTask
  resolve(value: TaskResults[TaskKind]): void
  reject(reason: unknown): void
}

interface Thread {
  readonly worker: PoolWorker
  readonly startedAt: number
  /** Can it take a task? */
  isReady: boolean
  /** Has it made a document? */
  isWarm: boolean
  /** Is it to be replaced? */
  isWorn: boolean
  /** Tasks it has done. */
  renders: number
  job?: Job | undefined
  error?: unknown
}

class RenderThreadPool implements ThreadPool {
  readonly #size: number
  readonly #clock: Clock
  readonly #rendersMax: number
  readonly #heapMibMax: number
  readonly #spawn: (heapMibMax: number) => PoolWorker
  readonly #availability: AvailabilityTracker
  readonly #threads = new Set<Thread>()
  readonly #ending = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()
  /** As long as callers keep to their slots, no longer than their number. */
  readonly #waiting: Job[] = []
  #restartMs = RESTART_MS_MIN
  /** Threads that are to start again when their wait is over. */
  #restartsPending = 0
  /** Was a thread started in place of one that is worn and still there? */
  #hasSuccessor = false

  constructor({ size, clock, rendersMax, heapMibMax, spawn }: ThreadPoolOptions) {
    this.#size = size
    this.#clock = clock
    this.#rendersMax = rendersMax ?? RENDER_THREAD_RENDERS_MAX
    this.#heapMibMax = heapMibMax ?? RENDER_THREAD_HEAP_MIB_MAX
    this.#spawn = spawn ?? ((mib) => spawnThread(mib))
    this.#availability = trackAvailability(clock)
    this.#start()
  }

  state() {
    return this.#availability.state()
  }

  ready(signal: AbortSignal): Promise<void> {
    return this.#availability.ready(signal)
  }

  async run<Kind extends TaskKind>(
    task: Extract<RenderTask, { kind: Kind }>,
    signal: AbortSignal,
  ): Promise<TaskResults[Kind]> {
    AbortSignal.any([signal, this.#closing.signal]).throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<TaskResults[TaskKind]>()
    const job: Job = { task, resolve, reject }
    const abort = () => this.#cancel(job, signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    this.#waiting.push(job)
    this.#dispatch()
    try {
      // A thread answers each task with the result of its kind.
      return (await promise) as TaskResults[Kind]
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the threads are closed'))
    for (const job of this.#waiting.splice(0)) job.reject(this.#closing.signal.reason)
    for (const thread of this.#threads) {
      thread.job?.reject(this.#closing.signal.reason)
      this.#terminate(thread)
    }
    await Promise.all(this.#ending)
  }

  #start(): void {
    const hasWorn = [...this.#threads].some(({ isWorn }) => isWorn)
    const wanted = this.#size + (hasWorn ? 2 : 1)
    if (this.#closing.signal.aborted || this.#threads.size >= wanted) return
    const worker = this.#spawn(this.#heapMibMax + HEAP_HEADROOM_MIB)
    const thread: Thread = {
      worker,
      startedAt: this.#clock.monotonic(),
      isReady: false,
      isWarm: false,
      isWorn: false,
      renders: 0,
    }
    this.#threads.add(thread)
    worker.on('message', (reply: ThreadReply) => this.#receive(thread, reply))
    worker.on('error', (error) => {
      thread.error = error
    })
    worker.once('exit', () => this.#onExit(thread))
  }

  #dispatch(): void {
    // One that is to go is taken last, so that it comes to rest.
    const threads = [...this.#threads].toSorted((one, other) => Number(one.isWorn) - Number(other.isWorn))
    let busy = threads.filter(({ job }) => job !== undefined).length
    for (const thread of threads) {
      if (busy >= this.#size) break
      if (!thread.isReady || thread.job !== undefined) continue
      const job = this.#waiting.shift()
      if (job === undefined) break
      thread.job = job
      thread.worker.postMessage(job.task, [])
      void this.#limitMemory(thread, job)
      busy += 1
    }
    this.#grow()
  }

  /** Starts a thread where none is at rest or on its way. */
  #grow(): void {
    const threads = [...this.#threads]
    if (this.#restartsPending > 0 || threads.some(({ job }) => job === undefined)) return
    // A second one would compete for the cores with the first, which is slow while it is cold; it does not let a task wait.
    if (this.#waiting.length > 0 || threads.every(({ isWarm }) => isWarm)) this.#start()
  }

  #receive(thread: Thread, reply: ThreadReply): void {
    // A thread that is being ended may still have an answer under way.
    if (!this.#threads.has(thread)) return
    if (reply.kind === 'loaded') {
      this.#availability.markAvailable()
      this.#restartMs = RESTART_MS_MIN
      // A cold thread serves who is waiting and has no other.
      const isOnly = ![...this.#threads].some(({ isReady }) => isReady)
      if (isOnly && this.#waiting.length > 0) thread.isReady = true
      else this.#warmUp(thread)
    } else if (reply.kind === 'warm') {
      // All others may have gone while it warmed up.
      this.#availability.markAvailable()
      thread.isReady = true
      thread.isWarm = true
    } else {
      const { job } = thread
      thread.job = undefined
      thread.renders += 1
      if (job?.task.kind === 'react_pdf') thread.isWarm = true
      if (reply.kind === 'done') job?.resolve(reply.value)
      else job?.reject(errorOf(reply))
      const isOld = this.#clock.monotonic() - thread.startedAt >= RENDER_THREAD_AGE_MS_MAX
      if (isOld || thread.renders >= this.#rendersMax) thread.isWorn = true
      else void this.#checkMemory(thread)
    }
    this.#replaceWorn()
    this.#dispatch()
    // Rejects when the pool closes, and then there is nothing to warm up.
    if (thread.isReady && !thread.isWarm) this.#warmUpAtRest(thread).catch(() => undefined)
  }

  /** Of the tasks a cold thread serves at a start there are many. */
  async #warmUpAtRest(thread: Thread): Promise<void> {
    const { renders } = thread
    await this.#clock.sleep(WARM_UP_AFTER_MS, this.#closing.signal)
    const isAtRest = thread.renders === renders && thread.job === undefined && this.#threads.has(thread)
    if (isAtRest && thread.isReady && !thread.isWarm) this.#warmUp(thread)
  }

  #warmUp(thread: Thread): void {
    thread.isReady = false
    thread.worker.postMessage({ kind: 'warm_up' }, [])
  }

  /** Looks what a thread keeps after a task. It answers in a tenth of a millisecond, also when the next has begun. */
  async #checkMemory(thread: Thread): Promise<void> {
    // A thread that has just ended answers with an error.
    const heap = await thread.worker.getHeapStatistics().catch(() => undefined)
    if (heap === undefined || heap.total_heap_size + heap.external_memory <= RENDER_THREAD_KEPT_MIB_MAX * MIB) return
    thread.isWorn = true
    this.#replaceWorn()
  }

  /** Starts a thread in place of one that is worn, or ends that when the new one is ready. */
  #replaceWorn(): void {
    const threads = [...this.#threads]
    const worn = threads.filter(({ isWorn }) => isWorn)
    this.#hasSuccessor &&= worn.length > 0
    if (worn.length === 0 || this.#restartsPending > 0 || threads.some(({ isReady }) => !isReady)) return
    if (!this.#hasSuccessor) {
      this.#hasSuccessor = true
      return this.#start()
    }
    const idle = worn.find(({ job }) => job === undefined)
    if (idle === undefined) return
    this.#hasSuccessor = false
    this.#terminate(idle)
    this.#replaceWorn()
  }

  /**
   * Ends a job whose thread has outgrown its limit. V8's own limit is a last resort: a thread that reaches it inside one large
   * allocation takes the whole process down with it.
   */
  async #limitMemory(thread: Thread, job: Job): Promise<void> {
    while (thread.job === job && this.#threads.has(thread)) {
      await this.#clock.sleep(HEAP_CHECK_MS, this.#closing.signal).catch(() => undefined)
      if (thread.job !== job) return
      // A thread that has just ended answers with an error, and is no longer anybody's concern.
      const heap = await thread.worker.getHeapStatistics().catch(() => undefined)
      if (thread.job !== job || heap === undefined) continue
      // Images unpacked and the memory of QuickJS are buffers, which V8 counts beside its heap and does not limit.
      if (heap.used_heap_size + heap.external_memory <= this.#heapMibMax * MIB) continue
      job.reject(this.#outOfMemory())
      thread.job = undefined
      this.#terminate(thread)
      this.#dispatch()
    }
  }

  /** The caller of a job has gone. */
  #cancel(job: Job, reason: unknown): void {
    job.reject(reason)
    const at = this.#waiting.indexOf(job)
    if (at !== -1) this.#waiting.splice(at, 1)
    const thread = [...this.#threads].find((candidate) => candidate.job === job)
    if (thread !== undefined) this.#terminate(thread)
    this.#dispatch()
  }

  #terminate(thread: Thread): void {
    this.#remove(thread)
    const ended = thread.worker.terminate().finally(() => this.#ending.delete(ended))
    this.#ending.add(ended)
  }

  /** A thread has ended; when nobody asked it to, its job fails and another is started. */
  #onExit(thread: Thread): void {
    if (!this.#remove(thread)) return
    thread.job?.reject(this.#exitError(thread.error))
    if (thread.isReady) {
      this.#start()
      this.#dispatch()
      return
    }
    // Held back, their tasks would run into their deadlines as if they themselves were slow.
    if (![...this.#threads].some(({ isReady }) => isReady)) {
      const cause = thread.error
      for (const job of this.#waiting.splice(0)) {
        job.reject(new ServiceError('render_crashed', 'no render thread starts', { cause }))
      }
    }
    const waitMs = this.#restartMs
    this.#restartMs = Math.min(waitMs * 2, RESTART_MS_MAX)
    this.#restartsPending += 1
    const restart = () => {
      this.#restartsPending -= 1
      this.#start()
    }
    // Rejects only when the pool closes, and then there is nothing to start.
    this.#clock.sleep(waitMs, this.#closing.signal).then(restart, () => undefined)
  }

  /** False when it was forgotten before. */
  #remove(thread: Thread): boolean {
    const isKnown = this.#threads.delete(thread)
    if (![...this.#threads].some(({ isReady }) => isReady)) this.#availability.markUnavailable()
    return isKnown
  }

  #exitError(cause: unknown): ServiceError {
    const isMemory = cause instanceof Error && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY'
    return isMemory ? this.#outOfMemory() : new ServiceError('render_crashed', 'the render thread died', { cause })
  }

  #outOfMemory(): ServiceError {
    return new ServiceError('template_error', `the document needs more than ${this.#heapMibMax} MiB of memory`)
  }
}

function spawnThread(heapMibMax: number, workerData?: { readonly isForChecks: true }): PoolWorker {
  const cache = getCompileCacheDir()
  return new Worker(new URL('./render-thread.ts', import.meta.url), {
    workerData,
    // Nothing of the service's own environment is in a thread that runs tenants' code; `production` halves react-pdf's time.
    // Where this process keeps what it has compiled, threads do as well; Node's folder is one of this version below it.
    env: { NODE_ENV: 'production', ...(cache !== undefined && { NODE_COMPILE_CACHE: dirname(cache) }) },
    // A document leaves little behind of what it fills: with room for a few of them, little of it is ever moved.
    resourceLimits: { maxOldGenerationSizeMb: heapMibMax, maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB },
  })
}

function errorOf(reply: Extract<ThreadReply, { kind: 'failed' | 'wanting' }>): Error {
  if (reply.kind === 'wanting') return new FilesNeeded(reply.urls)
  const { code, message, stack } = reply
  if (code !== undefined) return new ServiceError(code, message)
  return Object.assign(new Error(message), stack === undefined ? {} : { stack })
}
