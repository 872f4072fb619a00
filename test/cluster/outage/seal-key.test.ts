/** What an events process does when its seal key opens no webhook secret. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { readSealKeyReports } from '@platen/adapters/redis/directory/seal-key-report.ts'
import { sealKeyId } from '@platen/lib/seal.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { poll } from '../../time/poll.ts'
import type { TestCluster } from '../../topology/cluster/test-cluster.ts'
import { spawnService } from '../../topology/embedded.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../../topology/receiver.ts'
import { freePorts } from '../../topology/server/port.ts'
import { submit } from '../../topology/service.ts'
import { aCluster, aTenant, redisOf } from '../harness.ts'

const LIVE = `service_live_${'L'.repeat(43)}`

let cluster: TestCluster
beforeAll(async () => {
  cluster = await aCluster({ documents: aTenant('acme', LIVE, {}), settings: LOOPBACK_ALLOWED })
})
afterAll(() => cluster[Symbol.asyncDispose]())

test('an events process with the wrong seal key is not ready, says why, reports its key, and sends nothing', async ({
  signal,
}) => {
  await using receiver = await aReceiver()
  await cluster.processes('events')[0]?.stop()
  await submit(cluster.at(0), LIVE, { template: 'letter', data: {}, webhook_url: receiver.url })

  const port = await freePorts(1)
  const sealKey = randomBytes(32)
  const settings = {
    ...cluster.connections,
    ...LOOPBACK_ALLOWED,
    PLATEN_SEAL_KEY: sealKey.toString('base64'),
    PLATEN_METRICS_PORT: `${port}`,
  }
  const child = spawnService(settings, { program: [join(import.meta.dirname, '../../../events/src/main.ts')] })
  signal.addEventListener('abort', () => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  let log = ''
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
  }
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
  const exposed = await poll(() => ask('/metrics').catch(() => '')).until((metrics) =>
    /^platen_webhook_deferrals_total{reason="secret_unreadable"} 1$/m.test(metrics),
  )
  expect(exposed).toMatch(/^platen_webhook_deferrals_total{reason="secret_missing"} 0$/m)
  expect(JSON.parse(await ask('/readyz'))).toMatchObject({ ready: false, detail: { canSign: false } })
  expect(await ask('/livez')).toBe('{"alive":true}')
  expect(log.split('\n').filter((line) => line.includes('webhooks cannot be signed'))).toEqual([
    expect.stringContaining('"tenant":"acme","reason":"secret_unreadable"'),
  ])
  await using redis = await redisOf(cluster, signal)
  const reported = async () => (await readSealKeyReports(redis, signal)).map(({ sealKeys }) => sealKeys)
  // The report of the process that was stopped is gone.
  expect(await reported()).toEqual([[sealKeyId(sealKey)]])
  child.kill('SIGTERM')
  await ended
  expect(await reported()).toEqual([])
  expect(receiver.received).toEqual([])
})
