/**
 * The threads in which templates of tenants run. Layout and evaluation block their thread and may never end. So when a caller stops
 * waiting, we terminate its thread. Threads start on demand: for a task that waits, and as a spare while a task runs so long that it may be
 * ended. Threads that were idle for long end, except the last. Renders, memory or age wear a thread. A worn thread is replaced between two
 * tasks, after its successor is ready, one thread at a time.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import type { EngineMeter, RESTART_REASONS } from '@platen/contract/port/renderer-meter.ts'
import { type BackOff, backOffMs } from '@platen/lib/back-off.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { type Availability, type AvailabilityTracker, trackAvailability } from '../port/availability.ts'
import type { ConsoleLine } from '../port/engine.ts'
import { SYNC_PAUSE_MS_MAX } from '../worker/limit.ts'
import {
  CHECK_CPU_MS_MAX,
  HEAP_CHECK_MS,
  RENDER_THREAD_HEAP_MIB_MAX,
  RENDER_THREAD_IDLE_MS,
  RENDER_THREAD_KEPT_MIB_MAX,
} from './limit.ts'
import {
  errorOf,
  exitError,
  isOutOfMemory,
  outOfCpu,
  outOfMemory,
  type RenderTask,
  type TaskKind,
  type TaskResults,
  type ThreadReply,
} from './thread/message.ts'
import { type Spawn, spawnThreadFor } from './thread/start.ts'
import {
  enqueue,
  freeThreadFor,
  hasLongTask,
  isOneFree,
  type Job,
  mayStartLow,
  newThread,
  patienceOf,
  type Thread,
  unneededThreads,
} from './thread/state.ts'

const SECOND_MS = 1000
const HOUR_MS = 3600 * 1000

/** Age after which a render thread is replaced, so that growth too slow to notice starts over four times a day. */
export const RENDER_THREAD_AGE_MS_MAX = 6 * HOUR_MS

/** After threads that died before they were ready. */
const RESTART_BACK_OFF: BackOff = { msMin: 100, msMax: 10 * SECOND_MS }

/**
 * How long a cold thread that can take a task must be idle before it is warmed up. When a process starts, its cores are busy with the first
 * document.
 */
export const WARM_UP_AFTER_MS = SECOND_MS

/** Renders after which a render thread is replaced. The first four hundred are slower, while V8 compiles. Memory and age may come first. */
const RENDER_THREAD_RENDERS_MAX = 10_000

/** It is available when a thread is ready, busy or not, or when the last one has ended because it was not needed. */
export interface ThreadPool extends AsyncDisposable, Availability {
  /**
   * Runs a task in a thread, once fewer than `size` tasks run. When `signal` aborts, rejects at once with its reason and terminates the
   * thread. Throws `FilesNeeded`. Throws `ServiceError` with the failure of the task. Throws `template_error` if the task needed more
   * memory than a thread has, or was a check that needed more CPU than one may, and `render_crashed` if the thread died.
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
  /** How long a task may wait for a busy thread before another one starts. Default: 0. */
  readonly patienceMs?: number
  /** The same for the last thread of `size`. Default: `patienceMs`. */
  readonly lastPatienceMs?: number
  /**
   * How long all threads may be idle before the last one ends, too. The next task then waits for a start. No other thread stays idle for
   * longer. Absent means that the last one stays.
   */
  readonly restMs?: number
  /** When the first thread starts, if no task needs one before. Absent means at once. */
  readonly startsAfter?: Promise<unknown> | 'first task'
  readonly rendersMax?: number
  readonly heapMibMax?: number
  readonly checkCpuMsMax?: number
  /** Starts a thread that speaks the protocol of `thread/render-thread.ts`. Absent means that file, for tasks of every kind. */
  readonly spawn?: Spawn
  readonly meter?: Pick<EngineMeter, 'restarted'>
}

/** Returns without waiting for the first thread. Closing the pool terminates all threads, and running tasks reject. */
export const openThreadPool = (options: ThreadPoolOptions): ThreadPool => new RenderThreadPool(options)

const MIB = 1024 * 1024
type RestartReason = (typeof RESTART_REASONS)['thread'][number]

const DEFAULTS = {
  patienceMs: 0,
  restMs: Number.POSITIVE_INFINITY,
  rendersMax: RENDER_THREAD_RENDERS_MAX,
  heapMibMax: RENDER_THREAD_HEAP_MIB_MAX,
  checkCpuMsMax: CHECK_CPU_MS_MAX,
}

class RenderThreadPool implements ThreadPool {
  readonly #options: typeof DEFAULTS & ThreadPoolOptions & { readonly spawn: Spawn }
  readonly #clock: Clock
  readonly #availability: AvailabilityTracker
  readonly #threads = new Set<Thread>()
  readonly #ending = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()
  /** No longer than the number of callers, if they respect their slots. */
  readonly #waiting: Job[] = []
  /** Consecutive threads that died before they were ready. */
  #failedStarts = 0
  #restartsPending = 0
  /** When a sync render last began or ended. */
  #syncAt = Number.NEGATIVE_INFINITY
  #isDispatchDue = false
  /** Whether a successor was started for a worn thread that still exists. */
  #hasSuccessor = false

  constructor(options: ThreadPoolOptions) {
    const spawn = options.spawn ?? spawnThreadFor(['react_pdf', 'fill', 'check'])
    this.#options = { ...DEFAULTS, ...options, spawn }
    this.#clock = options.clock
    this.#availability = trackAvailability(options.clock)
    if (options.startsAfter === undefined) this.#start()
    else void this.#rest(options.startsAfter)
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
    signal.throwIfAborted()
    this.#closing.signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<TaskResults[TaskKind]>()
    const isSync = 'work' in task && task.work.isSync === true
    const job: Job = { task, isSync, onConsole, resolve, reject, acceptedAt: this.#clock.monotonic() }
    const abort = () => this.#cancel(job, signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    enqueue(job, this.#waiting)
    this.#dispatch()
    const patienceMs = patienceOf(this.#threads.size, this.#options)
    if (Number.isFinite(patienceMs) && this.#waiting.includes(job)) void this.#growLater(patienceMs)
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

  /** Until `end` the pool is available without a thread, as after its last one ended. */
  async #rest(end: Promise<unknown> | 'first task'): Promise<void> {
    this.#availability.markAvailable()
    if (end === 'first task') return
    await end
    if (this.#threads.size === 0 && this.#restartsPending === 0) this.#start()
  }

  #start(): void {
    const threads = [...this.#threads]
    const wanted = this.#options.size + (threads.some(({ isWorn }) => isWorn) ? 2 : 1)
    if (this.#closing.signal.aborted || threads.length >= wanted) return
    const now = this.#clock.monotonic()
    const isLow = mayStartLow(threads, this.#waiting, now)
    const worker = this.#options.spawn(this.#options.heapMibMax, isLow)
    const thread = newThread(worker, isLow, now)
    this.#threads.add(thread)
    worker.on('message', (reply: ThreadReply) => this.#receive(thread, reply))
    worker.on('error', (error) => {
      thread.error = error
    })
    worker.once('exit', () => this.#onExit(thread))
  }

  #dispatch(): void {
    const threads = [...this.#threads]
    const now = this.#clock.monotonic()
    const sinceSyncMs = now - this.#syncAt
    let busy = threads.filter(({ job }) => job !== undefined).length
    for (; busy < this.#options.size; busy += 1) {
      const [job] = this.#waiting
      const thread = job && freeThreadFor(job, threads, sinceSyncMs)
      if (job === undefined || thread === undefined) break
      this.#waiting.shift()
      if (job.isSync) this.#syncAt = now
      thread.job = job
      thread.usedAt = now
      thread.worker.postMessage(job.task, [])
      void this.#limitUse(thread, job)
    }
    if (sinceSyncMs < SYNC_PAUSE_MS_MAX && this.#waiting.length > 0)
      void this.#dispatchAfterSync(SYNC_PAUSE_MS_MAX - sinceSyncMs)
    this.#grow()
  }

  /** A sync render that has just begun or ended may have kept a task from a free thread. */
  async #dispatchAfterSync(afterMs: number): Promise<void> {
    if (this.#isDispatchDue) return
    this.#isDispatchDue = true
    await this.#clock.sleep(afterMs, this.#closing.signal).catch(() => undefined)
    this.#isDispatchDue = false
    this.#dispatch()
  }

  /** Starts a thread if one is needed and none is idle or starting, because a start competes for the cores. */
  #grow(isReplacing = false): void {
    const threads = [...this.#threads]
    if (this.#restartsPending > 0 || isOneFree(threads)) return
    const now = this.#clock.monotonic()
    const patienceMs = patienceOf(threads.length, this.#options)
    const isForTask = this.#waiting.some(({ acceptedAt }) => now - acceptedAt >= patienceMs)
    if (isReplacing || isForTask || hasLongTask(threads, now)) this.#start()
  }

  async #growLater(patienceMs: number): Promise<void> {
    await this.#clock.sleep(patienceMs, this.#closing.signal).catch(() => undefined)
    this.#grow()
  }

  #receive(thread: Thread, reply: ThreadReply): void {
    // A reply of a terminated thread may still arrive.
    if (!this.#threads.has(thread)) return
    if (reply.kind === 'console') return thread.job?.onConsole?.(reply.line)
    if (reply.kind === 'loaded') {
      this.#availability.markAvailable()
      this.#failedStarts = 0
      // A lone thread takes tasks while it is cold: the first document of a process is made sooner than a warm-up.
      if (![...this.#threads].some(({ isReady }) => isReady)) thread.isReady = true
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
      if (job?.isSync) this.#syncAt = thread.usedAt
      thread.renders += 1
      if (job?.task.kind === 'react_pdf') thread.isWarm = true
      if (reply.kind === 'done') job?.resolve(reply.value)
      else job?.reject(errorOf(reply))
      const isOld = thread.usedAt - thread.startedAt >= RENDER_THREAD_AGE_MS_MAX
      const isLarge = reply.keptBytes > RENDER_THREAD_KEPT_MIB_MAX * MIB
      if (isOld || isLarge || thread.renders >= this.#options.rendersMax) thread.isWorn = true
    }
    this.#replaceWorn()
    this.#dispatch()
    // Rejects when the pool closes: nothing is warmed up then.
    if (thread.isReady && !thread.isWarm) this.#warmUpAtRest(thread).catch(() => undefined)
  }

  /** Warms a cold thread only once it is idle: a new process first has many tasks to serve. */
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

  async #endIdle(): Promise<void> {
    const { restMs } = this.#options
    const idleMs = Math.min(RENDER_THREAD_IDLE_MS, restMs)
    while (!this.#closing.signal.aborted) {
      await this.#clock.sleep(idleMs / 4, this.#closing.signal).catch(() => undefined)
      const unneeded = unneededThreads([...this.#threads], { now: this.#clock.monotonic(), idleMs, restMs })
      for (const thread of unneeded) this.#terminate(thread)
      // An empty pool starts a thread when it needs one.
      if (unneeded.length > 0) this.#availability.markAvailable()
    }
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
   * Ends a job whose thread exceeds its memory limit, and a check that exceeds its CPU. V8's own memory limit is the last resort: if a
   * thread reaches it inside one large allocation, the whole process crashes.
   */
  async #limitUse(thread: Thread, job: Job): Promise<void> {
    const { heapMibMax, checkCpuMsMax } = this.#options
    let cpuBefore: number | undefined
    while (thread.job === job && this.#threads.has(thread)) {
      await this.#clock.sleep(HEAP_CHECK_MS, this.#closing.signal).catch(() => undefined)
      if (thread.job !== job) return
      this.#grow()
      // Rejects if the thread has just exited.
      const heap = await thread.worker.getHeapStatistics().catch(() => undefined)
      if (thread.job !== job || heap === undefined) continue
      // Unpacked images and the memory of QuickJS are buffers. V8 counts them separately from its heap and does not limit them.
      if (heap.used_heap_size + heap.external_memory > heapMibMax * MIB) {
        job.reject(outOfMemory(heapMibMax))
        thread.job = undefined
        return this.#replace(thread, 'memory')
      }
      const cpu = job.task.kind === 'check' ? await cpuMsOf(thread) : undefined
      cpuBefore ??= cpu
      if (cpu !== undefined && cpuBefore !== undefined && cpu - cpuBefore > checkCpuMsMax)
        this.#cancel(job, outOfCpu(checkCpuMsMax))
    }
  }

  #cancel(job: Job, reason: unknown): void {
    job.reject(reason)
    if (this.#waiting.includes(job)) this.#waiting.splice(this.#waiting.indexOf(job), 1)
    const thread = [...this.#threads].find((candidate) => candidate.job === job)
    if (thread !== undefined) this.#replace(thread, 'canceled')
  }

  /** Ends a thread during its task. Another one starts unless one is idle, because its slot is needed again. */
  #replace(thread: Thread, reason: RestartReason): void {
    this.#terminate(thread, reason)
    this.#dispatch()
    this.#grow(true)
  }

  /** Without a reason the thread is no longer needed. */
  #terminate(thread: Thread, reason?: RestartReason): void {
    this.#remove(thread)
    if (reason !== undefined) this.#options.meter?.restarted('thread', reason)
    const ended = thread.worker.terminate().finally(() => this.#ending.delete(ended))
    this.#ending.add(ended)
  }

  /** If we did not terminate the thread, its job fails and another thread starts. */
  #onExit(thread: Thread): void {
    // Removed already if we terminated it: a pool at rest stays available after the exit of its last thread.
    if (!this.#threads.has(thread)) return
    this.#remove(thread)
    const isMemory = isOutOfMemory(thread.error)
    this.#options.meter?.restarted('thread', isMemory ? 'memory' : thread.isReady ? 'crashed' : 'not_started')
    thread.job?.reject(exitError(thread.error, this.#options.heapMibMax))
    if (thread.isReady) {
      this.#start()
      return this.#dispatch()
    }
    // Fail the waiting tasks now. If they waited on, they would time out and look slow themselves.
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
    // Rejects only when the pool closes: nothing starts then.
    this.#clock
      .sleep(backOffMs(this.#failedStarts, RESTART_BACK_OFF), this.#closing.signal)
      .then(restart, () => undefined)
  }

  #remove(thread: Thread): void {
    this.#threads.delete(thread)
    if (![...this.#threads].some(({ isReady }) => isReady)) this.#availability.markUnavailable()
  }
}

/** CPU that the thread has used since its start. Undefined if it has just exited. */
async function cpuMsOf({ worker }: Thread): Promise<number | undefined> {
  const used = await worker.cpuUsage().catch(() => undefined)
  return used && (used.user + used.system) / 1000
}
