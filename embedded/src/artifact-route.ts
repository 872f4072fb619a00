/** Serves the PDFs that `pdf_url` points to. In a cluster the object store does this itself. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { FileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import type { buildApp } from '@platen/api/app.ts'
import { selectBytes } from '@platen/contract/domain/byte-range.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { contentDisposition } from '@platen/contract/domain/file-name.ts'
import { type ArtifactAddress, pdfDigestIn } from '@platen/contract/domain/render.ts'
import { openLruCache } from '@platen/lib/lru-cache.ts'

/** Files known to be undamaged, about 200 bytes of memory each. A viewer requests a document in many ranges. */
const CHECKED_FILES_MAX = 10_000

/**
 * Adds GET and HEAD /artifacts/*. The URL is the permission: the route only checks its signature. Before the first byte is sent, the PDF is
 * compared with the digest in its name, which is that of its manifest: once, and again when its file has changed. The file is read in
 * pieces, so a slow reader costs the memory of one piece.
 */
export function serveArtifacts(app: ReturnType<typeof buildApp>, artifacts: FileArtifactStore): void {
  const checked = openLruCache<true>(CHECKED_FILES_MAX)
  const requireWhole = async (file: FileHandle, { bucket, key }: ArtifactAddress, sha256: string) => {
    const { dev, ino, size, ctimeNs } = await file.stat({ bigint: true })
    const version = [sha256, dev, ino, size, ctimeNs].join()
    if (checked.get(version)) return
    if ((await digestOf(file)) !== sha256) throw new Error(`the PDF at ${bucket}/${key} differs from the stored one`)
    checked.set(version, true)
  }

  // Fastify's own HEAD route would read the whole file.
  const options = { method: ['GET', 'HEAD'], url: '/artifacts/*', exposeHeadRoute: false, schema: { hide: true } }
  app.route({
    ...options,
    handler: async (request, reply) => {
      const grant = artifacts.resolve(request.url)
      if (grant === 'forged') throw new ServiceError('NOT_FOUND', 'There is no such document.')
      if (grant === 'expired') {
        throw new ServiceError('RENDER_EXPIRED', 'This link has expired; GET the render again for a new one.')
      }
      const sha256 = pdfDigestIn(grant.address.key)
      assert(sha256 !== undefined, 'only URLs of PDFs are signed')
      const file = await artifacts.open(grant.address)
      if (file === undefined) throw new ServiceError('RENDER_EXPIRED', 'The document is no longer kept.')
      await using stack = new AsyncDisposableStack()
      stack.defer(() => file.close())
      const { status, headers, range } = selectBytes(request, { sha256, bytes: (await file.stat()).size })
      if (status !== 304) await requireWhole(file, grant.address, sha256)
      reply
        .code(status)
        .headers({ ...headers, ...READABLE_ANYWHERE, 'content-disposition': contentDisposition(grant.filename) })
        .type('application/pdf')
      if (range === undefined) return await reply.send()
      // From here on the stream closes the file.
      stack.move()
      return await reply.send(file.createReadStream(range))
    },
  })
}

/** The URL is the permission, without cookie or key, so pages of any origin may read it, such as viewers in web applications. */
const READABLE_ANYWHERE = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'accept-ranges, content-disposition, content-length, content-range, etag',
}

async function digestOf(file: FileHandle): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of file.createReadStream({ start: 0, autoClose: false })) hash.update(piece)
  return hash.digest('hex')
}
