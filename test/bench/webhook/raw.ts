/** undici as its documentation has it: one agent, keep-alive, `request` in a loop. Arguments: the port of the good receivers, and their certificate for HTTPS. */
import type { LookupFunction } from 'node:net'
import { Agent, request } from 'undici'
import { serve } from '../child.ts'
import { timed } from '../measure.ts'
import { BODY, GOOD_RECEIVERS, secureUrlOf, urlOf } from './post.ts'

const [, , port, ca] = process.argv
const lookup: LookupFunction = (_host, _options, give) => give(null, [{ address: '127.0.0.1', family: 4 }])
const dispatcher = new Agent({ connections: 8, connect: ca === undefined ? {} : { ca, lookup } })
const target = ca === undefined ? urlOf : secureUrlOf
let posted = 0

serve((batch) =>
  timed(batch, async () => {
    posted += 1
    const url = target(posted % GOOD_RECEIVERS, Number(port))
    const headers = { 'content-type': 'application/json' }
    const answer = await request(url, { method: 'POST', body: BODY, headers, dispatcher })
    return await answer.body.bytes()
  }),
)
