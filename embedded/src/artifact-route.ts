/** Serves the PDFs that `pdf_url` points to. In a cluster the object store does this itself. */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { FileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import type { buildApp } from '@platen/api/app.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { contentDisposition } from '@platen/contract/file-name.ts'
import { pdfDigestIn } from '@platen/contract/render.ts'

/**
 * Adds GET and HEAD /artifacts/*. The URL is the permission: the route checks its signature and nothing else. Before the first byte is
 * sent, the PDF is compared with the digest in its name, which is the digest in its manifest. The file is read in pieces, so a slow reader
 * costs the memory of one piece and not of the document.
 */
export function serveArtifacts(app: ReturnType<typeof buildApp>, artifacts: FileArtifactStore): void {
  app.get('/artifacts/*', { schema: { hide: true } }, async (request, reply) => {
    const grant = artifacts.resolve(request.url)
    if (grant === 'forged') throw new ServiceError('NOT_FOUND', 'There is no such document.')
    if (grant === 'expired') {
      throw new ServiceError('RENDER_EXPIRED', 'This link has expired; GET the render again for a new one.')
    }
    const file = await artifacts.open(grant.address)
    if (file === undefined) throw new ServiceError('RENDER_EXPIRED', 'The document is no longer kept.')
    await using stack = new AsyncDisposableStack()
    stack.defer(() => file.close())
    const { digest, bytes } = await contentOf(file)
    if (digest !== pdfDigestIn(grant.address.key)) {
      throw new Error(`the PDF at ${grant.address.bucket}/${grant.address.key} differs from the stored one`)
    }
    // From here on the stream closes the file.
    stack.move()
    return await reply
      .header('content-type', 'application/pdf')
      .header('content-length', bytes)
      .header('cache-control', 'private, no-store')
      .header('x-content-type-options', 'nosniff')
      .header('content-disposition', contentDisposition(grant.filename))
      .send(file.createReadStream({ start: 0, end: bytes - 1 }))
  })
}

/** Returns the SHA-256 in hex, and the length. */
async function contentOf(file: FileHandle): Promise<{ digest: string; bytes: number }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const piece of file.createReadStream({ start: 0, autoClose: false })) {
    hash.update(piece)
    bytes += piece.length
  }
  return { digest: hash.digest('hex'), bytes }
}
