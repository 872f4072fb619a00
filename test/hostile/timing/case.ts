/** Does it take longer to refuse a signature of which more is right? Medians over many, each kind in turns. */
import { createHmac } from 'node:crypto'
import { resolveUrl, signUrl } from '@platen/adapters/fs/signed-url.ts'
import { mintRenderId, RENDER_ID_RANDOM_BYTES, verifyRenderId } from '@platen/contract/domain/render-id.ts'
import { verifyWebhook } from '../../../client/src/index.ts'
import type { Figure } from '../../bench/measure.ts'
import { quantile } from '../../bench/measure.ts'
import { NOON } from '../../fixture/build.ts'

const KEY = Buffer.alloc(32, 7)
const ROUNDS = 20_000
/** Of calls between two looks at the clock. */
const BATCH = 10
/** A comparison that ends at the first difference is distinguished by less. */
const RATIO_MAX = 1.02

/** A text refused because of its first character, and one because of its last. */
interface Forged {
  readonly first: string
  readonly last: string
}

export async function* timing(scale: number): AsyncGenerator<Figure> {
  const rounds = Math.ceil(ROUNDS * scale)
  const address = { bucket: 'platen', key: 'acme/a.pdf' }
  const link = signUrl({ address, filename: 'a.pdf', expiresAt: NOON }, KEY)
  yield await figure('a link', forged(link, link.indexOf('signature=') + 'signature='.length), {
    rounds,
    refuse: (text) => void resolveUrl(text, KEY, NOON),
  })
  const scope = { account: 'one', environment: 'live' } as const
  const id = mintRenderId(scope, [KEY], { now: NOON, random: Buffer.alloc(RENDER_ID_RANDOM_BYTES) })
  // Its tag is the last nine characters, and the first of those is shared with what is before.
  yield await figure('an id', forged(id, id.length - 8), {
    rounds,
    refuse: (text) => void verifyRenderId(text, scope, [KEY]),
  })
  const body = '{}'
  const timestamp = `${NOON / 1000}`
  const signature = createHmac('sha256', 'secret').update(`${timestamp}.${body}`).digest('hex')
  const headers = { 'x-service-timestamp': timestamp, 'x-service-delivery': '01a2098e-e8f9-7871-99db-8b546100b1f4' }
  const verify = async (text: string) => {
    const sent = { ...headers, 'x-service-signature': `sha256=${text}` }
    await verifyWebhook(body, sent, 'secret', { scheme: 'service', now: () => NOON }).catch(() => undefined)
  }
  yield await figure('a webhook', forged(signature, 0), { rounds: Math.ceil(rounds / 10), refuse: verify })
}

/** The same, except for the first character of its signature, and except for the last one. */
function forged(text: string, at: number): Forged {
  const other = (character = '') => (character === '0' ? '1' : '0')
  return {
    first: text.slice(0, at) + other(text[at]) + text.slice(at + 1),
    last: text.slice(0, -1) + other(text.at(-1)),
  }
}

interface Timing {
  readonly rounds: number
  readonly refuse: (text: string) => void | Promise<void>
}

async function figure(what: string, { first, last }: Forged, { rounds, refuse }: Timing): Promise<Figure> {
  const times: Readonly<Record<'first' | 'last', number[]>> = { first: [], last: [] }
  for (let round = 0; round < rounds; round += 1) {
    // Whatever the machine does falls on both.
    for (const [name, text] of round % 2 === 0
      ? ([
          ['first', first],
          ['last', last],
        ] as const)
      : ([
          ['last', last],
          ['first', first],
        ] as const)) {
      const from = process.hrtime.bigint()
      for (let call = 0; call < BATCH; call += 1) await refuse(text)
      times[name].push(Number(process.hrtime.bigint() - from) / BATCH)
    }
  }
  const [early, late] = [quantile(times.first, 0.5), quantile(times.last, 0.5)]
  return {
    name: `timing: ${what}, all right but the end ÷ wrong from the start`,
    detail: `${late.toFixed(0)} ns ÷ ${early.toFixed(0)} ns`,
    value: late / early,
    target: { atMost: RATIO_MAX },
  }
}
