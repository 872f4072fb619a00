/**
 * Images of the hosts that a template lists, in the thread that draws them. Threads have no network. A thread gets fetched files and
 * reports which others it needs. Those are fetched, and the task begins again.
 */
import type { Asset } from '@platen/contract/domain/tenant.ts'
import type { RenderWork } from '../../port/engine.ts'

export interface RemoteImages {
  readonly allowedHosts: readonly string[]
  /** Their names are their URLs. */
  readonly fetched: readonly Asset[]
  /** URLs that are not fetched yet. A stand-in replaces each, so that one pass over the document finds them all. */
  readonly needed: Set<string>
}

export interface RemoteFile extends Asset {
  /** The media type that the host sent. */
  readonly type: string
}

/** Thrown by a task that needs the files of these URLs. */
export class FilesNeeded extends Error {
  override readonly name = 'FilesWanted'
  readonly urls: readonly string[]

  constructor(urls: readonly string[]) {
    super('the document wants files that are not there')
    this.urls = urls
  }
}

export function remoteImagesOf({ template, fetched = [] }: Pick<RenderWork, 'template' | 'fetched'>): RemoteImages {
  return { allowedHosts: template.allowedHosts ?? [], fetched, needed: new Set() }
}

export function requireFetched({ needed }: RemoteImages): void {
  if (needed.size > 0) throw new FilesNeeded([...needed])
}
