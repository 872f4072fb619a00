/** The steps of a render at which a process may die. Each step is identified by a message on the wire. */
import type { Point } from '../../../topology/proxy/fault-proxy.ts'
import type { Protocol } from '../../../topology/proxy/wire.ts'
import type { DEPLOYABLES } from '../rig/rig.ts'

export interface Step {
  readonly name: string
  /** The deployable that takes the step, and the server it talks to. */
  readonly actor: (typeof DEPLOYABLES)[number]
  readonly server: Protocol
  readonly point: Point
}

/** Numbers of Kafka APIs. */
const PRODUCE = 'kafka:0 '
const OFFSET_COMMIT = 'kafka:8 '

const toQueue = new RegExp(`^${PRODUCE}.*render\\.react_pdf\\.`, 's')

/** Finds a step by name. Throws when there is none. */
export function stepNamed(name: string): Step {
  const step = STEPS.find((each) => each.name === name)
  if (step === undefined) throw new RangeError(`no step is called ${name}`)
  return step
}

/** All steps, in the order in which a render reaches them. */
export const STEPS: readonly Step[] = [
  api('after reserve', 'redis', after(/"operation":"reserve"/)),
  api('before produce', 'kafka', before(toQueue)),
  api('after produce, before the answer', 'kafka', after(toQueue)),
  renderer('after claim', 'redis', after(/"operation":"claim"/)),
  renderer('during render', 'redis', before(/platen:reply:\{\w+\}:taken/)),
  renderer('after reply', 'redis', after(/platen:reply:\{\w+\}:answered/)),
  renderer('after artifact, before manifest', 's3', before(/^PUT \/platen\/manifest\//)),
  renderer('after manifest, before event', 'kafka', before(new RegExp(`^${PRODUCE}.*render\\.events`, 's'))),
  renderer('after event, before commit', 'kafka', before(new RegExp(`^${OFFSET_COMMIT}`))),
  // The first write, at scheduling, has the condition `If-None-Match`. Writes after an attempt have none.
  events(
    'after the answer of a receiver, before its record',
    's3',
    before(/^PUT \/platen\/delivery\/of\/(?!.*if-none-match)/is),
  ),
  events(
    'after a failed attempt, before the next rung',
    'kafka',
    before(new RegExp(`^${PRODUCE}.*webhook\\.wait`, 's')),
  ),
]

function api(name: string, server: Protocol, point: Point): Step {
  return { name, actor: 'api', server, point }
}

function renderer(name: string, server: Protocol, point: Point): Step {
  return { name, actor: 'renderer', server, point }
}

function events(name: string, server: Protocol, point: Point): Step {
  return { name, actor: 'events', server, point }
}

function before(request: RegExp): Point {
  return { side: 'before', request }
}

function after(request: RegExp): Point {
  return { side: 'after', request }
}
