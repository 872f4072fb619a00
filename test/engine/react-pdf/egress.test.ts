/** What react_pdf templates fetch from the hosts they list. */
import type { RequestListener } from 'node:http'
import { httpEgress } from '@platen/adapters/http/egress.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openReactPdfEngine } from '@platen/renderer/engine/react-pdf.ts'
import { openRemoteFiles } from '@platen/renderer/engine/remote-files.ts'
import { openThreadPool } from '@platen/renderer/engine/thread-pool.ts'
import { ASSET_REQUESTS_MAX, EGRESS_RENDER_BYTES_MAX } from '@platen/renderer/limit.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aDisc, aPhoto, aPng } from '../../fixture/asset.ts'
import { aHost, giving, HOST, type TestHost } from '../../topology/host.ts'
import { imagesOf, inspectPdf } from '../../topology/oracle.ts'
import { answering } from '../../topology/receiver.ts'
import { aWork, type WorkFields } from './react-pdf-fixture.ts'

const clock = systemClock()
const pool = openThreadPool({ size: 1, clock })
let host: TestHost
let engine: ReturnType<typeof openReactPdfEngine>
beforeAll(async () => {
  host = await aHost()
  const remote = openRemoteFiles({ egress: httpEgress({ ...host.internet, clock }), clock })
  engine = openReactPdfEngine({ pool, slots: 1, remote })
})
afterAll(async () => {
  await pool[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const ORIGIN = `https://${HOST}`
let tenant = ''
let tenants = 0
beforeEach(() => {
  tenants += 1
  tenant = `tenant-${tenants}`
  host.asked.length = 0
  host.answer('/photo.jpg', giving(aPhoto()))
  host.answer('/disc.png', giving(aDisc({ bits: 8, transparency: [0, 255] })))
})

/** Past it a render hangs. */
const DEADLINE_MS = 20_000

interface Fields extends WorkFields {
  readonly allowedHosts?: readonly string[]
}

/** A document of a template that lists the host, unless said otherwise. */
async function render(document: string, fields: Fields = {}, signal?: AbortSignal): Promise<Uint8Array> {
  const { allowedHosts = [HOST], ...others } = fields
  const work = aWork({ tenant, document, ...others, template: { allowedHosts } })
  return (await engine.render(work, signal ?? AbortSignal.timeout(DEADLINE_MS))).pdf
}

const anImage = (src: string) => `<Image src=${src} style={{ width: 40, height: 40 }} />`
const aPage = (content: string) => `<Page size={[300, 200]}>${content}</Page>`
const PHOTO = 'image jpeg 14×12'

describe('a file of a listed host', () => {
  test('is shown as an image, in every way react-pdf has of saying it', async () => {
    const sources = [`"${ORIGIN}/photo.jpg"`, `{{ uri: '${ORIGIN}/disc.png' }}`, '{data.photo}']
    const pdf = await render(aPage(sources.map(anImage).join('')), { data: { photo: `${ORIGIN}/photo.jpg#again` } })
    expect(new Set(await imagesOf(pdf))).toEqual(new Set([PHOTO, 'image image 16×16', 'smask image 16×16']))
    expect(host.asked.map(({ url }) => url).sort()).toEqual([`${ORIGIN}/disc.png`, `${ORIGIN}/photo.jpg`])
    expect(host.asked.map(({ headers }) => headers['user-agent'])).toEqual(['Platen', 'Platen'])
  })

  test('is shown with the size it has, which decides where pages end', async () => {
    const tall = aPng({ width: 10, height: 400, pixels: Buffer.alloc(400 * 41) })
    host.answer('/tall.png', giving(tall))
    const document = aPage(`<Image src="${ORIGIN}/tall.png" style={{ width: 10 }} /><Text>after</Text>`)
    const { pages, text } = await inspectPdf(await render(document))
    const there = await inspectPdf(
      await render(
        aPage(
          `<Image src="data:image/png;base64,${tall.toString('base64')}" style={{ width: 10 }} /><Text>after</Text>`,
        ),
      ),
    )
    expect([pages, text]).toEqual([there.pages, there.text])
    expect(pages).toBe(2)
  })

  test('is found if only a render function shows it, on a page that it knows only by its number', async () => {
    const image = (name: string) =>
      `<View fixed render={({ pageNumber }) => pageNumber === 2 && ${anImage(`"${ORIGIN}/${name}"`)}} />`
    const document = aPage(`<Rows count={20} />${image('photo.jpg')}`)
    expect(await imagesOf(await render(document))).toEqual([PHOTO])
  })

  test('is shown as a background', async () => {
    const source = `import { Document, Page, ImageBackground, Text } from '@react-pdf/renderer'
export default () => <Document><Page><ImageBackground src="${ORIGIN}/photo.jpg" style={{ width: 50, height: 50 }}><Text>x</Text></ImageBackground></Page></Document>`
    expect(await imagesOf(await render('', { source }))).toEqual([PHOTO])
  })

  test('is cached for the next render of the template, and for nobody else', async () => {
    const document = aPage(anImage(`"${ORIGIN}/photo.jpg"`))
    for (let round = 0; round < 3; round += 1) expect(await imagesOf(await render(document))).toEqual([PHOTO])
    expect(host.asked).toHaveLength(1)
    await render(document, { tenant: `${tenant}-other` })
    await render(document, { allowedHosts: [HOST, 'other.test'] })
    expect(host.asked).toHaveLength(3)
  })

  test('is waited for no longer than the deadline of the render', async () => {
    const begun = Promise.withResolvers<void>()
    host.answer('/never.jpg', () => begun.resolve())
    const deadline = new AbortController()
    const result = render(aPage(anImage(`"${ORIGIN}/never.jpg"`)), {}, deadline.signal).catch((error: unknown) => error)
    await begun.promise
    deadline.abort(new Error('deadline'))
    expect(await result).toEqual(new Error('deadline'))
  })
})

describe('a document fails with asset_unavailable', () => {
  const of = `template\\.tsx:3:80: <Image src>: image of ${HOST.replaceAll('.', '\\.')}: `
  test.for<[string, RequestListener, string]>([
    ['is not there', answering(404), `^${HOST}: it answered with the status 404$`],
    ['is a page', giving('<html></html>'), `^${of}the file is not an SVG: its root is another element$`],
    ['is a text', giving('some text'), `^${of}react_pdf shows PNG, JPEG and SVG, and this is none of them$`],
    ['is damaged', giving(aPhoto().subarray(0, 100)), `^${of}the image is damaged$`],
    [
      'has too many pixels',
      giving(aPng({ width: 20_000, height: 20_000 })),
      `^${of}the image has 20000 × 20000 pixels; at most`,
    ],
  ])('where an image %s', async ([, answer, message]) => {
    host.answer('/image?token=secret', answer)
    await expect(render(aPage(anImage(`"${ORIGIN}/image?token=secret"`)))).rejects.toMatchObject({
      code: 'asset_unavailable',
      message: expect.stringMatching(new RegExp(message)),
    })
  })

  test.for([
    [
      'of a host that is not listed',
      'https://other.test/a?token=secret',
      /image of other\.test: the host is not among the allowed hosts/,
    ],
    [
      'of an address',
      'http://169.254.169.254/latest',
      /image of 169\.254\.169\.254: the host is not among the allowed hosts/,
    ],
    [
      'at another port',
      `https://${HOST}:8443/a?token=secret`,
      /files are fetched only from port 443 for https and port 80 for http/,
    ],
    ['with a password', `https://user:secret@${HOST}/a`, /a URL with a user or a password is not fetched/],
    ['of nowhere', 'https://', /image of no host: the host is not among/],
  ] as const)('where an image is %s, and nothing is fetched', async ([, url, message]) => {
    const failure: unknown = await render(aPage(anImage(`"${url}"`))).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'asset_unavailable', message: expect.stringMatching(message) })
    expect(String(failure)).not.toContain('secret')
    expect(host.asked).toEqual([])
  })

  test('where its images are too many', async () => {
    const images = `{Array.from({ length: ${ASSET_REQUESTS_MAX + 1} }, (_, at) => <Image key={at} src={'${ORIGIN}/' + at} />)}`
    await expect(render(aPage(images))).rejects.toThrow('the document shows more than 1000 images of other hosts')
    expect(host.asked).toEqual([])
  })

  test('where its images are too large together', async () => {
    const size = 9_000_000
    const count = Math.ceil(EGRESS_RENDER_BYTES_MAX / size) + 1
    const padded = Buffer.concat([aPhoto(), Buffer.alloc(size - aPhoto().length)])
    for (let at = 0; at < count; at += 1) host.answer(`/large-${at}`, giving(padded))
    const images = Array.from({ length: count }, (_, at) => anImage(`"${ORIGIN}/large-${at}"`))
    await expect(render(aPage(images.join('')))).rejects.toThrow(
      'the images of other hosts have more than 33554432 bytes',
    )
  })
})
