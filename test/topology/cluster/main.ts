/**
 * The program behind `make cluster` and `make kube`: runs the cluster topology on this machine, with two API processes, until SIGTERM or
 * Ctrl-C. `kube` uses a Kubernetes API and two operators instead of `platen publish`. It prints all addresses, and at last that it is
 * ready. Without Kubernetes, the data folder with generated keys and identities remains. Nothing else outlives this process.
 */
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { findBinary } from '../server/binary.ts'
import { ADMIN, type KubeServer } from '../server/kube.ts'
import { type Cluster, type ClusterOptions, SERVICE_BUCKET, startCluster } from './cluster.ts'
import { OPERATOR_PERSONA, startInstalledKube } from './kube.ts'
import { renderSample } from './sample-render.ts'

const PORT_DEFAULT = 8080
/** One leads, the other is on standby. */
const OPERATORS = 2

if (import.meta.main) process.exit(await main(process.env, { hasKube: process.argv[2] === 'kube' }))

async function main(env: NodeJS.ProcessEnv, { hasKube }: { readonly hasKube: boolean }): Promise<number> {
  const stop = Promise.withResolvers<void>()
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => stop.resolve())
  await using stack = new AsyncDisposableStack()
  const start = async () => {
    const kube = hasKube ? stack.use(await startInstalledKube()) : undefined
    const options = { ...(await optionsIn(env)), ...(kube && { kube: await accessTo(kube) }) }
    const cluster = stack.use(await startCluster(options))
    const { urls } = cluster
    if (!hasKube) await renderSample({ ...options, urls, keysDir: join(options.dataDir, 'keys') })
    for (const line of placesOf(cluster)) say(line)
    for (const line of await (kube ? waysInto(kube, env) : keysIn(options.dataDir))) say(line)
    say(`ready ${cluster.urls[0]}`)
    return cluster
  }
  const cluster = await start().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  })
  if (cluster === undefined) return 1
  await stop.promise
  return (await cluster.stop()) ?? 1
}

async function optionsIn(env: NodeJS.ProcessEnv): Promise<ClusterOptions> {
  const port = Number(env['PLATEN_PORT'] || PORT_DEFAULT)
  const chromium = env['PLATEN_CHROMIUM']
  const hasBrowser = chromium !== 'none' && (await findChromium({ configured: chromium })) !== undefined
  if (!hasBrowser) say('no chromium, and so no renderer of html: renderer/install-chromium.sh installs it')
  return {
    settings: settingsIn(env),
    manifestsDir: resolve(env['PLATEN_MANIFESTS_DIR'] || 'examples'),
    dataDir: join(resolve(env['PLATEN_DATA_DIR'] || 'data'), 'cluster'),
    apiPorts: [port, port === 0 ? 0 : port + 1],
    engines: hasBrowser ? ENGINES : ['react_pdf'],
  }
}

async function accessTo(kube: KubeServer): Promise<NonNullable<ClusterOptions['kube']>> {
  return { kubeconfig: await kube.kubeconfig(OPERATOR_PERSONA), operators: OPERATORS }
}

/** Without those that the cluster sets itself. */
function settingsIn(env: NodeJS.ProcessEnv): Record<string, string> {
  const own = /^PLATEN_(PORT|HOST|METRICS_PORT|DATA_DIR|MANIFESTS_DIR|REDIS_|KAFKA_|S3_|TEST_)/
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value = '']) =>
      name.startsWith('PLATEN_') && !own.test(name) ? [[name, value]] : [],
    ),
  )
}

function placesOf({ redis, s3, broker, urls, connections }: Cluster): readonly string[] {
  return [
    `redis ${redis.url}`,
    `kafka ${broker}`,
    `s3 ${s3.endpoint}`,
    `  bucket ${SERVICE_BUCKET}, key ${connections['AWS_ACCESS_KEY_ID']}, secret ${connections['AWS_SECRET_ACCESS_KEY']}`,
    `  second api process at ${urls[1]}`,
  ]
}

function keysIn(dataDir: string): readonly string[] {
  const keys = join(dataDir, 'keys')
  return existsSync(keys) ? [`  api keys in ${keys}`] : []
}

/** What to type before using `kubectl`, which then has all rights. */
async function waysInto(kube: KubeServer, env: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const kubectl = findBinary('kubectl', env)
  return [
    ...(kubectl && kubectl.from !== 'PATH' ? [`export PATH="$PATH:${dirname(kubectl.path)}"`] : []),
    `export KUBECONFIG=${await kube.kubeconfig(ADMIN)}`,
  ]
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
