/** What a rendering engine is. `react-pdf.ts` and `html.ts` implement it; `worker.ts` drives it. */
import type { JsonObject } from '@platen/contract/brand.ts'
import type { Engine, RenderOptions } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import type { TemplateDigest, TemplateSource, TenantId } from '@platen/contract/tenant.ts'

/** One document to make. */
export interface RenderWork {
  readonly render: RenderId
  readonly tenant: TenantId
  readonly digest: TemplateDigest
  readonly template: TemplateSource
  readonly data: JsonObject
  /** The request's options laid over the template's. */
  readonly options: RenderOptions
}

export interface RenderEngine extends AsyncDisposable {
  readonly name: Engine
  /** Renders it does at once; the caller keeps to it. */
  readonly slots: number
  /**
   * Makes the PDF. When `signal` aborts (deadline, caller gone) it rejects with the signal's reason without waiting for the
   * work to stop, and its slot works again within `SLOT_RECOVERY_MS_MAX`.
   * Throws `ServiceError` with `template_error`, `page_limit` or `asset_unavailable` for what the template did, and with
   * `render_crashed` when the thread or browser died under it (which a further attempt may survive).
   */
  render(work: RenderWork, signal: AbortSignal): Promise<Uint8Array>
}
