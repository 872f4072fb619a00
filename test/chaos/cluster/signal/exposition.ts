/** What processes show at `/metrics`, read as Prometheus reads it. */
import type { ServerProcess } from '../../../topology/server/process.ts'

export interface Exposition {
  /** When it was read, by the clock of this process, in milliseconds. */
  readonly at: number
  readonly samples: readonly Sample[]
}

export interface Sample {
  readonly metric: string
  /** As in the text, without braces. */
  readonly labels: string
  readonly value: number
}

/** One exposition of each process, in their order; undefined of one that does not answer. */
export type Scrape = readonly (Exposition | undefined)[]

/** A process that stands still answers nothing. */
const SCRAPE_MS_MAX = 1000

export async function scrape(processes: readonly ServerProcess[]): Promise<Scrape> {
  return await Promise.all(
    processes.map(async ({ ports: [, probes] }) => {
      const signal = AbortSignal.timeout(SCRAPE_MS_MAX)
      const text = await fetch(`http://127.0.0.1:${probes}/metrics`, { signal })
        .then((answer) => answer.text())
        .catch(() => undefined)
      return text === undefined ? undefined : { at: Date.now(), samples: samplesIn(text) }
    }),
  )
}

function samplesIn(text: string): readonly Sample[] {
  return [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, metric = '', labels = '', value]) => ({
    metric,
    labels,
    value: Number(value),
  }))
}

/** The sum of the series that a selector matches, by labels with `=` only; undefined if there are none. */
export function sumOf({ samples }: Exposition, selector: string): number | undefined {
  const [metric, matchers = ''] = selector.split(/[{}]/)
  const wanted = matchers === '' ? [] : matchers.split(',')
  const own = samples.filter((each) => each.metric === metric && wanted.every((label) => each.labels.includes(label)))
  return own.length === 0 ? undefined : own.reduce((sum, { value }) => sum + value, 0)
}
