/**
 * The process in which hostile documents are rendered: both engines as the service opens them, and the canary, in whatever
 * network it was started in. Takes orders over IPC, and ends when its parent goes.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { openReactPdfEngine } from '@platen/renderer/engine/react-pdf.ts'
import { openThreadPool } from '@platen/renderer/engine/thread-pool.ts'
import { anEngine } from '../../engine/html/html-fixture.ts'
import { type Caller, openCaller } from '../webhook/caller.ts'
import { openCanary } from './canary.ts'
import { writeMarkers } from './marker.ts'
import { MARKER_VARIABLE, type Order, type Report, type Reports, VETH } from './network.ts'
import { findLeft, RENDER_UNGUARDED } from './unguarded.ts'

/** Past it a render hangs: all of these take a fraction of a second. */
const DEADLINE_MS = 30_000

const LINKS = ['link set lo up', VETH]
/**
 * No link gives itself an address. The kernel adds such a one a second later, when no other machine has it, and Chromium gives up what it
 * is loading when an address comes.
 */
const NO_OWN_ADDRESS = ['link set eth0 addrgenmode none', 'link set eth1 addrgenmode none']

/**
 * What a machine on a network has, and every address leading to this one. WebRTC looks for an interface that is no loopback, and
 * `src` is what it finds itself to be.
 */
const NETWORK = [
  'addr add 192.0.2.2/24 dev eth0',
  'link set eth1 up',
  'link set eth0 up',
  'route add local 0.0.0.0/0 dev lo src 192.0.2.2',
]
const NETWORK_6 = ['-6 addr add 2001:db8::2/64 dev eth0 nodad', '-6 route add local ::/0 dev lo src 2001:db8::2']

/** Makes the network, and has every name asked of the canary, whatever the machine's own settings. */
function takeNetwork(): void {
  const has6 = existsSync('/proc/net/if_inet6')
  const commands = has6 ? [...LINKS, ...NO_OWN_ADDRESS, ...NETWORK, ...NETWORK_6] : [...LINKS, ...NETWORK]
  for (const command of commands) execFileSync('ip', command.split(' '))
  const folder = mkdtempSync(join(tmpdir(), 'platen-network-'))
  const files = [
    ['/etc/resolv.conf', 'nameserver 127.0.0.1\n'],
    // No service of the machine is asked, which would do so in the machine's network.
    ['/etc/nsswitch.conf', 'hosts: dns\n'],
  ] as const
  for (const [index, [path, text]] of files.entries()) {
    const file = join(folder, `${index}`)
    writeFileSync(file, text)
    execFileSync('mount', ['--bind', file, path])
  }
  // What is mounted stays.
  rmSync(folder, { recursive: true })
}

/** Documents that wait cost nothing: more of them than the machine has cores. */
const SLOTS = 4

async function openEngines(stack: AsyncDisposableStack) {
  const pool = stack.use(openThreadPool({ size: 1, clock: systemClock() }))
  const html = stack.use(await anEngine({ slots: SLOTS }))
  return { html: html.engine, react_pdf: openReactPdfEngine({ pool, slots: 1 }) }
}

async function open(isAlone: boolean) {
  if (isAlone) takeNetwork()
  const markers = writeMarkers(process.env[MARKER_VARIABLE] ?? '')
  const canary = await openCanary({ markers, isAlone })
  const opened = new AsyncDisposableStack()
  let engines: ReturnType<typeof openEngines> | undefined
  let caller: Promise<Caller> | undefined

  async function perform(order: Order): Promise<Reports[Order['kind']]> {
    switch (order.kind) {
      case 'open':
        return { port: canary.port, folder: markers.folder }
      case 'render':
        engines ??= openEngines(opened)
        return await (await engines)[order.engine].render(order.work, AbortSignal.timeout(DEADLINE_MS)).then(
          (rendering) => rendering,
          (error: unknown) => failureOf(error),
        )
      case 'sightings':
        return canary.sightings()
      case 'unguarded':
        return await RENDER_UNGUARDED[order.engine](order.source)
      case 'leavings':
        return await findLeft(order.leavings, `http://127.0.0.1:${canary.port}/`)
      case 'call':
        caller ??= openCaller(canary).then((each) => opened.use(each))
        return await (await caller).call(order.call)
      case 'unguarded call':
        caller ??= openCaller(canary).then((each) => opened.use(each))
        return await (await caller).callUnguarded(order.call)
      case 'close': {
        await opened.disposeAsync()
        const last = canary.sightings()
        await canary[Symbol.asyncDispose]()
        markers[Symbol.dispose]()
        return last
      }
    }
  }
  return perform
}

/** What is no failure of the catalog is a defect, and is told as what it is. */
function failureOf(error: unknown): Reports['render'] {
  if (error instanceof ServiceError) return { code: error.code, message: error.message }
  return { code: 'internal', message: reasonOf(error) }
}

const report = (message: Report) => {
  assert(process.send !== undefined, 'started by network.ts')
  process.send(message)
}
const reasonOf = (error: unknown) => (error instanceof Error ? `${error.stack}` : String(error))

const opening = open(process.argv.includes('--alone'))
opening.catch((error: unknown) => {
  report({ id: 0, error: reasonOf(error) })
  process.disconnect()
})
// Whatever is still open goes with the process.
process.once('disconnect', () => process.exit())
process.on('message', ({ id, order }: { id: number; order: Order }) => {
  opening
    .then((perform) => perform(order))
    .then(
      (value) => report({ id, value }),
      (error: unknown) => report({ id, error: reasonOf(error) }),
    )
    .finally(() => {
      if (order.kind === 'close') process.disconnect()
    })
})
