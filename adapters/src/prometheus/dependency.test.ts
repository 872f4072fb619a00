import { expect, test } from 'vitest'
import { openedMetrics } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { dependencyMeters } from './dependency.ts'

test('calls of a dependency are counted by their result, and only those that were not canceled are timed', async () => {
  const { metrics, seriesOf } = openedMetrics()
  const clock = manualClock()
  let isUp = true
  const meter = dependencyMeters(metrics, clock).add('s3', () => isUp)
  const signals = [new AbortController(), new AbortController()] as const
  const call = async (signal: AbortSignal, ms: number) => {
    const slept = meter.measure('get', () => clock.sleep(ms, signal), signal).catch(() => undefined)
    await clock.advance(ms)
    return slept
  }
  await call(signals[0].signal, 2000)
  signals[0].abort(new DOMException('late', 'TimeoutError'))
  await call(signals[0].signal, 1000)
  signals[1].abort()
  await call(signals[1].signal, 1000)
  const refused = meter.measure('put', () => Promise.reject(new Error('503')), signals[1].signal)
  await expect(refused).rejects.toThrow('503')
  isUp = false
  expect(await seriesOf('dependency_calls')).toEqual([
    'platen_dependency_calls_total{dependency="s3",operation="put",result="error"} 1',
    ...['ok', 'timeout', 'canceled'].map(
      (result) => `platen_dependency_calls_total{dependency="s3",operation="get",result="${result}"} 1`,
    ),
  ])
  expect(await seriesOf('dependency_call_duration_seconds_(count|sum)')).toEqual([
    'platen_dependency_call_duration_seconds_count{dependency="s3",operation="put"} 1',
    'platen_dependency_call_duration_seconds_sum{dependency="s3",operation="get"} 3',
    'platen_dependency_call_duration_seconds_count{dependency="s3",operation="get"} 2',
  ])
  expect((await metrics.text()).split('\n')).toContain('platen_dependency_up{dependency="s3"} 0')
})

test('connections that break are counted from the start, before the dependency is there', async () => {
  const { metrics, seriesOf } = openedMetrics()
  const dependencies = dependencyMeters(metrics, manualClock())
  dependencies.connectionBroke('kafka')
  dependencies.add('kafka', () => true)
  dependencies.add('redis', () => true)
  const of = (name: string) => `platen_dependency_connections_broken_total{dependency="${name}"}`
  expect(await seriesOf('dependency_connections')).toEqual([`${of('kafka')} 1`])
  expect((await metrics.text()).split('\n')).toContain(`${of('redis')} 0`)
})
