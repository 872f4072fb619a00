/**
 * The threads in which templates of tenants run. Layout and evaluation block their thread and may never end. So when a caller stops
 * waiting, we terminate its thread, and a warm spare thread replaces it. Threads start on demand: while all are busy, one more starts. Of
 * those that have long been idle, all but one end. A thread becomes worn by its renders, memory or age. It is replaced between two tasks,
 * after its successor is ready, one thread at a time.
 */
import { Worker } from 'node:worker_threads'
import { backOffMs } from '@platen/contract/back-off.ts'
import { ServiceError } from '@platen/contract/error.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { EngineMeter, RESTART_REASONS } from '@platen/contract/port/renderer-meter.ts'
import { threadEnv } from '@platen/contract/thread-env.ts'
import { type Availability, type AvailabilityTracker, trackAvailability } from '../port/availability.ts'
import type { ConsoleLine } from '../port/engine.ts'
import { defaultFaces, type FontFace } from '../template/asset/font/default-fonts.ts'
import {
  CHECK_YOUNG_GENERATION_MIB,
  HEAP_CHECK_MS,
  HEAP_HEADROOM_MIB,
  RENDER_THREAD_AGE_MS_MAX,
  RENDER_THREAD_HEAP_MIB_MAX,
  RENDER_THREAD_IDLE_MS,
  RENDER_THREAD_KEPT_MIB_MAX,
  RENDER_THREAD_RENDERS_MAX,
  RESTART_BACK_OFF,
  WARM_UP_AFTER_MS,
  YOUNG_GENERATION_MIB,
} from './limit.ts'
import {
  errorOf,
  isOutOfMemory,
  type RenderTask,
  type TaskKind,
  type TaskResults,
  type ThreadData,
  type ThreadReply,
} from './thread-message.ts'

/** It is available when a thread is ready, busy or not. */
export interface ThreadPool extends AsyncDisposable, Availability {
  /**
   * Runs a task in a thread of its own, when one of `size` is free. When `signal` aborts, rejects at once with its reason and terminates
   * the thread. Throws `FilesNeeded`. Throws `ServiceError` with the failure of the task. Throws `template_error` if the task needed more
   * memory than a thread has, and `render_crashed` if the thread died.
   */
  run<Kind extends TaskKind>(
    task: Extract<RenderTask, { kind: Kind }>,
    signal: AbortSignal,
    onConsole?: (line: ConsoleLine) => void,
  ): Promise<TaskResults[Kind]>
}

export interface ThreadPoolOptions {
  /** Tasks at the same time. There is at most one thread more. */
  readonly size: number
  readonly clock: Clock
  /** Tasks after which a thread is replaced. Absent means `RENDER_THREAD_RENDERS_MAX`. */
  readonly rendersMax?: number
  /** Heap and buffers of a thread. Absent means `RENDER_THREAD_HEAP_MIB_MAX`. */
  readonly heapMibMax?: number
  /** Starts a thread that speaks the protocol of `render-thread.ts`. Absent means that file, for tasks of every kind. */
  readonly spawn?: (heapMibMax: number) => PoolWorker
  /** Absent means that nobody counts. */
  readonly meter?: Pick<EngineMeter, 'restarted'>
}

/** The members of a thread that the pool uses. */
export type PoolWorker = Pick<Worker, 'on' | 'once' | 'postMessage' | 'terminate' | 'getHeapStatistics'>

/** Starts the first thread and returns without waiting for it. Closing the pool terminates all threads, and running tasks reject. */
export const openThreadPool = (options: ThreadPoolOptions): ThreadPool => new RenderThreadPool(options)

/**
 * For `spawn`: starts threads that do only tasks of these kinds, with these fonts. Without react_pdf they are a hundred MiB smaller, and
 * start sooner.
 */
export function spawnThreadFor(kinds: readonly TaskKind[], faces: readonly FontFace[] = defaultFaces()) {
  return (heapMibMax: number): PoolWorker => spawnThread(heapMibMax, { kinds, faces })
}

const MIB = 1024 * 1024

type RestartReason = (typeof RESTART_REASONS)['thread'][number]

interface Job {
  readonly task: RenderTask
  readonly onConsole: ((line: ConsoleLine) => void) | undefined
  resolve(value: TaskResults[TaskKind]): void
  reject(reason: unknown): void
}

interface Thread {
  readonly worker: PoolWorker
  readonly startedAt: number
  /** Whether it can take a task. */
  isReady: boolean
  /** Whether it has made a document. */
  isWarm: boolean
  /** Whether it must be replaced. */
  isWorn: boolean
  /** Tasks it has done. */
  renders: number
  /** When its last task ended, or when it started. */
  usedAt: number
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
  readonly #meter: Pick<EngineMeter, 'restarted'> | undefined
  readonly #threads = new Set<Thread>()
  readonly #ending = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()
  /** Not longer than the number of callers, if they respect their slots. */
  readonly #waiting: Job[] = []
  /** Threads that died before they were ready, since one last was. */
  #failedStarts = 0
  /** Threads that start again after their wait. */
  #restartsPending = 0
  /** Whether a successor was started for a worn thread that still exists. */
  #hasSuccessor = false

  constructor({ size, clock, rendersMax, heapMibMax, spawn, meter }: ThreadPoolOptions) {
    this.#size = size
    this.#clock = clock
    this.#rendersMax = rendersMax ?? RENDER_THREAD_RENDERS_MAX
    this.#heapMibMax = heapMibMax ?? RENDER_THREAD_HEAP_MIB_MAX
    this.#spawn = spawn ?? spawnThreadFor(['react_pdf', 'fill', 'check'])
    this.#availability = trackAvailability(clock)
    this.#meter = meter
    this.#start()
    void this.#endIdle()
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
    onConsole?: (line: ConsoleLine) => void,
  ): Promise<TaskResults[Kind]> {
    AbortSignal.any([signal, this.#closing.signal]).throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<TaskResults[TaskKind]>()
    const job: Job = { task, onConsole, resolve, reject }
    const abort = () => this.#cancel(job, signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    this.#waiting.push(job)
    this.#dispatch()
    try {
      // A thread replies to each task with the result of its kind.
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
    const now = this.#clock.monotonic()
    const state = { isReady: false, isWarm: false, isWorn: false, renders: 0, startedAt: now, usedAt: now }
    const thread: Thread = { worker, ...state }
    this.#threads.add(thread)
    worker.on('message', (reply: ThreadReply) => this.#receive(thread, reply))
    worker.on('error', (error) => {
      thread.error = error
    })
    worker.once('exit', () => this.#onExit(thread))
  }

  #dispatch(): void {
    // Worn threads come last, so that they become idle.
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

  /** Starts a thread if none is idle or starting. */
  #grow(): void {
    const threads = [...this.#threads]
    if (this.#restartsPending > 0 || threads.some(({ job }) => job === undefined)) return
    // While a thread is cold, do not start a second one: it would compete for the cores. A waiting task gets one anyway.
    if (this.#waiting.length > 0 || threads.every(({ isWarm }) => isWarm)) this.#start()
  }

  #receive(thread: Thread, reply: ThreadReply): void {
    // A reply of a terminated thread may still arrive.
    if (!this.#threads.has(thread)) return
    if (reply.kind === 'console') return thread.job?.onConsole?.(reply.line)
    if (reply.kind === 'loaded') {
      this.#availability.markAvailable()
      this.#failedStarts = 0
      // If it is the only thread, it serves waiting tasks while it is cold.
      const isOnly = ![...this.#threads].some(({ isReady }) => isReady)
      if (isOnly && this.#waiting.length > 0) thread.isReady = true
      else this.#warmUp(thread)
    } else if (reply.kind === 'warm') {
      // All other threads may have died during the warm-up.
      this.#availability.markAvailable()
      thread.isReady = true
      thread.isWarm = true
    } else {
      const { job } = thread
      thread.job = undefined
      thread.usedAt = this.#clock.monotonic()
      thread.renders += 1
      if (job?.task.kind === 'react_pdf') thread.isWarm = true
      if (reply.kind === 'done') job?.resolve(reply.value)
      else job?.reject(errorOf(reply))
      const isOld = thread.usedAt - thread.startedAt >= RENDER_THREAD_AGE_MS_MAX
      if (isOld || thread.renders >= this.#rendersMax) thread.isWorn = true
      else void this.#checkMemory(thread)
    }
    this.#replaceWorn()
    this.#dispatch()
    // Rejects when the pool closes. Then there is nothing to warm up.
    if (thread.isReady && !thread.isWarm) this.#warmUpAtRest(thread).catch(() => undefined)
  }

  /** Warms a cold thread once it is idle: at a start, it first has many tasks to serve. */
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

  /** Ends threads that no task has used for long. Of these, the one used last stays as the spare. */
  async #endIdle(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await this.#clock.sleep(RENDER_THREAD_IDLE_MS / 4, this.#closing.signal).catch(() => undefined)
      const usedBefore = this.#clock.monotonic() - RENDER_THREAD_IDLE_MS
      const idle = [...this.#threads]
        .filter(({ job, isReady, isWorn, usedAt }) => job === undefined && isReady && !isWorn && usedAt <= usedBefore)
        .toSorted((one, other) => other.usedAt - one.usedAt)
      for (const thread of idle.slice(1)) this.#terminate(thread)
    }
  }

  /** Checks how much memory a thread keeps after a task. The answer takes a tenth of a millisecond, even if the next task has begun. */
  async #checkMemory(thread: Thread): Promise<void> {
    // A thread that has just exited answers with an error.
    const heap = await thread.worker.getHeapStatistics().catch(() => undefined)
    if (heap === undefined || heap.total_heap_size + heap.external_memory <= RENDER_THREAD_KEPT_MIB_MAX * MIB) return
    thread.isWorn = true
    this.#replaceWorn()
  }

  /** Starts a successor for a worn thread, or terminates the worn thread once the successor is ready. */
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
    this.#terminate(idle, 'worn')
    this.#replaceWorn()
  }

  /**
   * Ends a job whose thread exceeds its memory limit. V8's own limit is the last resort: a thread that reaches it inside one large
   * allocation crashes the whole process.
   */
  async #limitMemory(thread: Thread, job: Job): Promise<void> {
    while (thread.job === job && this.#threads.has(thread)) {
      await this.#clock.sleep(HEAP_CHECK_MS, this.#closing.signal).catch(() => undefined)
      if (thread.job !== job) return
      // A thread that has just exited answers with an error. It needs no check any more.
      const heap = await thread.worker.getHeapStatistics().catch(() => undefined)
      if (thread.job !== job || heap === undefined) continue
      // Unpacked images and the memory of QuickJS are buffers. V8 counts them separately from its heap and does not limit them.
      if (heap.used_heap_size + heap.external_memory <= this.#heapMibMax * MIB) continue
      job.reject(this.#outOfMemory())
      thread.job = undefined
      this.#terminate(thread, 'memory')
      this.#dispatch()
    }
  }

  /** Ends a job whose caller has gone. */
  #cancel(job: Job, reason: unknown): void {
    job.reject(reason)
    const at = this.#waiting.indexOf(job)
    if (at !== -1) this.#waiting.splice(at, 1)
    const thread = [...this.#threads].find((candidate) => candidate.job === job)
    if (thread !== undefined) this.#terminate(thread, 'canceled')
    this.#dispatch()
  }

  /** Without a reason the thread is no longer needed, and is not started again. */
  #terminate(thread: Thread, reason?: RestartReason): void {
    this.#remove(thread)
    if (reason !== undefined) this.#meter?.restarted('thread', reason)
    const ended = thread.worker.terminate().finally(() => this.#ending.delete(ended))
    this.#ending.add(ended)
  }

  /** Handles the exit of a thread. If we did not terminate it, its job fails and another thread starts. */
  #onExit(thread: Thread): void {
    if (!this.#remove(thread)) return
    const isMemory = isOutOfMemory(thread.error)
    this.#meter?.restarted('thread', isMemory ? 'memory' : thread.isReady ? 'crashed' : 'not_started')
    thread.job?.reject(this.#exitError(thread.error))
    if (thread.isReady) {
      this.#start()
      this.#dispatch()
      return
    }
    // Fail the waiting tasks now. If they waited, they would run into their deadlines as if they were slow themselves.
    if (![...this.#threads].some(({ isReady }) => isReady)) {
      const cause = thread.error
      for (const job of this.#waiting.splice(0)) {
        job.reject(new ServiceError('render_crashed', 'no render thread starts', { cause }))
      }
    }
    this.#failedStarts += 1
    this.#restartsPending += 1
    const restart = () => {
      this.#restartsPending -= 1
      this.#start()
    }
    // Rejects only when the pool closes. Then there is nothing to start.
    this.#clock
      .sleep(backOffMs(this.#failedStarts, RESTART_BACK_OFF), this.#closing.signal)
      .then(restart, () => undefined)
  }

  /** Returns false if the thread was removed before. */
  #remove(thread: Thread): boolean {
    const isKnown = this.#threads.delete(thread)
    if (![...this.#threads].some(({ isReady }) => isReady)) this.#availability.markUnavailable()
    return isKnown
  }

  #exitError(cause: unknown): ServiceError {
    return isOutOfMemory(cause)
      ? this.#outOfMemory()
      : new ServiceError('render_crashed', 'the render thread died', { cause })
  }

  #outOfMemory(): ServiceError {
    return new ServiceError('template_error', `the document needs more than ${this.#heapMibMax} MiB of memory`)
  }
}

function spawnThread(heapMibMax: number, workerData: ThreadData): PoolWorker {
  const isChecking = workerData.kinds.every((kind) => kind === 'check')
  const maxYoungGenerationSizeMb = isChecking ? CHECK_YOUNG_GENERATION_MIB : YOUNG_GENERATION_MIB
  return new Worker(new URL('./render-thread.ts', import.meta.url), {
    workerData,
    // `production` halves react-pdf's time.
    env: { NODE_ENV: 'production', ...threadEnv() },
    resourceLimits: { maxOldGenerationSizeMb: heapMibMax, maxYoungGenerationSizeMb },
  })
}
