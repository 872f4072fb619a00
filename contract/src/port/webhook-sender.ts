import type { Cidr } from '@platen/lib/address.ts'
import type { AttemptResult } from '../domain/delivery.ts'

export interface WebhookRequest {
  readonly url: string
  /** In the order they are sent, without Host, Connection, Accept-Encoding and Content-Length. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Non-public addresses that this tenant's webhooks may call, beside those of the installation. */
  readonly allowCidrs: readonly Cidr[]
}

export interface WebhookResponse {
  readonly result: AttemptResult
  /** Absent without an answer. */
  readonly statusCode?: number
  /** As the receiver sent it. */
  readonly retryAfter?: string
  /** The beginning of the body as text. */
  readonly excerpt?: string
  /** For the tenant: names its host, but no address. Absent if nothing went wrong. */
  readonly message?: string
}

/**
 * Calls receivers. Follows no redirect, sends no cookie and decompresses nothing. Reads an excerpt of an answer, for at most
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
   * Receives the head of the answer within `WEBHOOK_ATTEMPT_MS_MAX`. Rejects with the signal's reason if that aborts first; an answer
   * received by then is still returned. Rejects for no other reason, except invalid headers.
   */
  post(request: WebhookRequest, signal: AbortSignal): Promise<WebhookResponse>
}
