/**
 * Prometheus metrics, with prom-client. Labels have values from closed sets only, since the number of tenants, templates, hosts and ids has
 * no limit. The exception is `tenantMeter`, on request.
 */
import { Counter, Gauge, Histogram, type OpenMetricsContentType, Registry } from 'prom-client'

/** A label whose values are known only later has none here. */
type Labels<Label extends string> = Readonly<Record<Label, readonly string[]>>

/**
 * Each name can be added once, so functions that add metrics are called once per registry. Each series that is known when its metric is
 * added exists as 0 from the first scrape. Else a rate would miss the count with which a series appears.
 */
export interface Metrics {
  text(): Promise<string>
  /** Answers a scrape: in OpenMetrics if `accept` has that and there are exemplars, which the other format lacks. */
  exposition(accept: string | undefined): Promise<Exposition>
  readonly registry: Registry
  counter<Label extends string = never>(name: string, help: string, labels?: Labels<Label>): Counter<Label>
  gauge<Label extends string = never>(name: string, help: string, labels?: Labels<Label>): Gauge<Label>
  /** `buckets` are upper bounds, in the unit of the metric. */
  histogram<Label extends string = never>(
    name: string,
    help: string,
    options: { readonly buckets: number[]; readonly labels?: Labels<Label> },
  ): Histogram<Label>
  /** Buckets have exemplars with the trace id, if one is given. */
  tracedHistogram<Label extends string = never>(
    name: string,
    help: string,
    options: { readonly buckets: number[]; readonly labels?: Labels<Label> },
  ): TracedHistogram<Label>
  /** `read` returns the values at each scrape, by label value. It must neither wait nor throw. */
  labelledGauge(name: string, help: string, options: { readonly label: string; readonly read: () => Labelled }): void
  /** `read` returns the value at each scrape. It must neither wait nor throw. */
  observableGauge(name: string, help: string, read: () => number): void
  /** `read` returns the count since the start at each scrape. It must neither wait nor throw. */
  observableCounter(name: string, help: string, read: () => number): void
}

interface Exposition {
  readonly contentType: string
  readonly text: string
}

interface TracedHistogram<Label extends string> {
  observe(labels: Readonly<Record<Label, string>>, value: number, traceId: string | undefined): void
  zero(labels: Readonly<Record<Label, string>>): void
}

type Labelled = Readonly<Record<string, number>>

const NONE: Labels<string> = {}

export function openRegistry(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  let hasExemplars = false
  return {
    text: () => registry.metrics(),
    async exposition(accept = '') {
      const isOpen = hasExemplars && accept.includes('application/openmetrics-text')
      const shown = isOpen ? openMetricsOf(registry) : registry
      return { contentType: shown.contentType, text: await shown.metrics() }
    },
    registry,
    counter(name, help, labels = NONE) {
      const counter = new Counter({ name, help, labelNames: Object.keys(labels), registers })
      for (const series of seriesOf(labels)) counter.inc(series, 0)
      return counter
    },
    gauge(name, help, labels = NONE) {
      const gauge = new Gauge({ name, help, labelNames: Object.keys(labels), registers })
      for (const series of seriesOf(labels)) gauge.set(series, 0)
      return gauge
    },
    histogram(name, help, { buckets, labels = NONE }) {
      const histogram = new Histogram({ name, help, labelNames: Object.keys(labels), buckets, registers })
      for (const series of seriesOf(labels)) histogram.zero(series)
      return histogram
    },
    tracedHistogram(name, help, options) {
      const histogram = addTracedHistogram(registry, { name, help, ...options })
      return {
        zero: (series) => histogram.zero(series),
        observe(series, value, traceId) {
          hasExemplars ||= traceId !== undefined
          histogram.observe(series, value, traceId)
        },
      }
    },
    labelledGauge(name, help, { label, read }) {
      const collect = () => {
        gauge.reset()
        for (const [value, measured] of Object.entries(read())) gauge.set({ [label]: value }, measured)
      }
      const gauge: Gauge = new Gauge({ name, help, labelNames: [label], registers, collect })
    },
    observableGauge(name, help, read) {
      const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(read()) })
    },
    observableCounter(name, help, read) {
      const counter: Counter = new Counter({
        name,
        help,
        registers,
        collect() {
          counter.reset()
          counter.inc(read())
        },
      })
    },
  }
}

interface HistogramOptions<Label extends string> {
  readonly name: string
  readonly help: string
  readonly buckets: number[]
  readonly labels?: Labels<Label>
}

function addTracedHistogram<Label extends string>(
  registry: Registry,
  { labels, ...options }: HistogramOptions<Label>,
): TracedHistogram<Label> {
  const labelNames = Object.keys(labels ?? NONE)
  const histogram = new Histogram<string>({ ...options, labelNames, registers: [], enableExemplars: true })
  // The constructor would refuse a registry of this format, in which exemplars are left out.
  registry.registerMetric(histogram)
  for (const series of seriesOf(labels ?? NONE)) histogram.zero(series)
  return {
    zero: (series) => histogram.zero(series),
    observe(series, value, traceId) {
      const exemplarLabels = traceId === undefined ? NO_EXEMPLAR : { trace_id: traceId }
      histogram.observe({ labels: series, value, exemplarLabels })
    },
  }
}

const NO_EXEMPLAR = {}

/** A view of the metrics in OpenMetrics. prom-client renames counters for that format, so the view gets derived objects. */
function openMetricsOf(registry: Registry): Registry<OpenMetricsContentType> {
  const view = new Registry<OpenMetricsContentType>()
  view.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  for (const metric of registry.getMetricsAsArray()) view.registerMetric(Object.create(metric))
  return view
}

function seriesOf(labels: Labels<string>): readonly Record<string, string>[] {
  return Object.entries(labels).reduce<readonly Record<string, string>[]>(
    (series, [label, values]) => series.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}],
  )
}
