/**
 * The checks of data, in threads of their own. Compiling a schema and holding data against it are bounded in steps, and are still half
 * a second where a tenant means them to be: on the thread that answers everybody, all others would wait for that. Each tenant has one
 * thread at a time, so that it makes none wait but its own.
 */
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { DATA_CHECK_MS_MAX, DATA_CHECK_THREADS, DATA_CHECK_THREADS_REST_MS } from '@platen/contract/api-limit.ts'
import type { JsonObject } from '@platen/contract/brand.ts'
import type { ErrorDetail } from '@platen/contract/error.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { Template } from '@platen/contract/tenant.ts'
import { openTurns } from '@platen/contract/turns.ts'
import { Piscina } from 'piscina'
import type { FitTask } from './fit.ts'

export interface DataChecks extends AsyncDisposable {
  /**
   * How data, a JSON object in UTF-8, fails the schema of a template; empty where it fits. The paths are those in the data, and no
   * message names a value. Throws `Unavailable` where that takes longer than a request may wait for it.
   */
  readonly faultsOf: (template: Template, data: Uint8Array) => Promise<readonly ErrorDetail[]>
}

/** Of a thread: a body of ten MiB of the smallest values takes a third of it. */
const HEAP_MIB_MAX = 1024

/** Starts the first thread, and others when they are needed. Closing it ends them, whatever they do. */
export function openDataChecks(clock: Clock): DataChecks {
  const cache = getCompileCacheDir()
  const pool = new Piscina<FitTask, readonly ErrorDetail[]>({
    filename: new URL('./check-thread.ts', import.meta.url).href,
    minThreads: 1,
    maxThreads: DATA_CHECK_THREADS,
    idleTimeout: DATA_CHECK_THREADS_REST_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
    // Of the service's own environment nothing is of use there but where what it compiles is kept; Node's folder is one of this version below it.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) },
  })
  // Of a thread that dies while it has nothing to do: it is replaced. One that has fails its task.
  pool.on('error', () => undefined)
  const turns = openTurns({ atOnce: DATA_CHECK_THREADS, ofOneTenant: 1 })
  const spelt = new WeakMap<JsonObject, string>()
  const spell = (schema: JsonObject): string => {
    const text = spelt.get(schema) ?? JSON.stringify(schema)
    spelt.set(schema, text)
    return text
  }
  return {
    async faultsOf({ tenant, variablesSchema }, data) {
      if (takesEverything(variablesSchema)) return []
      const deadline = clock.timeout(DATA_CHECK_MS_MAX)
      try {
        using _ = await turns.take(tenant, deadline)
        // A copy of its own, which changes hands.
        const copy = new Uint8Array(data)
        const task = { tenant, schema: spell(variablesSchema), data: copy }
        return await pool.run(task, { transferList: [copy.buffer], signal: deadline })
      } catch (cause) {
        if (!deadline.aborted) throw cause
        throw new Unavailable(`the data was not checked within ${DATA_CHECK_MS_MAX} ms`, { cause })
      }
    },
    [Symbol.asyncDispose]: () => pool.destroy(),
  }
}

/** Is it a schema that has nothing to say of an object? */
function takesEverything(schema: JsonObject): boolean {
  return Object.keys(schema).every((keyword) => keyword === 'type') && schema['type'] === 'object'
}
