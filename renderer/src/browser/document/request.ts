/**
 * What a document asks for and gets: assets of its own template as images and fonts, and nothing else. `data:` URLs never come
 * here. A page keeps what it was given until it is emptied; so what it asked for by name, and not by digest, is written down.
 */
import { ServiceError } from '@platen/contract/error.ts'
import { ASSET_REQUESTS_MAX } from '@platen/contract/limit.ts'
import type { Asset, AssetDigest } from '@platen/contract/tenant.ts'
import type { CDPSession, Protocol } from 'puppeteer'
import { mediaTypeOf } from '../../template/asset/kind.ts'
import { assetNamed, FONT_ORIGIN, unusable } from '../../template/html/reference.ts'

/** The requests of one page. */
export interface Requests {
  /** Could a document with these assets be given another's, kept in the page's memory under the same name? */
  remembersOther(assets: readonly Asset[]): boolean
  /** From here on the requests are those of a document with these assets. */
  begin(assets: readonly Asset[]): void
  /** The page has lost its memory. */
  forget(): void
}

/** Characters of refused addresses per document. Each is reported to this process, and `<base href>` makes long ones cheap. */
const REFUSED_CHARS_MAX = 8 * 1024 * 1024

const ASSET_SCHEME = 'asset:'

type Paused = Protocol.Fetch.RequestPausedEvent

/** Answers the requests of a session whose `Fetch` is enabled. `onFault` is told what a document may not ask for and still be printed. */
export function answerRequests(session: CDPSession, onFault: (fault: ServiceError) => void): Requests {
  /** What was given out by name. */
  const given = new Map<string, AssetDigest>()
  let assets: readonly Asset[] = []
  let count = 0
  let chars = 0

  function answer({ requestId, request, resourceType }: Paused): void {
    const asset = askedFor(request.url, resourceType, assets)
    if (asset === undefined) {
      chars += request.url.length
      if (chars > REFUSED_CHARS_MAX) throw excess('refers to too much outside of it')
      // Aborted, as any other reason would show an error page in place of a document that sends its reader elsewhere.
      session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }).catch(() => undefined)
      return
    }
    count += 1
    if (count > ASSET_REQUESTS_MAX) throw excess(`asks for assets more than ${ASSET_REQUESTS_MAX} times`)
    if (request.url === ASSET_SCHEME + asset.name) given.set(asset.name, asset.digest)
    session.send('Fetch.fulfillRequest', { requestId, ...answerWith(asset) }).catch(() => undefined)
  }

  session.on('Fetch.requestPaused', (paused) => {
    try {
      answer(paused)
    } catch (fault) {
      if (!(fault instanceof ServiceError)) throw fault
      onFault(fault)
    }
  })
  return {
    remembersOther: (own) =>
      Array.from(given).some(([name, digest]) => !own.some((asset) => asset.name === name && asset.digest === digest)),
    begin(own) {
      assets = own
      count = 0
      chars = 0
    },
    forget: () => given.clear(),
  }
}

function excess(what: string): ServiceError {
  return new ServiceError('template_error', `the document ${what}`)
}

/** The asset a request is for, or undefined for what is none of the template's business. Throws `asset_unavailable`. */
function askedFor(url: string, type: Paused['resourceType'], assets: readonly Asset[]): Asset | undefined {
  if (type === 'Font' && url.startsWith(FONT_ORIGIN)) return assets.find(({ digest }) => FONT_ORIGIN + digest === url)
  if (!url.startsWith(ASSET_SCHEME)) return undefined
  const name = url.slice(ASSET_SCHEME.length)
  const asset = assetNamed(assets, name, 'the document')
  if (type === 'Image') return asset
  const reason = 'can be an image or a font of the document, and nothing else'
  throw new ServiceError('asset_unavailable', `the document: the asset ${asset.name} ${reason}`)
}

function answerWith({ name, bytes }: Asset): Omit<Protocol.Fetch.FulfillRequestRequest, 'requestId'> {
  const type = mediaTypeOf(bytes)
  if (type === undefined) throw unusable(name, 'the document')
  return {
    responseCode: 200,
    responseHeaders: [
      { name: 'Content-Type', value: type },
      { name: 'Cache-Control', value: 'no-store' },
      // The document has no origin, and fonts are asked for across origins.
      { name: 'Access-Control-Allow-Origin', value: '*' },
    ],
    body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
  }
}
