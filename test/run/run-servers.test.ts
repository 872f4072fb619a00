/** The servers that the tests of a run share, and what the run is told when one of them dies. */
import { expect, test } from 'vitest'
import { processes } from '../soak/process-tree.ts'
import { until } from '../time/until.ts'
import { hasServer } from '../topology/server/binary.ts'
import { openRunServers, type RunServerFacts } from './run-servers.ts'

test('a server that nobody shares is refused by name', async () => {
  await using servers = await openRunServers()
  const answer = await fetch(`${servers.url}/mongodb`)
  expect([answer.status, await answer.json()]).toEqual([404, { message: 'the run has no server called mongodb' }])
})

test.skipIf(!hasServer('kafka'))('one that dies is told of, with the end of its log', async () => {
  await using servers = await openRunServers()
  const ask = async () => (await (await fetch(`${servers.url}/kafka`)).json()) as RunServerFacts['kafka']
  const { broker, folder } = await ask()
  expect(await ask()).toEqual({ broker, folder })
  expect(servers.losses()).toEqual([])
  for (const { pid, command } of processes())
    if (/java .*kafka\.Kafka /.test(command) && command.includes(folder)) process.kill(pid, 'SIGKILL')
  const losses = await until(servers.losses, ({ length }) => length > 0)
  expect(losses).toEqual([
    expect.stringMatching(/^a shared server ended by itself; the end of its log:\n[^]*Kafka Server started/),
  ])
})
