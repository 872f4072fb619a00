/** No document reaches anything: not the network, not a name, not a file. The vectors are data; this runs and judges them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { third } from '../../run/form.ts'
import { contentOf } from '../../topology/oracle.ts'
import { CANARY_NAME } from '../network/canary.ts'
import { MARKED_IMAGE } from '../network/marker.ts'
import { type Ending, type HostileNetwork, openNetwork, SILENCE } from '../network/network.ts'
import { type Attempt, addressBook, attemptsAt, attemptsOf, KINDS, vectorsOf } from './corpus.ts'

/** Below these the corpus has lost something. */
const VECTORS_MIN = 202
const ADDRESSES_MIN = 123

let network: HostileNetwork

beforeAll(async () => {
  network = await openNetwork()
})
afterAll(() => network[Symbol.asyncDispose]())

test('the corpus is as large as it was', () => {
  const names = KINDS.flatMap((kind) => vectorsOf(kind).map(({ name }) => `${kind}: ${name}`))
  expect(names.length).toBeGreaterThanOrEqual(VECTORS_MIN)
  expect(new Set(names).size).toBe(names.length)
  const { addresses } = addressBook()
  expect(addresses.length).toBeGreaterThanOrEqual(ADDRESSES_MIN)
  expect(new Set(addresses).size).toBe(addresses.length)
})

describe('the canary', () => {
  test('sees a connection and a look-up of a bare Chromium', async () => {
    const { port } = network.canary
    await network.sightings()
    const pdf = await network.renderUnguarded(
      'html',
      `<iframe src="http://${CANARY_NAME}:${port}/marker.html"></iframe>`,
    )
    if (network.isAlone)
      expect(await network.sightings()).toMatchObject({ lookups: expect.arrayContaining([CANARY_NAME]) })
    await network.renderUnguarded('html', `<img src="http://127.0.0.1:${port}/marker.png">`)
    expect((await network.sightings()).connections).toBeGreaterThan(0)
    if (network.isAlone) expect(await secretsIn(pdf)).toEqual(['word'])
  })

  test('sees a connection and a look-up of a bare react-pdf, and the file it reads', async () => {
    const { port, folder } = network.canary
    const pdfs = [await network.renderUnguarded('react_pdf', `http://127.0.0.1:${port}/marker.png`)]
    expect((await network.sightings()).connections).toBeGreaterThan(0)
    if (network.isAlone) {
      await network.renderUnguarded('react_pdf', `http://${CANARY_NAME}:${port}/marker.png`)
      expect(await network.sightings()).toMatchObject({ lookups: expect.arrayContaining([CANARY_NAME]) })
    }
    pdfs.push(await network.renderUnguarded('react_pdf', `${folder}/marker.png`))
    for (const pdf of pdfs) expect(await secretsIn(pdf)).toEqual(['image'])
  })

  test('sees packets of WebRTC, and connections to other machines and ports', async ({ skip }) => {
    // Without a namespace only what comes to the canary's own port is seen, and no look-up.
    skip(!network.isAlone, 'this takes unshare and ip, and root with CAP_SYS_ADMIN or user namespaces')
    const webRtc = `const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:198.51.100.1:3478' }] })
      peer.createDataChannel('x')
      const { contentDocument } = document.getElementById('wait')
      peer.onicecandidate = () => contentDocument.close()
      contentDocument.open()
      peer.createOffer().then((offer) => peer.setLocalDescription(offer))`
    await network.renderUnguarded('html', `<iframe id="wait"></iframe><script>${webRtc}</script>`)
    expect((await network.sightings()).datagrams).toBeGreaterThan(0)
    await network.renderUnguarded('html', '<img src="http://198.51.100.1:81/">')
    expect((await network.sightings()).connections).toBeGreaterThan(0)
  })
})

describe.for(KINDS)('%s', (kind) => {
  test.for(third(vectorsOf(kind)))('$name', async (vector) => {
    await hold(attemptsOf(vector, network.canary))
  })
})

describe('address', () => {
  test.for(third(addressBook().addresses))('%s', async (address) => {
    await hold(attemptsAt(address, network.canary))
  })
})

test('nothing went out late, until the engines had closed', async () => {
  expect(await network.close()).toEqual(SILENCE)
})

/** Renders all, and holds that nothing was reached, nothing came in, and each ended as it may. */
async function hold(attempts: readonly Attempt[]): Promise<void> {
  expect(attempts).not.toEqual([])
  const ends = await Promise.all(attempts.map(({ engine, work }) => network.render(engine, work)))
  expect(await network.sightings()).toEqual(SILENCE)
  const judged = await Promise.all(attempts.map(async (attempt, at) => faultsOf(attempt, ends[at])))
  expect(judged.flat()).toEqual([])
}

async function faultsOf({ fails, mayRender }: Attempt, ending: Ending | undefined): Promise<readonly string[]> {
  if (ending === undefined) return ['has not ended']
  if (!('pdf' in ending)) return ending.code === fails ? [] : [`${ending.code}: ${ending.message}`]
  const secrets = await secretsIn(ending.pdf)
  return [...secrets.map((secret) => `holds the ${secret}`), ...(mayRender ? [] : [`is not ended by ${fails}`])]
}

/** What of the files and places no document may read is in the PDF. */
async function secretsIn(pdf: Uint8Array): Promise<readonly string[]> {
  const { text, objects } = await contentOf(pdf)
  const { width, height } = MARKED_IMAGE
  const secrets = {
    word: network.word,
    'user list': 'root:x:0:',
    environment: 'FONTCONFIG_FILE=',
    'command line': 'user-data-dir',
    'list of files': 'Index of /',
  }
  const found = Object.entries(secrets).filter(([, secret]) => (text + objects).includes(secret))
  const hasImage = objects.includes(`/Width ${width}\n`) && objects.includes(`/Height ${height}\n`)
  return [...found.map(([name]) => name), ...(hasImage ? ['image'] : [])]
}
