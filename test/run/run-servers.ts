/**
 * The servers that all tests of a run share. The process that runs the tests starts each server when the first test asks for it. It ends
 * them after the last test. Tests ask by HTTP on loopback, because they run in other processes.
 */
import { createServer, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { startInstalledKube } from '../topology/cluster/kube.ts'
import { type KafkaServer, startKafka } from '../topology/server/kafka.ts'
import type { KubeFacts } from '../topology/server/kube.ts'
import { listening } from '../topology/server/port.ts'
import type { ServerProcess } from '../topology/server/process.ts'

export interface RunServerFacts {
  readonly kafka: Pick<KafkaServer, 'broker' | 'folder'>
  /** Lent to one file at a time, because our resource kinds are cluster-wide. `POST /free`, with the facts as JSON, gives it back. */
  readonly kube: KubeFacts
}

export type RunServerName = keyof RunServerFacts

export interface RunServers extends AsyncDisposable {
  /** `http://host:port`; `GET /<name>` answers with the facts of a server, as JSON. */
  readonly url: string
  /** Servers that ended by themselves, each with the end of its log. Call before disposing. */
  readonly losses: () => readonly string[]
}

/** Variable with the address where the tests of this process ask, while one is open. */
export const RUN_SERVERS_VARIABLE = 'PLATEN_TEST_RUN_SERVERS'

const LOG_TAIL_CHARS = 4000

/** Opens the address where tests ask. Starts no server yet. */
export async function openRunServers(): Promise<RunServers> {
  await using stack = new AsyncDisposableStack()
  const running: ServerProcess[] = []
  const starting = new Set<Promise<unknown>>()
  const servers = stack.use(new AsyncDisposableStack())
  const start = async <Server extends ServerProcess>(starts: Promise<Server>) => {
    starting.add(starts)
    const server = servers.use(await starts)
    running.push(server)
    return server
  }
  let kafka: Promise<KafkaServer> | undefined
  const freeKubes: KubeFacts[] = []
  const lend: { [Name in RunServerName]: () => Promise<RunServerFacts[Name]> } = {
    async kafka() {
      kafka ??= start(startKafka())
      const { broker, folder } = await kafka
      return { broker, folder }
    },
    async kube() {
      const { port, ca, tokens, folder } = freeKubes.pop() ?? (await start(startInstalledKube()))
      return { port, ca, tokens, folder }
    },
  }
  const isName = (name: string): name is RunServerName => Object.hasOwn(lend, name)
  const server = createServer((request, response) => {
    const name = request.url?.slice(1) ?? ''
    if (name === 'free') {
      // `borrowKube` sends this.
      return void json(request).then((facts) => answer(response, 200, { free: freeKubes.push(facts as KubeFacts) }))
    }
    if (!isName(name)) return answer(response, 404, { message: `the run has no server called ${name}` })
    lend[name]().then(
      (facts) => answer(response, 200, facts),
      (error: unknown) => answer(response, 500, { message: String(error) }),
    )
  })
  const { url } = stack.use(await listening(server))
  const owned = stack.move()
  return {
    url,
    losses: () =>
      running
        .filter((server) => !server.isRunning())
        .map(
          (server) => `a shared server ended by itself; the end of its log:\n${server.log().slice(-LOG_TAIL_CHARS)}`,
        ),
    async [Symbol.asyncDispose]() {
      // A test that was stopped may have asked for a server that is still starting.
      await Promise.allSettled(starting)
      await owned.disposeAsync()
    },
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify(body))
}
