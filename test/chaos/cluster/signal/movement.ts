/** How a series shows a fault: what is read of it in each process, and when it has moved. */
import { type Exposition, sumOf } from './exposition.ts'

/** By process, in the same order each time. Undefined where a process does not answer. */
type Values = readonly (number | undefined)[]

interface Rule {
  /** Reads the value in one process; undefined where it has none. The sum of the series of the selector if absent. */
  readonly read?: (exposition: Exposition, selector: string) => number | undefined
  /** May a fault begin? Not while the one before can still be seen. Always if absent. */
  readonly isCalm?: (values: Values) => boolean
  readonly hasMoved: (now: Values, before: Values) => boolean
}

const SECOND_MS = 1000
/** As in the condition of PlatenClockWrong. */
const CLOCK_SECONDS_OFF_MAX = 60

const someNow = (isMoved: (now: number, before: number) => boolean) => (now: Values, before: Values) =>
  now.some((value, at) => {
    const known = before[at]
    return value !== undefined && known !== undefined && isMoved(value, known)
  })
const isOff = (seconds: number | undefined) => seconds !== undefined && Math.abs(seconds) > CLOCK_SECONDS_OFF_MAX
const sum = (values: Values) => values.reduce<number>((total, value = 0) => total + value, 0)

/** As docs/metrics.md says it of the metric. */
const MOVEMENTS = {
  rises: { hasMoved: someNow((now, before) => now > before) },
  changes: { hasMoved: someNow((now, before) => now !== before) },
  'falls to 0': {
    isCalm: (values) => values.every((value) => value !== 0),
    hasMoved: (now) => now.includes(0),
  },
  'falls to 0 in all processes': {
    isCalm: (values) => sum(values) > 0,
    hasMoved: (now) => sum(now) === 0,
  },
  'falls behind le="+Inf"': {
    read(exposition, selector) {
      const [within, all] = [selector, selector.replace(/le="[^"]*"/, 'le="+Inf"')].map((each) =>
        sumOf(exposition, each),
      )
      return within === undefined || all === undefined ? undefined : all - within
    },
    hasMoved: someNow((now, before) => now > before),
  },
  'differs from the time by more than a minute': {
    read(exposition, selector) {
      const seconds = sumOf(exposition, selector)
      return seconds === undefined ? undefined : seconds - exposition.at / SECOND_MS
    },
    isCalm: (values) => !values.some(isOff),
    hasMoved: (now) => now.some(isOff),
  },
} as const satisfies Readonly<Record<string, Rule>>

export type Movement = keyof typeof MOVEMENTS

/** Follows one series through the scrapes of all processes. */
export function movementOf(name: Movement, selector: string): Required<Omit<Rule, 'read'>> & ReadValues {
  const { read = sumOf, isCalm = () => true, hasMoved }: Rule = MOVEMENTS[name]
  return {
    isCalm,
    hasMoved,
    valuesIn: (scrape) => scrape.map((each) => (each === undefined ? undefined : read(each, selector))),
  }
}

interface ReadValues {
  readonly valuesIn: (scrape: readonly (Exposition | undefined)[]) => Values
}
