/** Renderers that have to go while they have renders in hand: what they end in time they end, the rest others do, and no caller sees it. */
import type { Manifest } from '@platen/contract/domain/render.ts'
import { assert, expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { poll } from '../time/poll.ts'
import type { ServerProcess } from '../topology/server/process.ts'
import { ended, render, submit } from '../topology/service.ts'
import { aCluster, aTenant, LETTER, manifestsIn } from './harness.ts'

const LIVE = `service_live_${'L'.repeat(43)}`
/** Seconds of one core: far longer than it takes others to have what is given up. */
const LONG = { template: 'letter', data: { rounds: 15_000_000 } }

/** A few of them: they are under way for longer than a drain of no time at all. */
const SHORTER = { template: 'letter', data: { rounds: 3_000_000 } }

/** The renders that a process has begun since it was started, each as often as that. */
function begunBy(renderer: ServerProcess): readonly string[] {
  return renders(renderer, 'render started')
}

function renders(renderer: ServerProcess, message: string): readonly string[] {
  const lines = renderer
    .log()
    .split('\n')
    .filter((line) => line.includes(`"msg":"${message}"`))
  return lines.map((line) => String(JSON.parse(line)['render']))
}

/** The renderer that has begun a render, once one has. */
async function renderedBy(isIt: (ids: readonly string[]) => boolean): Promise<ServerProcess> {
  const find = async () =>
    cluster()
      .processes('renderer')
      .find((each) => isIt(begunBy(each)))
  const found = await poll(find).until((each) => each !== undefined)
  assert(found !== undefined)
  return found
}

/** Of the renderers that are started next. */
let drainSeconds = '0'
const cluster = shared(() => {
  const settingsOf = () => ({ PLATEN_LOG_LEVEL: 'debug', PLATEN_DRAIN_SECONDS: drainSeconds })
  return aCluster({ renderers: 2, documents: aTenant('acme', LIVE, { renderTimeoutSeconds: 120 }), settingsOf })
})

/** The manifests of some renders, the first to end first, once each has one: a sync caller is answered before its render is stored. */
async function ownManifests(ids: readonly string[], signal: AbortSignal): Promise<readonly Manifest[]> {
  const read = async () => (await manifestsIn(cluster(), signal)).filter(({ render: { id } }) => ids.includes(id))
  const own = await poll(read).until(({ length }) => length >= ids.length)
  return own.toSorted((a, b) => a.outcome.finishedAt - b.outcome.finishedAt)
}

test('a renderer whose drain is over leaves what it has in hand, and another renders it', async ({ signal }) => {
  const service = cluster().at(0)
  const sync = render(service, LIVE, SHORTER)
  const busy = await renderedBy((ids) => ids.length > 0)
  const ids = await Promise.all(Array.from({ length: 4 }, () => submit(service, LIVE, SHORTER)))
  await renderedBy((begun) => ids.some((id) => begun.includes(id)))
  expect(await busy.stop()).toBe(0)
  const answer = await sync
  expect(answer.status).toBe(200)
  for (const id of ids) expect((await ended(service, LIVE, id)).status).toBe('succeeded')
  const left = renders(busy, 'render handed over')
  expect(left.length).toBeGreaterThan(0)
  const others = cluster()
    .processes('renderer')
    .filter((each) => each !== busy)
  expect(others.flatMap(begunBy)).toEqual(expect.arrayContaining([...left]))
  const all = [...ids, `${answer.headers.get('x-service-render-id')}`]
  const manifests = await ownManifests(all, signal)
  expect(manifests.map(({ outcome }) => outcome.status)).toEqual(all.map(() => 'succeeded'))
  expect(busy.log()).not.toMatch(/render not completed|drain timeout exceeded/)
})

test('a renderer that drains ends what it has in hand, and holds nothing else up meanwhile', async ({ signal }) => {
  const service = cluster().at(0)
  const renderers = cluster().processes('renderer')
  await Promise.all(renderers.map((each) => each.stop()))
  drainSeconds = '60'
  await Promise.all(renderers.map((each) => each.start()))
  const id = await submit(service, LIVE, LONG)
  const busy = await renderedBy((ids) => ids.includes(id))
  const stopped = busy.stop()
  await poll(() => busy.log()).until((log) => log.includes('drain started'))
  // Those that wait in its partitions are taken by the other while it still has a render in hand.
  const short = await Promise.all(Array.from({ length: 4 }, () => render(service, LIVE, LETTER)))
  expect(short.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect((await ended(service, LIVE, id)).status).toBe('succeeded')
  expect(await stopped).toBe(0)
  const others = short.map(({ headers }) => `${headers.get('x-service-render-id')}`)
  expect((await ownManifests([id, ...others], signal)).at(-1)?.render.id).toBe(id)
  expect(begunBy(busy)).toEqual([id])
  expect(renders(busy, 'render handed over')).toEqual([])
})
