/**
 * Images of the hosts a template lists, where they are drawn: in threads without a network, which are given what was fetched
 * for them, and say what else they want. Then somebody fetches that, and they begin anew.
 */
import type { Asset } from '@platen/contract/tenant.ts'
import type { RenderWork } from '../port/engine.ts'

export interface RemoteImages {
  readonly allowedHosts: readonly string[]
  /** Called by their URLs. */
  readonly fetched: readonly Asset[]
  /** The URLs of those that are not among the fetched. Another stands in for each, in a document that is made to learn of them all. */
  readonly needed: Set<string>
}

/** A file that was fetched; its name is its URL. */
export interface RemoteFile extends Asset {
  /** The media type its host gave it. */
  readonly type: string
}

/** Thrown out of a task that needs these files, called by their URLs. */
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

/** Throws `FilesNeeded` where any are. */
export function requireFetched({ needed }: RemoteImages): void {
  if (needed.size > 0) throw new FilesNeeded([...needed])
}
