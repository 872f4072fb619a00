/** Tests the shared servers of a run, and what the run reports when one of them dies or is missing. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../architecture/source-tree.ts'
import { aFolder } from '../fixture/lifetime.ts'
import { processes } from '../soak/process-tree.ts'
import { poll } from '../time/poll.ts'
import { hasServer } from '../topology/server/binary.ts'
import { openRunServers, type RunServerFacts } from './run-servers.ts'

test('a server that nobody shares is refused by name', async () => {
  await using servers = await openRunServers()
  const answer = await fetch(`${servers.url}/mongodb`)
  expect([answer.status, await answer.json()]).toEqual([404, { message: 'the run has no server called mongodb' }])
})

test.skipIf(!hasServer('kafka'))('one that dies is reported, with the end of its log', async () => {
  await using servers = await openRunServers()
  const ask = async () => (await (await fetch(`${servers.url}/kafka`)).json()) as RunServerFacts['kafka']
  const { broker, folder } = await ask()
  expect(await ask()).toEqual({ broker, folder })
  expect(servers.losses()).toEqual([])
  for (const { pid, command } of processes())
    if (/java .*kafka\.Kafka /.test(command) && command.includes(folder)) process.kill(pid, 'SIGKILL')
  const losses = await poll(servers.losses).until(({ length }) => length > 0)
  expect(losses).toEqual([
    expect.stringMatching(/^a shared server ended by itself; the end of its log:\n[^]*Kafka Server started/),
  ])
})

test.for([
  ['says so once, and skips what needs them', {}, 0, '0 passed, 0 failed, 6 skipped'],
  ['fails in CI', { CI: 'true' }, 1, '0 passed, 6 failed'],
] as const)('a run without servers %s', ([, env, code, sentence]) => {
  const folder = aFolder()
  const bin = join(ROOT, 'node_modules/.bin')
  const { status, stdout, stderr } = spawnSync(join(bin, 'vitest'), ['run', 'conformance/redis-health-check'], {
    cwd: ROOT,
    // This path and this cache contain no server.
    env: { PATH: bin, XDG_CACHE_HOME: folder, TMPDIR: folder, ...env },
    encoding: 'utf8',
  })
  expect([status, stdout.trimEnd().split('\n').at(-1)]).toEqual([code, sentence])
  const warnings = stderr.split('\n').filter((line) => line.startsWith('SKIPPED: there is no redis-server here'))
  expect(warnings.length).toBe(code === 0 ? 1 : 0)
})
