/** Every series that a process of ours shows, as Prometheus has it once it has scraped it, and what a query names that is none of it. */
import { expositions } from './exposition.ts'
import { type Query, readQuery, type Selector } from './promql.ts'

type Labels = Readonly<Record<string, string>>
export interface Series {
  readonly metric: string
  readonly labels: Labels
}

/** What Prometheus adds to a series: where it has it from. The namespace comes with the chart's PodMonitor. */
const TARGET = ['namespace', 'job', 'instance']

/** All series of all processes. Those of one group come from one process. */
export async function allSeries(): Promise<readonly Series[]> {
  const texts = await Promise.all(
    Object.entries(await expositions({ withProcess: true })).map(
      async ([group, metrics]) => [group, await metrics.text()] as const,
    ),
  )
  return texts.flatMap(([group, text]) =>
    [...text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)].map(([, metric = '', labels = '']) => ({
      metric,
      labels: { ...labelsOf(labels), namespace: 'platen', job: 'platen', instance: group.replaceAll(' ', '-') },
    })),
  )
}

function labelsOf(text: string): Labels {
  return Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]))
}

/** As it is written in a query. */
export function textOf({ metric, labels }: Series): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
  return `${metric}{${pairs.join(',')}}`
}

/** What a query names that there is not: metrics, labels of them, and values of those. */
export function unknownIn(text: string, series: readonly Series[]): readonly string[] {
  const query = readQuery(text)
  if (query.selectors.length === 0) return ['it names no metric']
  return [...query.selectors.flatMap((selector) => unknownOf(selector, series)), ...unknownLabels(query, series)]
}

function unknownOf({ metric, matchers }: Selector, series: readonly Series[]): readonly string[] {
  const own = series.filter((each) => each.metric === metric)
  if (own.length === 0) return [metric]
  return matchers.flatMap(({ label, isPattern, value }) => {
    const values = new Set(own.flatMap(({ labels }) => labels[label] ?? []))
    if (values.size === 0) return [`${metric}{${label}}`]
    // Each of several must exist, and for a pattern something that it matches.
    const wanted = isPattern ? value.split('|') : [value]
    const isThere = (each: string) => [...values].some((known) => new RegExp(`^(?:${each})$`).test(known))
    return wanted.filter((each) => !isThere(each)).map((each) => `${metric}{${label}="${each}"}`)
  })
}

function unknownLabels({ selectors, labels }: Query, series: readonly Series[]): readonly string[] {
  const metrics = new Set(selectors.map(({ metric }) => metric))
  const known = new Set([
    ...TARGET,
    ...series.filter(({ metric }) => metrics.has(metric)).flatMap((each) => Object.keys(each.labels)),
  ])
  return labels.filter((label) => !known.has(label)).map((label) => `by (${label})`)
}
