import type { Cidr } from '@platen/lib/address.ts'
import type { AttemptResult } from '../domain/delivery.ts'

/** One POST to a receiver. */
export interface WebhookRequest {
  readonly url: string
  /** All headers in the order they are sent, except Host, Connection, Accept-Encoding and Content-Length. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Blocks of non-public addresses that this tenant's webhooks may call, beside those of the installation. */
  readonly allowCidrs: readonly Cidr[]
}

export interface WebhookResponse {
  readonly result: AttemptResult
  /** Absent without an answer. */
  readonly statusCode?: number
  /** `Retry-After` as the receiver sent it. */
  readonly retryAfter?: string
  /** The beginning of the body as text. */
  readonly excerpt?: string
  /** What went wrong, for the tenant: names its host, but no address. Absent if nothing did. */
  readonly message?: string
}

/**
 * Calls receivers. It follows no redirect, sends no cookie and decompresses nothing. Of an answer it reads an excerpt, for at most
 * `WEBHOOK_EXCERPT_MS_MAX`. The head of an answer decides: what happens to the connection afterwards changes nothing.
 *
 * A receiver may get one call twice, with the same bytes: if it closes a kept-alive connection just as it is used again, the call is
 * repeated.
 *
 * A connection goes only to an address that is public or allowed (see `mayConnect`), whatever the URL calls it. A name is resolved once,
 * and refused if any of its addresses is neither. The connected address is checked again before a byte is sent. A connection that was
 * allowed by one list of blocks is never used with another list.
 */
export interface WebhookSender extends AsyncDisposable {
  /**
   * Sends the request and receives the head of the answer within `WEBHOOK_ATTEMPT_MS_MAX`. Rejects with the signal's reason if that aborts
   * first; a received answer is returned all the same. Rejects for no other reason, except invalid headers.
   */
  post(request: WebhookRequest, signal: AbortSignal): Promise<WebhookResponse>
}
