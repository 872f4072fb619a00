/** Tests that scaled waits keep their order, among themselves and compared with waits that are not scaled. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { GROUPS, isTimeReal, scaledTimeOptions, scaleTime } from './scaled-time.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Modules of waits that are not scaled, and of those that are. */
const UNSCALED = [
  '/contract/src/domain/limit.ts',
  '/api/src/admission/limit.ts',
  '/operator/src/reconcile/limit.ts',
  '/events/src/replay.ts',
]
const FILES = [...new Set([...UNSCALED, ...GROUPS.flatMap(({ constants }) => Object.keys(constants))])]
const SCALED: Readonly<Record<string, unknown>> = Object.assign(
  {},
  ...(await Promise.all(FILES.map((file) => import(join(ROOT, file))))),
)

/** Each wait is shorter than the next, whatever the scale. */
const ORDERS: readonly (readonly string[])[] = [
  ['KAFKA_HEARTBEAT_MS', 'KAFKA_SESSION_MS', 'SYNC_START_MS_MAX'],
  ['CLAIM_RENEW_MS', 'CLAIM_LEASE_MS'],
  ['LEASE_RETRY_MS', 'LEASE_HELD_MS_MAX', 'LEASE_MS'],
  ['DIRECTORY_REPAIR_MS', 'DIRECTORY_AUDIT_MS'],
  ['PUBLISH_RETRY_MS', 'DIRECTORY_AUDIT_MS'],
  ['PROJECTION_RETRY_MS', 'CHARGES_AUDITED_EVERY_MS'],
  ['ERASURES_LOOKED_FOR_EVERY_MS', 'ERASURE_HELD_MS'],
]

describe.for(['as the tests have it', 'as the product has it'] as const)('time %s', (whose) => {
  const valueOf = (name: string) => Number(whose === 'as the tests have it' ? SCALED[name] : real()[name])

  test.for(ORDERS)('has %s in this order', (order) => {
    const values = order.map(valueOf)
    expect(values).not.toContain(Number.NaN)
    expect(values).toEqual(values.toSorted((one, other) => one - other))
    expect(new Set(values).size).toBe(values.length)
  })
})

test.skipIf(isTimeReal)('waits of one group keep their ratios', () => {
  for (const { divisor, constants } of GROUPS)
    for (const name of Object.values(constants).flat())
      expect({ name, is: SCALED[name] }).toEqual({ name, is: Math.ceil(Number(real()[name]) / divisor) })
})

test.skipIf(isTimeReal)('processes of a test have the time of the test', () => {
  const found = constantsOf({ ...process.env, NODE_OPTIONS: scaledTimeOptions() })
  for (const name of GROUPS.flatMap(({ constants }) => Object.values(constants).flat()))
    expect({ name, is: found[name] }).toEqual({ name, is: SCALED[name] })
})

test('a wait that is not declared as expected is an error', () => {
  expect(() => scaleTime('file:///renderer/src/worker/limit.ts', 'export const OTHER_MS = 5')).toThrow('CLAIM_LEASE_MS')
})

let known: Readonly<Record<string, unknown>> | undefined

function real(): Readonly<Record<string, unknown>> {
  known ??= constantsOf({ ...process.env, NODE_OPTIONS: '' })
  return known
}

/** Reads the scaled constants in a Node process with this environment. */
function constantsOf(env: NodeJS.ProcessEnv): Readonly<Record<string, unknown>> {
  const program = `
    const all = await Promise.all(${JSON.stringify(FILES)}.map((file) => import(${JSON.stringify(ROOT)} + file)))
    console.log(JSON.stringify(Object.assign({}, ...all)))`
  // The program prints an object.
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', program], { env }).toString())
}
