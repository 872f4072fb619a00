/**
 * Answers the requests of a document. It gets only assets of its own template, as images, fonts and scripts, and files of the hosts its
 * template lists, as images, fonts, style sheets and scripts. `data:` URLs never arrive here. Chromium only receives bytes and connects to
 * nobody. A page caches what it received until it is cleared, so we record what it requested, by name or URL, with its digest.
 */
import assert from 'node:assert/strict'
import { assetUnavailable, egressUrl } from '@platen/contract/domain/egress-url.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Asset, AssetDigest } from '@platen/contract/domain/tenant.ts'
import type { CDPSession, Protocol } from 'puppeteer'
import { ASSET_REQUESTS_MAX, EGRESS_RENDER_BYTES_MAX } from '../../limit.ts'
import { checkImageHeader } from '../../template/asset/image.ts'
import { ASSET_KINDS, type ImageKind, isFontKind, kindOf, mediaTypeOf } from '../../template/asset/kind.ts'
import type { RemoteFile } from '../../template/asset/remote-images.ts'
import { isScriptName } from '../../template/asset/script.ts'
import { type DamagedImage, imageFault } from '../../template/html/data-image.ts'
import { ASSET_ORIGIN, assetNamed, unusableAsset } from '../../template/html/reference.ts'
import { type IgnoredStyle, ignoredInCss } from '../../template/html/unprinted-css.ts'
import { FINDINGS_MAX } from '../limit.ts'
import type { PrintDocument } from './load.ts'

type Source = Pick<PrintDocument, 'assets' | 'remote' | 'isScripted'>

export interface Requests {
  /** Whether the page's cache could give this document the file of another document, under the same name or URL. */
  holdsOther(document: Source): boolean
  /** From now on, requests belong to this document, until it ends. */
  beginDocument(document: Source & Pick<PrintDocument, 'html'>, ended: AbortSignal): void
  forget(): void
  /** The refused requests of this document that its reader would miss. */
  refused(): readonly Refusal[]
  /** The faults of the files that it got from hosts. */
  flawed(): readonly Flaw[]
}

interface Flaw {
  readonly url: string
  readonly styles: readonly IgnoredStyle[]
  readonly why?: DamagedImage['why'] | undefined
}

export interface Refusal {
  readonly url: string
  readonly type: MissedType
}

const ASSET_SCHEME = 'asset:'

/**
 * Only these types, and scripts where scripts run. A page of another host would run here, and a document could show what its script reads.
 */
const FETCHED_TYPES: readonly Protocol.Network.ResourceType[] = ['Image', 'Font', 'Stylesheet']

/** Types that a reader misses. Requests of a script fail in the script, and hints for later requests mean nothing in print. */
const MISSED_TYPES = ['Image', 'Font', 'Stylesheet', 'Script', 'Document'] as const
type MissedType = (typeof MISSED_TYPES)[number]

const SCRIPT_TYPE = /^(?:text|application)\/(?:x-)?(?:java|ecma)script$/

type Paused = Protocol.Fetch.RequestPausedEvent

interface Page {
  readonly session: CDPSession
  readonly frameId: string
}

/** `Fetch` must be enabled in the session. Calls `onFault` for a refused request that must fail the document. */
export function answerRequests({ session, frameId }: Page, onFault: (fault: unknown) => void): Requests {
  /** By name or URL: the file that was sent. */
  const served = new Map<string, AssetDigest>()
  /** By URL: faults of these files. Later documents do not request the files again. */
  const flaws = new Map<string, Flaw>()
  let current = requestsOf({ assets: [], isScripted: false }, AbortSignal.abort())

  function fulfil(requestId: string, file: Answer): void {
    session.send('Fetch.fulfillRequest', { requestId, ...answerWith(file) }).catch(() => undefined)
  }

  function answer({ requestId, request, resourceType, frameId: frame }: Paused): void {
    const document = current
    const asset = assetFor(request.url, resourceType, document.assets)
    const url = asset === undefined ? remoteUrlFor(request.url, resourceType, document) : undefined
    if (asset === undefined && url === undefined) {
      const type = MISSED_TYPES.find((missed) => missed === resourceType)
      // A document that navigates away is printed all the same.
      const isMissed = type !== undefined && !(type === 'Document' && frame === frameId)
      if (isMissed && document.refused.size < FINDINGS_MAX) document.refused.set(request.url, type)
      // Any other reason than `Aborted` would replace a document that redirects its reader with an error page.
      session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }).catch(() => undefined)
      return
    }
    document.count += 1
    if (document.count > ASSET_REQUESTS_MAX) throw excess(`requests assets more than ${ASSET_REQUESTS_MAX} times`)
    if (asset !== undefined) {
      if (request.url === ASSET_SCHEME + asset.name) served.set(asset.name, asset.digest)
      fulfil(requestId, { bytes: asset.bytes, type: assetTypeOf(asset, resourceType) })
    } else if (url !== undefined) {
      const fetchAndFulfil = async () => {
        const { digest, ...file } = await fetchFor(document, url, resourceType)
        if (document !== current) return
        served.set(url.href, digest)
        fulfil(requestId, file)
        const flaw = flawOf(file, url)
        if (flaw === undefined) return
        flaws.set(url.href, flaw)
        if (document.flawed.size < FINDINGS_MAX) document.flawed.set(url.href, flaw)
      }
      // Ignore failures of a document that has ended: the page may already show the next one.
      fetchAndFulfil().catch((fault: unknown) => document === current && !document.ended.aborted && onFault(fault))
    }
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
    holdsOther: ({ assets, remote }) =>
      Array.from(served).some(([name, digest]) => {
        // Asset names never look like a URL.
        const own = assets.find((asset) => asset.name === name) ?? remote?.cached(name)
        return own?.digest !== digest
      }),
    beginDocument(document, ended) {
      current = requestsOf(document, ended)
      for (const [url, flaw] of flaws) if (document.html.includes(url)) current.flawed.set(url, flaw)
    },
    forget() {
      served.clear()
      flaws.clear()
    },
    refused: () => Array.from(current.refused, ([url, type]) => ({ url, type })),
    flawed: () => Array.from(current.flawed.values()),
  }
}

interface DocumentRequests extends Source {
  readonly ended: AbortSignal
  readonly refused: Map<string, MissedType>
  readonly flawed: Map<string, Flaw>
  count: number
  bytes: number
}

function requestsOf({ assets, remote, isScripted }: Source, ended: AbortSignal): DocumentRequests {
  const totals = { ended, refused: new Map(), flawed: new Map(), count: 0, bytes: 0 }
  return { assets, isScripted, ...(remote !== undefined && { remote }), ...totals }
}

interface Answer {
  readonly bytes: Uint8Array
  readonly type: string
}

/** Throws `asset_unavailable`, or the signal's reason if the document has ended. */
async function fetchFor(
  document: DocumentRequests,
  url: URL,
  wanted: Paused['resourceType'],
): Promise<Answer & Pick<RemoteFile, 'digest'>> {
  assert(document.remote !== undefined, 'only what has hosts has URLs of them')
  try {
    const file = await document.remote.fetch(url.href, document.ended)
    document.bytes += file.bytes.byteLength
    if (document.bytes > EGRESS_RENDER_BYTES_MAX) {
      throw assetUnavailable(
        url,
        `with this file, the files of other hosts have more than ${EGRESS_RENDER_BYTES_MAX} bytes together`,
      )
    }
    return { ...file, type: fileTypeOf(file, wanted, url) }
  } catch (error) {
    throw error instanceof ServiceError ? ofDocument(error) : error
  }
}

function flawOf({ bytes, type }: Answer, url: URL): Flaw | undefined {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const styles = type === 'text/css' ? ignoredInCss(data.toString()) : []
  const why = type.startsWith('image/') ? imageFault(data) : undefined
  return styles.length === 0 && why === undefined ? undefined : { url: url.href, styles, why }
}

function excess(what: string): ServiceError {
  return new ServiceError('template_error', `the document ${what}`)
}

function ofDocument(cause: ServiceError): ServiceError {
  return new ServiceError('asset_unavailable', `the document: ${cause.message}`, { cause })
}

/** Undefined if the request is not for an asset of the template. Throws `asset_unavailable`. */
function assetFor(url: string, type: Paused['resourceType'], assets: readonly Asset[]): Asset | undefined {
  if (url.startsWith(ASSET_ORIGIN)) {
    const name = url.slice(ASSET_ORIGIN.length)
    // A module names other modules relative to itself.
    if (type === 'Script') return assetNamed(assets, name, 'the document')
    return type === 'Font' ? assets.find(({ digest }) => digest === name) : undefined
  }
  if (!url.startsWith(ASSET_SCHEME)) return undefined
  const name = url.slice(ASSET_SCHEME.length)
  const asset = assetNamed(assets, name, 'the document')
  if (type === 'Image' || type === 'Script') return asset
  const reason = 'can be used only as an image, a font or a script of the document'
  throw new ServiceError('asset_unavailable', `the document: the asset ${asset.name} ${reason}`)
}

/** Undefined if it may not be fetched. Throws `asset_unavailable`. */
function remoteUrlFor(url: string, type: Paused['resourceType'], { remote, isScripted }: Source): URL | undefined {
  const isFetched = FETCHED_TYPES.includes(type) || (type === 'Script' && isScripted)
  if (remote === undefined || !isFetched) return undefined
  try {
    return egressUrl(url, remote.allowedHosts)
  } catch (error) {
    throw error instanceof ServiceError ? ofDocument(error) : error
  }
}

function assetTypeOf({ name, bytes }: Asset, wanted: Paused['resourceType']): string {
  if (wanted === 'Script') {
    if (isScriptName(name)) return 'text/javascript'
    throw new ServiceError(
      'asset_unavailable',
      `the document: the asset ${name} is not a script: its name ends in neither .js nor .mjs`,
    )
  }
  const type = isScriptName(name) ? undefined : mediaTypeOf(bytes)
  if (type === undefined) throw unusableAsset(name, 'the document')
  return type
}

/**
 * The media type that Chromium gets for a file. Images and fonts are recognised by their bytes. A style sheet also needs the type from its
 * host: any other text could be parsed as one, and the page could show the result. The same is true for a script.
 */
function fileTypeOf({ bytes, type }: RemoteFile, wanted: Paused['resourceType'], url: URL): string {
  if (wanted === 'Stylesheet') {
    if (type === 'text/css') return type
    throw assetUnavailable(url, 'the file is not a style sheet: its Content-Type is not text/css')
  }
  if (wanted === 'Script') {
    if (SCRIPT_TYPE.test(type)) return type
    throw assetUnavailable(url, 'the file is not a script: its Content-Type is not that of JavaScript')
  }
  const kind = kindOf(bytes)
  if (kind === undefined || isFontKind(kind) !== (wanted === 'Font')) {
    throw assetUnavailable(url, `the file is not ${wanted === 'Font' ? 'a font' : 'an image'} that can be shown`)
  }
  if (!isFontKind(kind)) checkRemoteImage(kind, bytes, url)
  return ASSET_KINDS[kind].mediaType
}

function checkRemoteImage(kind: ImageKind, bytes: Uint8Array, url: URL): void {
  try {
    checkImageHeader(kind, bytes)
  } catch (cause) {
    throw cause instanceof ServiceError ? assetUnavailable(url, cause.message, cause) : cause
  }
}

function answerWith({ bytes, type }: Answer): Omit<Protocol.Fetch.FulfillRequestRequest, 'requestId'> {
  return {
    responseCode: 200,
    responseHeaders: [
      { name: 'Content-Type', value: type },
      { name: 'Cache-Control', value: 'no-store' },
      // Chromium requests fonts across origins, and the document has no origin.
      { name: 'Access-Control-Allow-Origin', value: '*' },
    ],
    body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
  }
}
