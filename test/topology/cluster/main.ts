/**
 * What `make cluster` runs: the cluster topology on this machine, on two API processes, until SIGTERM or Ctrl-C. It says where everything
 * is, and last that it is ready. Nothing of it outlasts this process but the data folder, with the generated keys and identities.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ENGINES } from '@platen/contract/render.ts'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { SERVICE_BUCKET, startCluster } from './cluster.ts'

const PORT_DEFAULT = 8080

if (import.meta.main) process.exit(await main(process.env))

async function main(env: NodeJS.ProcessEnv): Promise<number> {
  const stop = Promise.withResolvers<void>()
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => stop.resolve())
  const port = Number(env['PLATEN_PORT'] || PORT_DEFAULT)
  const manifestsDir = resolve(env['PLATEN_MANIFESTS_DIR'] || 'examples')
  const dataDir = join(resolve(env['PLATEN_DATA_DIR'] || 'data'), 'cluster')
  const chromium = env['PLATEN_CHROMIUM']
  const hasBrowser = chromium !== 'none' && (await findChromium({ configured: chromium })) !== undefined
  if (!hasBrowser) say('no chromium, and so no renderer of html: renderer/install-chromium.sh installs it')
  const starting = startCluster({
    settings: settingsIn(env),
    manifestsDir,
    dataDir,
    apiPorts: [port, port === 0 ? 0 : port + 1],
    engines: hasBrowser ? ENGINES : ['react_pdf'],
  })
  const cluster = await starting.catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  })
  if (cluster === undefined) return 1
  const { redis, s3, broker, urls, connections } = cluster
  say(`redis ${redis.url}`)
  say(`kafka ${broker}`)
  say(`s3 ${s3.endpoint}`)
  say(
    `  bucket ${SERVICE_BUCKET}, key ${connections['AWS_ACCESS_KEY_ID']}, secret ${connections['AWS_SECRET_ACCESS_KEY']}`,
  )
  const keys = join(dataDir, 'keys')
  if (existsSync(keys)) say(`  api keys in ${keys}`)
  say(`  second api process at ${urls[1]}`)
  say(`ready ${urls[0]}`)
  await stop.promise
  const code = await cluster.stop()
  await cluster[Symbol.asyncDispose]()
  return code ?? 1
}

/** The settings of this process, but for those that the cluster has of its own. */
function settingsIn(env: NodeJS.ProcessEnv): Record<string, string> {
  const own = /^PLATEN_(PORT|HOST|METRICS_PORT|DATA_DIR|MANIFESTS_DIR|REDIS_|KAFKA_|S3_|TEST_)/
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value = '']) =>
      name.startsWith('PLATEN_') && !own.test(name) ? [[name, value]] : [],
    ),
  )
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
