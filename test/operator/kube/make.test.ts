/** What becomes of a Kubernetes API when whoever has started it dies; the other processes of `make kube` are those of `make cluster`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { ROOT } from '../../architecture/source-tree.ts'
import { aFolder } from '../../fixture/lifetime.ts'
import { membersOf, treeOf } from '../../soak/process-tree.ts'
import { poll } from '../../time/poll.ts'

const SCRIPT = `
  import { startInstalledKube } from ${JSON.stringify(join(ROOT, 'test/topology/cluster/kube.ts'))}
  await startInstalledKube()
  console.log('ready')`

test('leaves nothing behind when it is killed', { timeout: 300_000 }, async () => {
  const folder = aFolder()
  const child = spawn(process.execPath, ['--input-type=module', '--eval', SCRIPT], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: folder },
  })
  const exited = once(child, 'exit')
  await once(createInterface(child.stdout), 'line')
  const groups = new Set(treeOf(child.pid ?? 0).flatMap(({ pid, group }) => (pid === child.pid ? [] : [group])))
  const left = async () => membersOf(...groups).map(({ command }) => command)
  const names = ['etcd', 'kube-apiserver']
  const [before, folders] = [await left(), await readdir(folder)]
  for (const name of names) {
    expect(before).toContainEqual(expect.stringContaining(`/${name} `))
    expect(folders).toContainEqual(expect.stringContaining(`platen-${name}-`))
  }
  child.kill('SIGKILL')
  await exited
  expect(await poll(left).until((commands) => commands.length === 0)).toEqual([])
  const isEmpty = (found: readonly string[]) => found.length === 0
  expect(await poll(() => readdir(folder)).until(isEmpty)).toEqual([])
})
