/** What `waitForRender` asks, and when, of a service that waits and of one that does not. Only the tests move the clock. */
import { expect, test } from 'vitest'
import { createClientWithClock } from '../client.ts'

const ID = '01J2HW8QBEFY09M6SC7N75YR3H'

/** A service whose render ends at a time. It waits as long as it is asked to, or not at all. */
function aService({ endsAt, waits }: { readonly endsAt: number; readonly waits: boolean }) {
  let time = 0
  const asked: { readonly at: number; readonly wait: number }[] = []
  const fetch = async (url: unknown): Promise<Response> => {
    const wait = Number(new URL(String(url)).searchParams.get('wait'))
    asked.push({ at: time, wait })
    if (waits) time = Math.max(time, Math.min(time + wait * 1000, endsAt))
    const ended = { status: 'succeeded', pdf_url: 'https://storage.example.com/x.pdf' }
    return Response.json({ render_id: ID, ...(time >= endsAt ? ended : { status: 'running' }) })
  }
  const clock = {
    now: () => time,
    monotonic: () => time,
    random: () => 0.5,
    timeout: () => new AbortController().signal,
    sleep: async (ms: number) => {
      time += ms
    },
  }
  const client = createClientWithClock({ baseUrl: 'https://pdf.example.com', apiKey: 'key', fetch }, clock)
  return { client, asked, time: () => time }
}

test('a service that waits is asked again when its wait is over, and answers when the render has ended', async () => {
  const { client, asked, time } = aService({ endsAt: 25_500, waits: true })
  await client.waitForRender(ID)
  expect(asked).toEqual([0, 10_000, 20_000].map((at) => ({ at, wait: 10 })))
  expect(time()).toBe(25_500)
})

test('a service that does not wait is asked ever more slowly', async () => {
  const { client, asked } = aService({ endsAt: 60_000, waits: false })
  await client.waitForRender(ID)
  const pauses = asked.slice(1).map(({ at }, before) => at - (asked[before]?.at ?? 0))
  expect(pauses.slice(0, 3)).toEqual([200, 300, 450])
  expect(Math.max(...pauses)).toBe(5000)
})

test.for([true, false])('no wait of a service reaches beyond the time of the call, if it waits: %s', async (waits) => {
  const { client, asked, time } = aService({ endsAt: 60_000, waits })
  await expect(client.waitForRender(ID, { timeoutMs: 15_500 })).rejects.toMatchObject({ code: 'TIMED_OUT' })
  for (const { at, wait } of asked) expect(at + wait * 1000).toBeLessThan(15_500)
  expect(time()).toBeLessThan(15_500)
  if (waits) expect(asked.map(({ wait }) => wait)).toEqual([10, 4, ...asked.slice(2).map(() => 0)])
})
