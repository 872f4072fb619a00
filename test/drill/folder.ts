/** The loss of the data folder of an embedded service. The commands are those of docs/embedded.md. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { documentsOf, type Post, tenantOf } from '../chaos/cluster/rig/rig.ts'
import { endingOf, type Facts, type TellingOf } from '../chaos/cluster/trial/oracle.ts'
import { manifestOf } from '../fixture/manifests.ts'
import { type EmbeddedService, startEmbedded } from '../topology/embedded.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../topology/receiver.ts'
import type { Disaster, Stage } from './rehearsal.ts'

const run = promisify(execFile)

const DOCUMENT = new URL('../../docs/embedded.md', import.meta.url)
const SERVICE_BUCKET = 'platen'

export interface FolderDrill {
  readonly name: string
  readonly steps: string
  readonly disaster: (service: EmbeddedService) => Disaster
}

export const FOLDER_DRILLS: readonly FolderDrill[] = [
  {
    name: 'folder comes back as it was',
    steps: 'copy the folder while the service is paused; on an empty machine, copy it back and start the service',
    disaster: (service) => ({
      backUp: () => runDocumented('kill -STOP', service),
      lose: () => lose(service),
      async restore() {
        await runDocumented('cp --archive backup data', service)
        await service.start()
      },
      mayMiss: ['I1', 'I4'],
    }),
  },
  {
    name: 'folder is lost',
    steps: 'start the service on an empty machine',
    disaster: (service) => ({
      lose: () => lose(service),
      restore: () => service.start(),
      mayMiss: ['I1', 'I3', 'I4', 'I5', 'I7'],
    }),
  },
]

export interface FolderGround extends AsyncDisposable {
  readonly service: EmbeddedService
  readonly stage: Stage
}

/** Starts an embedded service whose tenant declares its account. One render at a time, so that some wait. */
export async function openFolderGround(): Promise<FolderGround> {
  await using stack = new AsyncDisposableStack()
  const receiver = stack.use(await aReceiver())
  const posts: Post[] = []
  receiver.answer((request, response) => {
    const deliveryId = String(request.headers['webhook-id'])
    posts.push({ deliveryId, body: receiver.received.at(-1)?.body ?? '', status: 204 })
    response.writeHead(204).end()
  })
  const tenant = tenantOf(0)
  const settings = { ...LOOPBACK_ALLOWED, PLATEN_CHROMIUM: 'none', PLATEN_RENDER_SLOTS: '1' }
  const service = stack.use(await startEmbedded(settings, manifestOf(documentsOf([tenant], true))))
  const owned = stack.move()
  return {
    service,
    stage: {
      tenant,
      hookUrl: receiver.url,
      url: () => service.url(),
      renderers: [],
      readFacts: () => readFacts(service, posts),
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Runs the commands of the block in docs/embedded.md that begins with this text, where the data folder is. */
async function runDocumented(beginning: string, service: EmbeddedService): Promise<void> {
  const text = await readFile(DOCUMENT, 'utf8')
  const blocks = Array.from(text.matchAll(/^```sh\n(.*?)^```$/gms), ([, block = '']) => block)
  const [commands, ...others] = blocks.filter((block) => block.startsWith(beginning))
  if (commands === undefined || others.length > 0) throw new Error(`docs/embedded.md has no single '${beginning}'`)
  const env = { ...process.env, PID: `${service.pid()}` }
  await run('sh', ['-e', '-c', commands], { cwd: dirname(service.dataDir), env })
}

/** As with the machine. */
async function lose(service: EmbeddedService): Promise<void> {
  await service.kill()
  await rm(service.dataDir, { recursive: true })
}

/** Reads what the service has stored, while it is paused. Of units, only those charged are stored. */
async function readFacts(service: EmbeddedService, posts: readonly Post[]): Promise<Facts> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-drill-'))
  try {
    const [database, stored] = [join(folder, 'platen.db'), join(folder, 'manifest')]
    service.signal('SIGSTOP')
    try {
      await cp(join(service.dataDir, 'artifacts', SERVICE_BUCKET, 'manifest-by-hour'), stored, { recursive: true })
      for (const end of ['', '-wal']) await cp(join(service.dataDir, `platen.db${end}`), `${database}${end}`)
    } finally {
      service.signal('SIGCONT')
    }
    const names = (await readdir(stored, { recursive: true })).filter((name) => name.endsWith('.json'))
    const texts = names.map((name) => readFile(join(stored, name), 'utf8'))
    // The service wrote them.
    const endings = (await Promise.all(texts)).map(endingOf)
    return { ...readDatabase(database), manifests: new Map(endings.map((each) => [each.render.id, each])), posts }
  } finally {
    await rm(folder, { recursive: true })
  }
}

function readDatabase(path: string): Pick<Facts, 'events' | 'usage'> {
  using database = new DatabaseSync(path)
  const events = database.prepare('SELECT event FROM event').all()
  const charges = database.prepare('SELECT period, sum(units) AS units FROM charge GROUP BY period').all()
  return {
    // The service wrote them.
    events: events.map(({ event }) => JSON.parse(String(event)) as TellingOf),
    usage: new Map(charges.map(({ period, units }) => [String(period), { charged: Number(units), reserved: 0 }])),
  }
}
