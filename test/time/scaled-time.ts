/**
 * The product's own waits, shortened for tests; one is longer. Only their declarations are changed, and only while a module is loaded: the
 * product has no setting for it. `vitest.config.ts` asks for it; `REAL_TIME=1` leaves everything as it is, as in the long forms of tests.
 *
 * Waits of one group are divided by one number, so that their ratios stay. `scaled-time.test.ts` checks what has to hold between
 * groups, and between them and what is not scaled.
 */
import { registerHooks } from 'node:module'

interface Group {
  /** The real values are divided by this number. */
  readonly divisor: number
  /** Names of constants, by the end of the module's path. */
  readonly constants: Readonly<Record<string, readonly string[]>>
}

/** How soon a dead or disconnected process is noticed. Shorter times would also hit processes that only wait for a core. */
const LEASES: Group = {
  divisor: 3,
  constants: {
    '/renderer/src/worker/limit.ts': ['CLAIM_LEASE_MS'],
    '/adapters/src/kafka/limit.ts': ['KAFKA_SESSION_MS'],
    '/operator/src/cluster/limit.ts': ['LEASE_MS', 'LEASE_HELD_MS_MAX', 'LEASE_RETRY_MS'],
  },
}

/** The intervals of regular checks. */
const AUDITS: Group = {
  divisor: 6,
  constants: {
    '/operator/src/leader/limit.ts': ['DIRECTORY_AUDIT_MS', 'SEAL_KEYS_CHECK_MS'],
    '/operator/src/handler/limit.ts': ['CHECK_AGAIN_MS'],
    '/events/src/charge/limit.ts': ['CHARGES_AUDITED_EVERY_MS'],
    '/adapters/src/setting/limit.ts': ['SETTING_FILES_READ_MS'],
  },
}

/** When endless work is ended: the work of a template, and an answer that nobody reads. */
const DEADLINES: Group = {
  divisor: 4,
  constants: { '/renderer/src/template/limit.ts': ['LIQUID_MS_MAX'], '/api/src/limit.ts': ['ANSWER_STALLED_MS_MAX'] },
}

/** How soon erasure orders are found, and how soon their rounds follow. */
const ERASURES: Group = {
  divisor: 20,
  constants: {
    '/contract/src/domain/erasure.ts': ['ERASURE_HELD_MS', 'LISTED_ERASURE_AGAIN_MS'],
    '/events/src/retention/limit.ts': ['ERASURES_LOOKED_FOR_EVERY_MS'],
  },
}

/** How soon an open batch is found that nobody looks after. */
const BATCHES: Group = {
  divisor: 20,
  constants: { '/events/src/batch/limit.ts': ['BATCHES_LISTED_EVERY_MS', 'BATCH_QUEUED_BY_API_MS'] },
}

/** How long a start waits for the checks of templates. Longer than in the product: tests render at once, on a machine that may be shared. */
const STARTS: Group = {
  divisor: 1 / 4,
  constants: { '/settings/src/manifest/limit.ts': ['MANIFEST_CHECKS_FIRST_MS'] },
}

export const GROUPS: readonly Group[] = [LEASES, AUDITS, DEADLINES, ERASURES, BATCHES, STARTS]

export const isTimeReal = process.env['REAL_TIME'] === '1'

/** Set by `vitest.config.ts` for the processes of tests. */
const VARIABLE = 'SCALED_TIME'

/** Returns the options with which other Node processes scale their time as this one does. Empty with real time. */
export function scaledTimeOptions(): string {
  return process.env[VARIABLE] === '1' ? `--import ${import.meta.url}` : ''
}

/** Options for Vitest to start test processes with scaled time. Their threads load modules without Vitest. */
export const SCALED_TIME = { env: { [VARIABLE]: '1' }, execArgv: ['--import', import.meta.url] }

/** Scales the waits in the source of a module. Returns other sources unchanged. Throws when a wait is not declared as expected. */
export function scaleTime(url: string, source: string): string {
  const [path = ''] = url.split('?')
  return GROUPS.reduce((text, { divisor, constants }) => {
    const own = Object.entries(constants).find(([file]) => path.endsWith(file))
    return (own?.[1] ?? []).reduce((scaled, name) => divide(scaled, name, divisor), text)
  }, source)
}

function divide(source: string, name: string, divisor: number): string {
  const declaration = new RegExp(`^(export const ${name} = )(.+)$`, 'm')
  if (!declaration.test(source)) throw new Error(`there is no constant ${name} to scale`)
  return source.replace(declaration, (_, head, value) => `${head}Math.ceil((${value}) / ${divisor})`)
}

export function scaledTime() {
  return {
    name: 'scaled-time',
    enforce: 'pre' as const,
    transform: (code: string, id: string) => scaleTime(id, code),
  }
}

// `--import` loads this module before the program of the process.
if (process.execArgv.includes(import.meta.url) || process.env['NODE_OPTIONS']?.includes(import.meta.url)) {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (!GROUPS.some(({ constants }) => Object.keys(constants).some((file) => url.endsWith(file)))) return loaded
      const source = Buffer.from(loaded.source as Uint8Array | string).toString()
      return { ...loaded, source: scaleTime(url, source) }
    },
  })
}
