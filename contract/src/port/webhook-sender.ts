import type { Cidr } from '../address.ts'
import type { AttemptResult } from '../delivery.ts'

/** One POST to a receiver. */
export interface WebhookRequest {
  readonly url: string
  /** In the names and order they are sent in; without Host, Connection, Accept-Encoding and Content-Length. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Blocks of addresses this tenant may be called at though they are not public, beside those of the installation. */
  readonly allowCidrs: readonly Cidr[]
}

export interface WebhookResponse {
  readonly result: AttemptResult
  /** Absent when no answer came. */
  readonly statusCode?: number
  /** `Retry-After` as it was sent. */
  readonly retryAfter?: string
  /** The beginning of the body as text. */
  readonly excerpt?: string
  /** What went wrong, for the tenant: names its host, and no address. Absent when nothing did. */
  readonly message?: string
}

/**
 * Calls receivers. It follows no redirect, sends no cookie, decompresses nothing, and reads of an answer what an excerpt has room
 * for, in `WEBHOOK_EXCERPT_MS_MAX`. The head of an answer decides: what happens to the connection afterwards changes nothing.
 *
 * A receiver may get one call twice, in the same bytes: when it closes a connection that had been kept, just as it is used again,
 * the call is made anew.
 *
 * A connection goes only to an address that is public or allowed (see `mayConnect`), whatever the URL calls it: a name is resolved
 * once, is refused where any of its addresses is not such a one, and what is connected to is looked at again before a byte is sent.
 * A connection that was allowed for one list of blocks is used for no other.
 */
export interface WebhookSender extends AsyncDisposable {
  /**
   * Sends and has the head of the answer within `WEBHOOK_ATTEMPT_MS_MAX`. Rejects with the signal's reason when that aborts before;
   * an answer that is there is given all the same. Rejects with nothing else, unless the headers are none.
   */
  post(request: WebhookRequest, signal: AbortSignal): Promise<WebhookResponse>
}
