/** The requests and answers of the service, field by field as sent. A test compares this file with the OpenAPI document. */

/** Body of POST /render. */
export interface RenderRequest {
  /** Template code, in snake or kebab case. */
  readonly template: string
  /** The payload, valid under the template's `variables_schema`. */
  readonly data: Readonly<Record<string, unknown>>
  /** Overrides the template's engine. `react_pdf` when neither names one. */
  readonly engine?: Engine
  readonly mode?: 'sync' | 'async'
  /** `true` means the mode `async`. */
  readonly async?: boolean
  readonly options?: RenderOptions
  /** https URL that receives the signed event of this render. */
  readonly webhook_url?: string
}

export type Engine = 'react_pdf' | 'html'

export interface RenderOptions {
  /** A named size, or width and height in points. */
  readonly page_size?: PageSizeName | { readonly width: number; readonly height: number }
  readonly orientation?: 'portrait' | 'landscape'
  /** One length for all sides, or an object of sides: points, or a CSS length in pt, px, mm, cm or in. */
  readonly margin?: Length | Margin
  readonly filename?: string
}

export type PageSizeName = 'A3' | 'A4' | 'A5' | 'A6' | 'LETTER' | 'LEGAL' | 'TABLOID'
export type Length = number | string

export interface Margin {
  readonly top?: Length
  readonly right?: Length
  readonly bottom?: Length
  readonly left?: Length
}

/** Answer to POST /render in mode `async`. */
export interface RenderAccepted {
  readonly render_id: string
  readonly status: 'queued'
  /** Relative path of the status record. */
  readonly poll_url: string
}

/** Answer to GET /render/{id}. */
export interface RenderRecord {
  readonly render_id: string
  /** Absent only when the service knows nothing but the id of a queued render. */
  readonly template?: string
  readonly status: RenderStatus
  /** Present only while `status` is `succeeded`. Valid for ten minutes; every GET returns a new URL. */
  readonly pdf_url?: string
  readonly pdf_size_bytes?: number
  /** RFC 3339, UTC. */
  readonly created_at: string
  readonly finished_at?: string
  /** Present only while `status` is `failed`. */
  readonly error?: RenderFailure
  /** Problems of the document that did not fail the render. Absent when there are none. */
  readonly warnings?: readonly RenderWarning[]
}

export type RenderStatus = 'queued' | 'running' | 'succeeded' | 'failed'

export interface RenderFailure {
  readonly code: FailureCode
  readonly message: string
}

export interface RenderWarning {
  readonly code: WarningCode
  readonly message: string
}

/** Reasons why a render fails. More may be added. */
export type FailureCode =
  | 'render_timeout'
  | 'render_crashed'
  | 'template_error'
  | 'page_limit'
  | 'asset_unavailable'
  | 'tenant_suspended'
  | 'expired'
  | 'canceled'
  | 'internal'

/** Warnings of a succeeded render. More may be added. */
export type WarningCode = 'missing_glyph' | 'javascript_disabled'

/** Answer to GET /templates: one page. */
export interface TemplateList {
  readonly templates: readonly Template[]
}

export interface Template {
  readonly code: string
  readonly name: string
  readonly version: number
  /** JSON Schema 2020-12 of `data`. */
  readonly variables_schema: Readonly<Record<string, unknown>>
}

/** Answer to GET /render/{id}/deliveries, the oldest first. */
export interface DeliveryList {
  readonly deliveries: readonly Delivery[]
}

/** The delivery of one event to one webhook receiver. */
export interface Delivery {
  readonly id: string
  readonly event: EventType
  readonly url: string
  readonly status: DeliveryStatus
  readonly created_at: string
  /** Present while `status` is `scheduled`. */
  readonly next_attempt_at?: string
  /** Why the delivery waits longer than its schedule, or why it was blocked. */
  readonly reason?: string
  readonly attempts: readonly DeliveryAttempt[]
}

export type DeliveryStatus = 'scheduled' | 'delivered' | 'exhausted' | 'gone' | 'blocked'
export type EventType = 'render.succeeded' | 'render.failed'

/** One request to the receiver. */
export interface DeliveryAttempt {
  readonly started_at: string
  readonly duration_ms: number
  readonly result: AttemptResult
  /** HTTP status. Absent when there was no answer. */
  readonly status_code?: number
  /** What went wrong. */
  readonly message?: string
  /** The start of the answer's body. */
  readonly response_excerpt?: string
}

export type AttemptResult = 'ok' | 'status' | 'timeout' | 'dns' | 'connection' | 'tls' | 'protocol' | 'blocked'

/** Answer to POST /deliveries/{id}/redeliver. */
export interface Redelivery {
  readonly id: string
  readonly status: DeliveryStatus
}

/** The body of every refusal. */
export interface ErrorBody {
  readonly error: {
    readonly code: ErrorCode
    readonly message: string
    readonly request_id: string
    readonly details?: readonly ErrorDetail[]
  }
}

export interface ErrorDetail {
  /** JSON pointer into the request body. */
  readonly path: string
  readonly message: string
}

/** Codes of refused requests. More may be added. */
export type ErrorCode =
  | 'INVALID_PAYLOAD'
  | 'UNAUTHORIZED'
  | 'PAYMENT_REQUIRED'
  | 'NOT_FOUND'
  | 'TEMPLATE_NOT_FOUND'
  | 'RENDER_NOT_FOUND'
  | 'DELIVERY_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TIMEOUT'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'RENDER_EXPIRED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'VALIDATION_FAILED'
  | 'IDEMPOTENCY_MISMATCH'
  | 'RATE_LIMITED'
  | 'HTML_RATE_LIMIT_EXCEEDED'
  | 'HEADERS_TOO_LARGE'
  | 'INTERNAL_ERROR'
  | 'RENDER_UNAVAILABLE'

/** Body of a delivery, as the receiver gets it. */
export type WebhookBody = SucceededBody | FailedBody

export interface SucceededBody {
  /** The render id in its UUID spelling. */
  readonly id: string
  readonly status: 'succeeded'
  readonly duration_ms: number
  readonly bytes: number
  /** SHA-256 of the PDF. */
  readonly artifact_id: string
}

export interface FailedBody {
  readonly id: string
  readonly status: 'failed'
  readonly error_code: FailureCode
  readonly error_message: string
}
