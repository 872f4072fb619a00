/**
 * Parses and validates request bodies in worker threads. A caller can make a body that takes seconds to parse or to validate. On the main
 * thread, all other callers would wait. Each tenant uses one thread at a time, so it delays only itself.
 */

import { type ErrorDetail, ServiceError } from '@platen/contract/domain/error.ts'
import type { Template, TenantId } from '@platen/contract/domain/tenant.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { openFairSemaphore } from '@platen/lib/fair-semaphore.ts'
import { threadEnv } from '@platen/lib/thread-env.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { Piscina } from 'piscina'
import { BODY_CHECK_MS_MAX, BODY_PARSED_INLINE_BYTES_MAX } from '../limit.ts'
import { type ParseBatchTask, type ParsedBatch, parseBatch } from './parse-batch.ts'
import {
  bytesOf,
  type ParsedAnswer,
  type ParsedRequest,
  type ParseTask,
  parseRequest,
  type RequestData,
} from './parse-request.ts'
import type { ValidationTask } from './validate.ts'

const SECOND_MS = 1000
/**
 * Threads of an API process that parse bodies and validate data; one tenant gets one of them. The first stays; the others stop after this
 * idle time.
 */
const BODY_CHECK_THREADS = 2
const BODY_CHECK_THREADS_IDLE_MS = 30 * SECOND_MS

export interface BodyChecks extends AsyncDisposable {
  /**
   * Parses the body of a tenant, and computes its fingerprint if requested. Throws `INVALID_PAYLOAD`, whose message quotes nothing, and as
   * `faultsOf` does.
   */
  readonly parse: (tenant: TenantId, task: ParseTask, signal: AbortSignal) => Promise<ParsedRequest>
  readonly parseBatch: (tenant: TenantId, task: ParseBatchTask, signal: AbortSignal) => Promise<ParsedBatch>
  /**
   * Validates data against the schema of a template. Returns the faults. Paths are relative to the data, and no message contains a value.
   * Throws `Unavailable` if that takes longer than a request may wait, and the reason of the signal.
   */
  readonly faultsOf: (template: Template, data: RequestData, signal: AbortSignal) => Promise<readonly ErrorDetail[]>
  /** Validates the data of all items of a batch, given as its lines. Paths are relative to the body. */
  readonly faultsOfBatch: (
    template: Template,
    lines: Uint8Array,
    signal: AbortSignal,
  ) => Promise<readonly ErrorDetail[]>
}

/** Heap of one thread. A body of 10 MiB of the smallest values needs a third of it. */
const HEAP_MIB_MAX = 1024
/** The young generation of that heap. Parsed data is kept to the end of its task anyway. */
const YOUNG_GENERATION_MIB = 12

/** Starts the first thread now, and others when needed. Closing ends them, even during a task. */
export function openBodyChecks(clock: Clock): BodyChecks {
  const run = openThreads(clock)
  const texts = new WeakMap<JsonObject, string>()
  const serialize = (schema: JsonObject): string => {
    const text = texts.get(schema) ?? JSON.stringify(schema)
    texts.set(schema, text)
    return text
  }
  const parseInThread = async <Request>(
    { task, ...thread }: Pick<ThreadTask, 'tenant' | 'name'> & { readonly task: { readonly bytes: Uint8Array } },
    signal: AbortSignal,
  ): Promise<Request> => {
    const bytes = new Uint8Array(task.bytes)
    const large = { ...thread, task: { ...task, bytes }, transfer: bytes.buffer }
    const answer = await run<ParsedAnswer<Request>>(large, signal)
    if ('request' in answer) return answer.request
    const { code, message, reason, details } = answer.refusal
    throw new ServiceError(code, message, { reason, details })
  }
  const validate = async (
    { tenant, variablesSchema }: Template,
    { name, bytes }: { readonly name: 'validate' | 'validateBatch'; readonly bytes: () => Uint8Array },
    signal: AbortSignal,
  ): Promise<readonly ErrorDetail[]> => {
    if (takesEverything(variablesSchema)) return []
    const copy = new Uint8Array(bytes())
    const task: ValidationTask = { tenant, schema: serialize(variablesSchema), data: copy }
    return await run({ tenant, name, task, transfer: copy.buffer }, signal)
  }
  return {
    async parse(tenant, task, signal) {
      if (task.bytes.length <= BODY_PARSED_INLINE_BYTES_MAX) return parseRequest(task)
      return await parseInThread<ParsedRequest>({ tenant, name: 'parse', task }, signal)
    },
    async parseBatch(tenant, task, signal) {
      if (task.bytes.length <= BODY_PARSED_INLINE_BYTES_MAX) return parseBatch(task)
      return await parseInThread<ParsedBatch>({ tenant, name: 'parseBatch', task }, signal)
    },
    faultsOf: (template, data, signal) => validate(template, { name: 'validate', bytes: () => bytesOf(data) }, signal),
    faultsOfBatch: (template, lines, signal) =>
      validate(template, { name: 'validateBatch', bytes: () => lines }, signal),
    [Symbol.asyncDispose]: run[Symbol.asyncDispose],
  }
}

interface ThreadTask {
  readonly tenant: TenantId
  /** An export of `check-thread.ts`. */
  readonly name: 'parse' | 'parseBatch' | 'validate' | 'validateBatch'
  readonly task: unknown
  readonly transfer: ArrayBuffer
}

interface Threads extends AsyncDisposable {
  <Answer>(task: ThreadTask, signal: AbortSignal): Promise<Answer>
}

function openThreads(clock: Clock): Threads {
  const pool = new Piscina({
    filename: new URL('./check-thread.ts', import.meta.url).href,
    minThreads: 1,
    maxThreads: BODY_CHECK_THREADS,
    idleTimeout: BODY_CHECK_THREADS_IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX, maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB },
    env: threadEnv(),
  })
  // A thread that dies while idle is replaced. If it dies during a task, the task fails.
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

function takesEverything(schema: JsonObject): boolean {
  return Object.keys(schema).every((keyword) => keyword === 'type') && schema['type'] === 'object'
}
