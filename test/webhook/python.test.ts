/** The Python of docs/webhooks.md, run on deliveries that the service signs, with the package of PyPI. */
import { execFile, execFileSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { signatureHeaders } from '@platen/events/webhook/sign.ts'
import { expect, test } from 'vitest'
import { ROOT, readText } from '../architecture/source-tree.ts'
import { readVectors } from './vector.ts'

const [, code = ''] = /^```python\n([^]*?)^```$/m.exec(readText('docs/webhooks.md')) ?? []
const DELIVERY_ID = '0190a3c4-61aa-7c3d-8e4f-5a6b7c8d9e0f'

/** `make test` installs it below `out`. */
const paths = [join(ROOT, 'out/python'), process.env['PYTHONPATH'] ?? '']
const env = { ...process.env, PYTHONPATH: paths.filter(Boolean).join(delimiter), PYTHONDONTWRITEBYTECODE: '1' }

/** Runs what the document shows for each delivery, and prints what comes of it. */
const PROGRAM = `
import json, sys
from standardwebhooks import WebhookVerificationError

results = []
for delivery in json.load(sys.stdin):
    names = {name: delivery[name] for name in ("secret", "headers")} | {"raw_body": delivery["body"].encode()}
    try:
        exec(${JSON.stringify(code)}, names)
        results.append(names["event"])
    except WebhookVerificationError as error:
        results.append(str(error))
print(json.dumps(results))
`

test.skipIf(isMissing() && process.env['CI'] !== 'true')(
  'the package standardwebhooks of PyPI verifies deliveries as documented',
  async () => {
    const secrets = readVectors().flatMap(({ secret, previous }) =>
      previous === undefined ? [secret] : [secret, previous],
    )
    const now = Math.floor(Date.now() / 1000)
    const body = JSON.stringify({ id: 'zażółć 🦊', status: 'failed' })
    const aDelivery = (secret: string, timestampS: number) => {
      const signed = { secrets: { oldest: 'another', all: ['another', secret] }, brand: 'service', timestampS }
      return { secret, body, headers: signatureHeaders({ id: DELIVERY_ID, type: 'render.failed', body, ...signed }) }
    }
    const good = [...new Set(secrets)].map((secret) => aDelivery(secret, now))
    const changed = { ...aDelivery('secret', now), body: `${body} ` }
    const results = await verified([...good, changed, aDelivery('secret', now - 400), aDelivery('secret', now + 400)])
    expect(good.length).toBeGreaterThan(5)
    expect(results).toEqual([
      ...good.map(() => JSON.parse(body)),
      'No matching signature found',
      'Message timestamp too old',
      'Message timestamp too new',
    ])
  },
)

function isMissing(): boolean {
  try {
    execFileSync('python3', ['-c', 'import standardwebhooks'], { env, stdio: 'ignore' })
    return false
  } catch {
    return true
  }
}

async function verified(deliveries: readonly object[]): Promise<unknown> {
  const python = promisify(execFile)('python3', ['-c', PROGRAM], { env })
  python.child.stdin?.end(JSON.stringify(deliveries))
  const { stdout } = await python
  return JSON.parse(stdout)
}
