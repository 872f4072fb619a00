/**
 * What is done with the bodies of requests, in threads of their own. Parsing a large one takes seconds where a caller means it to, and so
 * does holding its data against a schema: on the thread that answers everybody, all others would wait for that. Each tenant has one thread
 * at a time, so that it makes none wait but its own.
 */
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import {
  BODY_CHECK_MS_MAX,
  BODY_CHECK_THREADS,
  BODY_CHECK_THREADS_IDLE_MS,
  BODY_PARSED_INLINE_BYTES_MAX,
} from '@platen/contract/api-limit.ts'
import type { JsonObject } from '@platen/contract/brand.ts'
import { type ErrorDetail, ServiceError } from '@platen/contract/error.ts'
import { openFairSemaphore } from '@platen/contract/fair-semaphore.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { Template, TenantId } from '@platen/contract/tenant.ts'
import { Piscina } from 'piscina'
import type { FitTask } from './fit.ts'
import { type ParsedAnswer, type ParsedRequest, type ParseTask, parseRequest } from './parse-request.ts'

export interface BodyChecks extends AsyncDisposable {
  /**
   * The request that a body of this tenant spells, its fingerprint too where that is asked for. Throws `INVALID_PAYLOAD`, whose message
   * quotes nothing, and as `faultsOf` does.
   */
  readonly parse: (tenant: TenantId, task: ParseTask, signal: AbortSignal) => Promise<ParsedRequest>
  /**
   * How data, a JSON object in UTF-8, fails the schema of a template; empty where it fits. The paths are those in the data, and no
   * message names a value. Throws `Unavailable` where that takes longer than a request may wait for it, and the reason of the signal.
   */
  readonly faultsOf: (template: Template, data: Uint8Array, signal: AbortSignal) => Promise<readonly ErrorDetail[]>
}

/** Of a thread: a body of ten MiB of the smallest values takes a third of it. */
const HEAP_MIB_MAX = 1024

/** Starts the first thread, and others when they are needed. Closing it ends them, whatever they do. */
export function openBodyChecks(clock: Clock): BodyChecks {
  const run = openThreads(clock)
  const spelt = new WeakMap<JsonObject, string>()
  const spell = (schema: JsonObject): string => {
    const text = spelt.get(schema) ?? JSON.stringify(schema)
    spelt.set(schema, text)
    return text
  }
  return {
    async parse(tenant, task, signal) {
      if (task.bytes.length <= BODY_PARSED_INLINE_BYTES_MAX) return parseRequest(task)
      const bytes = new Uint8Array(task.bytes)
      const large = { tenant, name: 'parse', task: { ...task, bytes }, transfer: bytes.buffer } as const
      const answer = await run<ParsedAnswer>(large, signal)
      if ('request' in answer) return answer.request
      const { code, message, details } = answer.refusal
      throw new ServiceError(code, message, { details })
    },
    async faultsOf({ tenant, variablesSchema }, data, signal) {
      if (takesEverything(variablesSchema)) return []
      const copy = new Uint8Array(data)
      const task: FitTask = { tenant, schema: spell(variablesSchema), data: copy }
      return await run({ tenant, name: 'fit', task, transfer: copy.buffer }, signal)
    },
    [Symbol.asyncDispose]: run[Symbol.asyncDispose],
  }
}

interface ThreadTask {
  readonly tenant: TenantId
  /** An export of `check-thread.ts`. */
  readonly name: 'parse' | 'fit'
  readonly task: unknown
  /** The bytes in it, which change hands. */
  readonly transfer: ArrayBuffer
}

interface Threads extends AsyncDisposable {
  <Answer>(task: ThreadTask, signal: AbortSignal): Promise<Answer>
}

function openThreads(clock: Clock): Threads {
  const cache = getCompileCacheDir()
  const pool = new Piscina({
    filename: new URL('./check-thread.ts', import.meta.url).href,
    minThreads: 1,
    maxThreads: BODY_CHECK_THREADS,
    idleTimeout: BODY_CHECK_THREADS_IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
    // Of the service's own environment nothing is of use there but where what it compiles is kept; Node's folder is one of this version below it.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) },
  })
  // Of a thread that dies while it has nothing to do: it is replaced. One that has fails its task.
  pool.on('error', () => undefined)
  const semaphore = openFairSemaphore({ permits: BODY_CHECK_THREADS, permitsPerTenant: 1 })

  async function run<Answer>({ tenant, name, task, transfer }: ThreadTask, signal: AbortSignal): Promise<Answer> {
    const deadline = clock.timeout(BODY_CHECK_MS_MAX)
    const ended = AbortSignal.any([signal, deadline])
    try {
      using _ = await semaphore.acquire(tenant, ended)
      return await pool.run(task, { name, transferList: [transfer], signal: ended })
    } catch (cause) {
      signal.throwIfAborted()
      if (!deadline.aborted) throw cause
      throw new Unavailable(`the body was not checked within ${BODY_CHECK_MS_MAX} ms`, { cause })
    }
  }
  return Object.assign(run, { [Symbol.asyncDispose]: () => pool.destroy() })
}

/** Is it a schema that has nothing to say of an object? */
function takesEverything(schema: JsonObject): boolean {
  return Object.keys(schema).every((keyword) => keyword === 'type') && schema['type'] === 'object'
}
