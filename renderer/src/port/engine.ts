/** What a rendering engine is. `react-pdf.ts` and `html.ts` implement it; `worker.ts` drives it. */
import type { Warning } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import type { Engine, RenderOptions } from '@platen/contract/render-options.ts'
import type { Asset, TemplateDigest, TemplateSource, TenantId } from '@platen/contract/tenant.ts'
import type { Availability } from './availability.ts'

/** One document to make. */
export interface RenderWork {
  readonly render: RenderId
  readonly tenant: TenantId
  readonly digest: TemplateDigest
  readonly template: TemplateSource
  /** The template's assets. Their bytes are shared with others and never written to. */
  readonly assets: readonly Asset[]
  /** Files of the hosts it lists, as far as they are known to be needed; each is called by its URL. */
  readonly fetched?: readonly Asset[]
  /** An object in JSON, by UTF-8. It is read where its template runs: there a deadline can end what takes seconds. */
  readonly data: Uint8Array
  /** The request's options laid over the template's. */
  readonly options: RenderOptions
  /** May the template's page JavaScript run, if it asks for it? */
  readonly javascriptEnabled: boolean
  /** A render of the sandbox: every page carries the TEST watermark. */
  readonly isSandbox: boolean
}

/** A finished document. */
export interface Rendering<Bytes extends Uint8Array = Uint8Array> {
  readonly pdf: Bytes
  /** Each code at most once. */
  readonly warnings: readonly Warning[]
}

/** Its presence is that of the threads and the browser it needs: renders are to wait until it is ready, as those it is given meanwhile lose their time. */
export interface RenderEngine extends AsyncDisposable, Availability {
  readonly name: Engine
  /** Renders it does at once; the caller keeps to it. */
  readonly slots: number
  /**
   * Makes the PDF. When `signal` aborts (deadline, caller gone) it rejects with the signal's reason without waiting for the
   * work to stop, and its slot works again within `SLOT_RECOVERY_MS_MAX`.
   * Throws `ServiceError` with `template_error`, `page_limit` or `asset_unavailable` for what the template did, and with
   * `render_crashed` when the thread or browser died under it (which a further attempt may survive).
   */
  render(work: RenderWork, signal: AbortSignal): Promise<Rendering>
}
