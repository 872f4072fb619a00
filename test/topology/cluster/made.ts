/** Starts the program behind `make cluster` and `make kube`. Everything it creates is below one folder. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ROOT } from '../../architecture/source-tree.ts'
import { membersOf, treeOf } from '../../soak/process-tree.ts'
import { spawnService } from '../embedded.ts'
import { freePorts } from '../server/port.ts'

/** Disposing kills it. */
export interface Made extends AsyncDisposable {
  readonly child: ChildProcess
  /** Port of the first API process. The second one has the next port. */
  readonly port: number
  /** All lines it has printed. The last one says that it is ready. */
  readonly lines: readonly string[]
  readonly exited: Promise<number | null>
  /** Commands of child processes that ran when it became ready, and still run. */
  readonly left: () => Promise<readonly string[]>
}

export interface MadeOptions {
  readonly what: 'cluster' | 'kube'
  readonly folder: string
  readonly env?: Readonly<Record<string, string>>
}

/** Resolves when the program is ready. Throws with its output when it does not start. The signal ends it. */
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
  // Its child processes have guards, which end them when it is killed.
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
  // The program itself is in the group of the test, so that group does not count.
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
