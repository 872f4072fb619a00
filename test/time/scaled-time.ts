/**
 * The product's own waits, shortened for tests. Only their declarations are changed, and only while a module is loaded: the product has
 * no setting for it. `vitest.config.ts` asks for it; `REAL_TIME=1` leaves everything as it is, as in the long forms of tests.
 *
 * Waits of one group are divided by one number, so that their ratios stay. `scaled-time.test.ts` checks what has to hold between
 * groups, and between them and what is not scaled.
 */
import { registerHooks } from 'node:module'

interface Group {
  /** Their real values are divided by it. */
  readonly divisor: number
  /** By the end of the module's path. */
  readonly constants: Readonly<Record<string, readonly string[]>>
}

/** How soon somebody who has died or is cut off is missed. Shorter ones would miss those who only wait for a core. */
const LEASES: Group = {
  divisor: 3,
  constants: {
    '/contract/src/limit.ts': ['CLAIM_LEASE_MS'],
    '/contract/src/kafka-limit.ts': ['KAFKA_SESSION_MS'],
    '/operator/src/limit.ts': ['LEASE_MS', 'LEASE_HELD_MS_MAX', 'LEASE_RETRY_MS'],
  },
}

/** How often it is looked whether all is as it should be. */
const AUDITS: Group = {
  divisor: 6,
  constants: {
    '/operator/src/limit.ts': ['DIRECTORY_AUDIT_MS', 'CHECK_AGAIN_MS'],
    '/contract/src/redis-limit.ts': ['CHARGES_AUDITED_EVERY_MS'],
  },
}

/** When what would take for ever is ended: the work of a template, and an answer that nobody reads. */
const DEADLINES: Group = {
  divisor: 4,
  constants: { '/contract/src/limit.ts': ['LIQUID_MS_MAX'], '/contract/src/api-limit.ts': ['ANSWER_STALLED_MS_MAX'] },
}

export const GROUPS: readonly Group[] = [LEASES, AUDITS, DEADLINES]

/** Was this run asked to leave time as it is? */
export const isTimeReal = process.env['REAL_TIME'] === '1'

/** Set by `vitest.config.ts` for the processes of tests. */
const VARIABLE = 'SCALED_TIME'

/** What a test hands on to Node processes, to have them scale their time as it does itself; nothing where time is real. */
export function scaledTimeOptions(): string {
  return process.env[VARIABLE] === '1' ? `--import ${import.meta.url}` : ''
}

/** How Vitest starts the processes of tests whose time is scaled. Threads of theirs load modules without Vitest. */
export const SCALED_TIME = { env: { [VARIABLE]: '1' }, execArgv: ['--import', import.meta.url] }

/** The source of a module with its waits scaled; the same source where it has none. Throws where a wait is not declared as expected. */
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

/** A plugin that scales the modules which Vitest loads itself. */
export function scaledTime() {
  return {
    name: 'scaled-time',
    enforce: 'pre' as const,
    transform: (code: string, id: string) => scaleTime(id, code),
  }
}

// Loaded by `--import`, before the process's own program.
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
