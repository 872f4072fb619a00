/** The part that needs a file system: `@platen/client/node`, for Node, Bun and Deno. The package itself needs none. */
import { randomUUID } from 'node:crypto'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Client, PdfAnswer, RenderCallOptions, RenderInput } from './index.ts'

export interface FileTarget {
  /** An existing file is replaced. */
  readonly path: string
}

/**
 * Renders a PDF into a file: it is never in memory as a whole. Until the whole PDF is on the disk, it is in a file beside the target, which
 * an error removes; then it appears or replaces the file. Rejects as `render` does, or with the error of the file system. A folder that
 * does not exist or may not be written costs no render.
 */
export async function renderToFile(
  client: Pick<Client, 'renderTo'>,
  input: RenderInput,
  { path, ...call }: FileTarget & RenderCallOptions,
): Promise<PdfAnswer> {
  const partial = join(dirname(path), `.platen-${randomUUID()}.tmp`)
  await writeFile(partial, '', { flag: 'wx' })
  try {
    const answer = await client.renderTo(input, (pdf) => fill(partial, pdf), call)
    await rename(partial, path)
    return answer
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** Called again, with the PDF from its beginning, if the connection breaks. */
async function fill(path: string, pdf: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'w')
  try {
    await file.writeFile(pdf)
    // Otherwise a file that was complete before a power cut could be empty after it.
    await file.sync()
  } finally {
    await file.close()
  }
}
