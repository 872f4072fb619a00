/** Writes the file of a preview. Readers always see a complete file, and only a PDF is ever overwritten. */
import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import { UsageError } from '../diagnostic/diagnostic.ts'

const PDF_MARK = '%PDF-'

/** Throws `UsageError` unless the folder exists, and `path` is a PDF or does not exist. */
export async function requireOutput(path: string): Promise<void> {
  await targetOf(path)
}

/** Replaces the file in one step. Throws `UsageError` like `requireOutput`, and when writing fails. */
export async function writePdf(path: string, pdf: Uint8Array): Promise<void> {
  const target = await targetOf(path)
  const temporary = join(dirname(target), `.${basename(target).slice(0, 200)}.${process.pid}`)
  try {
    await rm(temporary, { force: true })
    await using file = await open(temporary, 'wx')
    await file.writeFile(pdf)
    await rename(temporary, target)
  } catch (cause) {
    await rm(temporary, { force: true })
    throw isErrno(cause) ? new UsageError(`${path} cannot be written (${cause.code})`, { cause }) : cause
  }
}

/** Follows links, so that a link stays a link. */
async function targetOf(path: string): Promise<string> {
  try {
    const target = await realpath(path)
    if ((await stat(target)).isFile() && (await beginsAsPdf(target))) return target
    throw new UsageError(`${path} exists and is not a PDF: choose another file with -o`)
  } catch (cause) {
    if (!isErrno(cause)) throw cause
    if (cause.code !== 'ENOENT') throw new UsageError(`${path} cannot be written (${cause.code})`, { cause })
  }
  const folder = dirname(path)
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new UsageError(`there is no folder ${folder} to write ${basename(path)} into`)
  return path
}

async function beginsAsPdf(path: string): Promise<boolean> {
  await using file = await open(path, 'r')
  const { buffer, bytesRead } = await file.read(Buffer.alloc(PDF_MARK.length))
  return buffer.toString('latin1', 0, bytesRead) === PDF_MARK
}
