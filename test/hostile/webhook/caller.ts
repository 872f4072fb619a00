/** Who calls receivers in the hostile network: the sender as the service opens it, and the bare library. And whom they find there. */
import { createServer } from 'node:http'
import { webhookSender } from '@platen/adapters/http/webhook-sender.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { WebhookResponse } from '@platen/contract/port/webhook-sender.ts'
import { cidrsOf } from '@platen/lib/address.ts'
import { Agent, request } from 'undici'
import { listening } from '../../topology/server/port.ts'
import type { Canary } from '../network/canary.ts'

/** One call. `{{port}}` in its URL is that of the receiver. */
export interface Call {
  readonly url: string
  /** The blocks that are allowed. */
  readonly allow?: readonly string[]
  /** What the name is answered: one list of addresses after the other, or nothing at all. */
  readonly dns?: readonly (readonly string[])[] | 'never'
}

export interface Caller extends AsyncDisposable {
  call(call: Call): Promise<WebhookResponse>
  /** Whatever comes of it. */
  callUnguarded(call: Call): Promise<undefined>
}

/** Past it a call hangs, which none does: every address answers here, or refuses. */
const DEADLINE_MS = 5000

/** Opens a receiver at every address of the network, who redirects where `to` says, and keeps connections unless told to `close`. */
export async function openCaller(canary: Canary): Promise<Caller> {
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://receiver.example')
    const to = searchParams.get('to')
    response.shouldKeepAlive = !searchParams.has('close')
    request.resume()
    if (to !== null) response.writeHead(307, { location: to }).end()
    else response.writeHead(200).end('here')
  })
  server.keepAliveTimeout = 0
  const receiver = await listening(server, { host: '::' })
  const sender = webhookSender({ clock: systemClock(), policy: { isHttpAllowed: true, allowCidrs: [] } })

  /** The URL with the port in it, and the name as it was said. */
  const prepared = ({ url, dns }: Call): string => {
    const filled = url.replaceAll('{{port}}', `${receiver.port}`)
    const host = URL.parse(filled)?.hostname.replace(/\.$/, '')
    if (dns !== undefined && host !== undefined) canary.resolve(host, dns)
    return filled
  }
  return {
    call: (call) => {
      const allowCidrs = cidrsOf(call.allow ?? [])
      const post = { url: prepared(call), headers: {}, body: '{}', allowCidrs }
      return sender.post(post, AbortSignal.timeout(2 * DEADLINE_MS))
    },
    async callUnguarded(call) {
      const signal = AbortSignal.timeout(DEADLINE_MS)
      // Of its own for each call, so that each is a connection of its own.
      const dispatcher = new Agent()
      await Promise.try(() => request(prepared(call), { dispatcher, method: 'POST', body: '{}', signal }))
        .then(({ body }) => body.dump())
        .catch(() => undefined)
      await dispatcher.destroy()
      return undefined
    },
    async [Symbol.asyncDispose]() {
      await sender[Symbol.asyncDispose]()
      await receiver[Symbol.asyncDispose]()
    },
  }
}
