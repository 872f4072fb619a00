/** What `make cluster` and `make kube` run, as a test starts it: everything it makes is below one folder. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ROOT } from '../../architecture/source-tree.ts'
import { membersOf, treeOf } from '../../soak/process-tree.ts'
import { spawnService } from '../embedded.ts'
import { freePorts } from '../server/free-port.ts'

/** Disposing of it kills it. */
export interface Made extends AsyncDisposable {
  readonly child: ChildProcess
  /** That of the first API process; the second one's follows it. */
  readonly port: number
  /** All it has said, the last line being that it is ready. */
  readonly lines: readonly string[]
  /** Its exit code, once it has gone. */
  readonly exited: Promise<number | null>
  /** What still runs of the processes it had started when it was ready, by their commands. */
  readonly left: () => Promise<readonly string[]>
}

export interface MadeOptions {
  readonly what: 'cluster' | 'kube'
  readonly folder: string
  /** Settings besides. */
  readonly env?: Readonly<Record<string, string>>
}

/** Resolves when it is ready; throws what it says where it does not come to that. It ends when the signal aborts. */
export async function startMade({ what, folder, env = {} }: MadeOptions, signal: AbortSignal): Promise<Made> {
  const port = await freePorts(2)
  const child = spawnService(
    {
      PLATEN_PORT: `${port}`,
      PLATEN_DATA_DIR: join(folder, 'data'),
      PLATEN_MANIFESTS_DIR: join(ROOT, 'examples'),
      TMPDIR: folder,
      ...env,
    },
    { program: [join(ROOT, 'test/topology/cluster/main.ts'), what] },
  )
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  await using stack = new AsyncDisposableStack()
  // The guards of its processes end those when this ends it.
  const kill = () => void child.kill('SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  stack.defer(async () => {
    kill()
    await exited
  })
  let err = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (line.startsWith('ready ')) break
  }
  if (!lines.at(-1)?.startsWith('ready ')) throw new Error(`it did not start:\n${err}`)
  const below = treeOf(child.pid ?? 0)
  const groups = new Set(below.map(({ group }) => group))
  // That of this process is that of the test, too.
  for (const { pid, group } of below) if (pid === child.pid) groups.delete(group)
  const owned = stack.move()
  return {
    child,
    port,
    lines,
    exited,
    left: async () => membersOf(...groups).map(({ command }) => command),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
