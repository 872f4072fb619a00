/** Serves the PDFs that `pdf_url` points to: in a cluster the object store does this itself. */
import type { FileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import type { buildApp } from '@platen/api/app.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { contentDisposition } from '@platen/contract/file-name.ts'
import { pdfDigestIn } from '@platen/contract/render.ts'

const NEVER = new AbortController().signal

/**
 * Adds GET and HEAD /artifacts/*. A URL is its own permission: nothing but its signature is asked for. A PDF is read whole and held
 * against the digest in its name, which is that of its manifest, before its first byte goes out.
 */
export function serveArtifacts(app: ReturnType<typeof buildApp>, artifacts: FileArtifactStore): void {
  app.get('/artifacts/*', { schema: { hide: true } }, async (request, reply) => {
    const grant = artifacts.resolve(request.url)
    if (grant === 'forged') throw new ServiceError('NOT_FOUND', 'There is no such document.')
    if (grant === 'expired') {
      throw new ServiceError('RENDER_EXPIRED', 'This link has expired; GET the render again for a new one.')
    }
    const pdf = await artifacts.get(grant.address, NEVER)
    if (pdf === undefined) throw new ServiceError('RENDER_EXPIRED', 'The document is no longer kept.')
    if ((await digestOf(pdf)) !== pdfDigestIn(grant.address.key)) {
      throw new Error(`the PDF at ${grant.address.bucket}/${grant.address.key} is not what was stored`)
    }
    return await reply
      .header('content-type', 'application/pdf')
      .header('cache-control', 'private, no-store')
      .header('x-content-type-options', 'nosniff')
      .header('content-disposition', contentDisposition(grant.filename))
      .send(pdf)
  })
}

/** SHA-256 in hex, made beside the event loop: the largest PDF takes it a tenth of a second. */
async function digestOf(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
}
