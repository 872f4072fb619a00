/** The Python client: its own tests against the real service, its types, its style. */
import { describe, expect, test } from 'vitest'
import { aFolder, shared } from '../fixture/lifetime.ts'
import { ACME_LIVE, ACME_WEBHOOK_SECRET, METERED_LIVE, NARROW_LIVE, NARROW_TEST } from '../fixture/manifests.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { LOOPBACK_ALLOWED } from '../topology/receiver.ts'
import { isMissing, runModule } from './python.ts'

describe.skipIf(isMissing())('the Python client', () => {
  const service = shared(() => startEmbedded({ PLATEN_CHROMIUM: 'none', ...LOOPBACK_ALLOWED }))

  test('passes its own tests, against the service', async () => {
    const keys = { acme: ACME_LIVE, metered: METERED_LIVE, narrow_live: NARROW_LIVE, narrow_test: NARROW_TEST }
    const PLATEN_TEST_SERVICE = JSON.stringify({ url: service().url(), secret: ACME_WEBHOOK_SECRET, ...keys })
    const args = ['--quiet', '--color=no', '--basetemp', aFolder()]
    const output = await runModule('pytest', args, { PLATEN_TEST_SERVICE })
    expect(output).toMatch(/^\d{3,} passed in /m)
  })

  test('has types that mypy takes when it is strict', async () => {
    expect(await runModule('mypy', [])).toMatch(/^Success: no issues found in \d+ source files\n$/)
  })

  test('has no fault that ruff finds, and is formatted by it', async () => {
    await runModule('ruff', ['check', '--no-cache', '.'])
    await runModule('ruff', ['format', '--no-cache', '--check', '.'])
  })
})
