/**
 * Images of the hosts that a template lists, in the thread that draws them. Threads have no network. They get the files that were fetched
 * for them and report which others they need. Those are then fetched, and the task begins again.
 */
import type { Asset } from '@platen/contract/domain/tenant.ts'
import type { RenderWork } from '../../port/engine.ts'

export interface RemoteImages {
  readonly allowedHosts: readonly string[]
  /** Their names are their URLs. */
  readonly fetched: readonly Asset[]
  /** The URLs of images that are not fetched yet. A stand-in replaces each, so that one pass over the document finds them all. */
  readonly needed: Set<string>
}

/** A file that was fetched. Its name is its URL. */
export interface RemoteFile extends Asset {
  /** The media type from its host. */
  readonly type: string
}

/** Thrown by a task that needs these files. Lists their URLs. */
export class FilesNeeded extends Error {
  override readonly name = 'FilesWanted'
  readonly urls: readonly string[]

  constructor(urls: readonly string[]) {
    super('the document wants files that are not there')
    this.urls = urls
  }
}

/** The images of a document that is about to be made. */
export function remoteImagesOf({ template, fetched = [] }: Pick<RenderWork, 'template' | 'fetched'>): RemoteImages {
  return { allowedHosts: template.allowedHosts ?? [], fetched, needed: new Set() }
}

/** Throws `FilesNeeded` if any file is missing. */
export function requireFetched({ needed }: RemoteImages): void {
  if (needed.size > 0) throw new FilesNeeded([...needed])
}
