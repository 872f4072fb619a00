import { expect, test } from 'vitest'
import { openRegistry } from './registry.ts'

const OPEN = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3'
const TRACE = 'a'.repeat(32)

/** A registry with a counter and a histogram, which has seen durations of 0.05 and 3 seconds, one of them in a trace. */
function opened(traceId: string | undefined) {
  const metrics = openRegistry()
  metrics.counter('renders_total', 'Renders.', { engine: ['html'] }).inc({ engine: 'html' })
  metrics.observableCounter('lost_total', 'Lost.', () => 7)
  metrics.observableGauge('up', 'Up.', () => 1)
  const duration = metrics.tracedHistogram('duration_seconds', 'Duration.', {
    buckets: [0.1, 1],
    labels: { engine: ['html'] },
  })
  duration.observe({ engine: 'html' }, 0.05, undefined)
  duration.observe({ engine: 'html' }, 3, traceId)
  return metrics
}

test('a scrape that takes OpenMetrics gets the trace of an example, and everything else as before', async () => {
  const { contentType, text } = await opened(TRACE).exposition(OPEN)
  expect(contentType).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
  expect(text.replace(/ \d+\.\d+$/m, ' <time>')).toBe(`# HELP renders Renders.
# TYPE renders counter
renders_total{engine="html"} 1
# HELP lost Lost.
# TYPE lost counter
lost_total 7
# HELP up Up.
# TYPE up gauge
up 1
# HELP duration_seconds Duration.
# TYPE duration_seconds histogram
duration_seconds_bucket{le="0.1",engine="html"} 1
duration_seconds_bucket{le="1",engine="html"} 1
duration_seconds_bucket{le="+Inf",engine="html"} 2 # {trace_id="${TRACE}"} 3 <time>
duration_seconds_sum{engine="html"} 3.05
duration_seconds_count{engine="html"} 2
# EOF
`)
})

test.for([undefined, 'text/plain;version=0.0.4', '*/*'])(
  'a scrape that takes %s gets what it got before there were exemplars, also after one in OpenMetrics',
  async (accept) => {
    const metrics = opened(TRACE)
    await metrics.exposition(OPEN)
    const { contentType, text } = await metrics.exposition(accept)
    expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(text).toBe(await opened(undefined).text())
    expect(text).toContain('# TYPE renders_total counter')
  },
)

test('without an exemplar every scrape gets the format of Prometheus', async () => {
  expect((await opened(undefined).exposition(OPEN)).contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
})
