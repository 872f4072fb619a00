/** The interface of a rendering engine. `react-pdf.ts` and `html.ts` implement it, `worker.ts` uses it. */

import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { Engine, RenderOptions } from '@platen/contract/domain/render-options.ts'
import type { Asset, TemplateDigest, TemplateSource, TenantId } from '@platen/contract/domain/tenant.ts'
import type { Warning } from '@platen/contract/domain/warning.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Availability } from './availability.ts'
import type { Phase } from './phase.ts'

export interface RenderWork {
  readonly render: RenderId
  readonly tenant: TenantId
  readonly digest: TemplateDigest
  readonly template: TemplateSource
  /** Other renders share the bytes of these assets, so nobody may write to them. */
  readonly assets: readonly Asset[]
  /** The files known to be needed from the hosts that the template lists. The name of each is its URL. */
  readonly fetched?: readonly Asset[]
  /** A JSON object in UTF-8. It is parsed where the template runs, because parsing can take seconds, and there a deadline can end it. */
  readonly data: Uint8Array
  /** The template's options, overridden by the request's. */
  readonly options: RenderOptions
  /** The creation and modification date of the PDF. The same for each attempt, so that equal input gives equal bytes. */
  readonly date: Instant
  /** Whether the plan allows page JavaScript. It runs only if the template also asks for it. */
  readonly javascriptEnabled: boolean
  /** In a sandbox render every page carries the TEST watermark. */
  readonly isSandbox: boolean
  /** Whether a caller waits for the document. Such renders go first. */
  readonly isSync?: boolean
  /** Receives the console output of a react_pdf template. Absent in the service, where nobody reads it. */
  readonly onConsole?: (line: ConsoleLine) => void
}

/** A line of a template's console. It may quote the data, so it is for the author alone: it is never logged, stored or answered. */
export interface ConsoleLine {
  readonly level: 'log' | 'info' | 'debug' | 'warn' | 'error'
  /** `template.tsx:12:5`. */
  readonly place: string
  readonly text: string
}

export interface Rendering<Bytes extends Uint8Array = Uint8Array> {
  readonly pdf: Bytes
  readonly pages: number
  /** In document order, any number of them. */
  readonly warnings: readonly Warning[]
  /** In order. The last phase ended just before this was returned. */
  readonly phases: readonly Phase[]
}

/**
 * Its availability is that of the threads and the browser it needs. Wait until it is ready before you call `render`: an earlier render
 * spends its deadline waiting.
 */
export interface RenderEngine extends AsyncDisposable, Availability {
  readonly name: Engine
  /** Maximum of concurrent renders. The caller must respect it. */
  readonly slots: number
  /**
   * Makes the PDF. When `signal` aborts (deadline, caller gone), it rejects with the signal's reason and does not wait for the work to
   * stop. The slot works again within `SLOT_RECOVERY_MS_MAX`.
   *
   * Throws `ServiceError` with `template_error`, `page_limit` or `asset_unavailable` if the template caused the failure. Throws
   * `render_crashed` if the thread or browser died during the render; another attempt may succeed.
   */
  render(work: RenderWork, signal: AbortSignal): Promise<Rendering>
}
