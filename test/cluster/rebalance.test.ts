/** Partitions are reassigned all the time: a renderer continues its running renders, and nothing is done twice or lost. */
import { openConsumer } from '@platen/adapters/kafka/consumer/consumer.ts'
import { expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { IS_LONG } from '../run/form.ts'
import { poll } from '../time/poll.ts'
import { ended, submit } from '../topology/service.ts'
import { aCluster, aTenant, connectTo, manifestsIn } from './harness.ts'

const LIVE = `service_live_${'L'.repeat(43)}`
/** Long enough that some are in hand at every change. */
const SLOW = { template: 'letter', data: { rounds: 3e6 } }
const SLOTS = 2
const OUTSTANDING = 3 * SLOTS
/** How often somebody joins and leaves: a minute of it is 15. */
const ROUNDS = IS_LONG ? 15 : 3
/** Renders that end between a change and the next. */
const SOME = SLOTS

const cluster = shared(() =>
  aCluster({
    documents: aTenant('acme', LIVE, { asyncRateLimitPerMinute: 100_000, asyncFairShare: 2 * OUTSTANDING }),
    settings: { PLATEN_RENDER_SLOTS: `${SLOTS}`, PLATEN_LOG_LEVEL: 'debug' },
  }),
)

test('while somebody joins and leaves their group, renders are begun once each, and all of them end', async ({
  signal,
}) => {
  const load = beginLoad()
  const group = `${cluster().topicPrefix}render.react_pdf.async`
  await using connection = await connectTo(cluster().broker, signal)
  const halved = async () => sharesOf(cluster().log()).filter((partitions) => partitions === 1).length
  for (let round = 0; round < ROUNDS; round++) {
    const before = await halved()
    {
      // It is given one of the two partitions, takes nothing of it, and goes when the renderer knows: all callers may wait in that one.
      await using _passing = await openConsumer(
        connection,
        { group, topics: [group], onRecords: () => undefined },
        signal,
      )
      await poll(halved).until((count) => count > before)
    }
    await load.more()
  }
  const ids = await load.end()

  const marks = () => marksOf(cluster().processes('renderer')[0]?.log() ?? '')
  // A caller sees the end of a render before its record has left the queue, and only then the renderer logs the end.
  const { begun, over } = await poll(marks).until((found) => found.over.length >= ids.length)
  expect(begun.toSorted()).toEqual(ids.toSorted())
  expect(over.toSorted()).toEqual(ids.toSorted())
  expect(sharesOf(cluster().log())).toEqual(expect.arrayContaining([1, 2]))
  const manifests = await manifestsIn(cluster(), signal)
  expect(manifests.map(({ render: { id } }) => String(id)).sort()).toEqual(ids.toSorted())
  expect(new Set(manifests.map(({ outcome }) => outcome.status))).toEqual(new Set(['succeeded']))
})

/** Callers who each ask for the next render when they have got the last. */
function beginLoad() {
  const service = cluster().at(0)
  const over = new AbortController()
  const ids: string[] = []
  let done = 0
  const call = async () => {
    while (!over.signal.aborted) {
      const id = await submit(service, LIVE, SLOW)
      ids.push(id)
      await ended(service, LIVE, id)
      done += 1
    }
  }
  const callers = Array.from({ length: OUTSTANDING }, call)
  return {
    /** Resolves when so many more have ended. */
    async more() {
      const wanted = done + SOME
      await poll(() => done).until((count) => count >= wanted)
    },
    /** Every id there was. */
    async end() {
      over.abort()
      await Promise.all(callers)
      return ids
    },
  }
}

/** The ids of the renders that a renderer says it has begun, and that it says have ended, as often as it says so. */
function marksOf(log: string): { readonly begun: readonly string[]; readonly over: readonly string[] } {
  const idsOf = (...messages: readonly string[]) =>
    messages.flatMap((message) => linesOf(log, message).map(({ render }) => String(render)))
  return { begun: idsOf('render started'), over: idsOf('render succeeded', 'render failed') }
}

/** How many partitions of async renders somebody of ours was given, each time they were shared out. */
function sharesOf(log: string): readonly unknown[] {
  return linesOf(log, 'partitions assigned')
    .filter(({ group }) => String(group).endsWith('.async'))
    .map(({ partitions }) => partitions)
}

/** The lines of a log with a message. Only those are parsed: the log is long, and read again and again. */
function linesOf(log: string, message: string): readonly Readonly<Record<string, unknown>>[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}') && line.includes(`"msg":"${message}"`))
    .map((line) => JSON.parse(line))
}
