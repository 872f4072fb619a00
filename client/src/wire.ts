/**
 * The requests and answers of the service, field by field, in the spelling of the client. Made from the schemas of the service by
 * `npx vitest run test/docs.test.ts -u`; do not edit.
 */

/** Body of POST /render. */
export interface RenderRequest {
  /** Template code, in snake or kebab case. */
  readonly template: string
  /** The payload. It must conform to the template's variablesSchema. */
  readonly data: Readonly<Record<string, unknown>>
  /** Overrides the engine of the template, which is react_pdf if the template names none. */
  readonly engine?: Engine
  /** sync (default) returns the PDF; async returns a render id. */
  readonly mode?: 'sync' | 'async'
  /** true means async, false means sync. If mode is given too, both must agree. */
  readonly async?: boolean
  readonly options?: RenderOptions
  /** https URL that receives the signed event of this render. */
  readonly webhookUrl?: string
  /** Your own name for what the render is of, such as an order number: text without control characters and characters that change its direction. Renders are listed by it; it need not be unique. */
  readonly reference?: string
  /** Up to 16 texts of your own. You get them back with the status, in lists and in webhooks. */
  readonly metadata?: Readonly<Record<string, string>>
}

export type Engine = 'react_pdf' | 'html'

export interface RenderOptions {
  /** A named size, or width and height in points. */
  readonly pageSize?: PageSizeName | { readonly width: number; readonly height: number }
  readonly orientation?: 'portrait' | 'landscape'
  /** One length for all sides, or an object with a length for each side. */
  readonly margin?: Length | Margin
  /** A file name without a folder, control characters and \ : * ? " < > |. If it does not end in .pdf, that is added. */
  readonly filename?: string
  /** Language tag such as pl-PL. Numbers and dates are written for it if the source names no locale. */
  readonly locale?: string
  /** IANA time zone such as Europe/Warsaw. Dates are written in it if the source names none. Default is UTC. */
  readonly timeZone?: string
  /** A time by RFC 3339 with its offset, such as 2026-11-25T12:00:00Z, from 1000 to 2999. The PDF says that it was created and changed then. Default is the time at which the render was accepted. */
  readonly date?: string
  /** True fails the render with document_warnings if the document has a warning. A template or plan that is strict stays so, whatever the request says. */
  readonly strict?: boolean
}

export type PageSizeName = 'A3' | 'A4' | 'A5' | 'A6' | 'LETTER' | 'LEGAL' | 'TABLOID'

/** Points, or a CSS length in pt, px, mm, cm or in. */
export type Length = number | string

export interface Margin {
  /** Points, or a CSS length in pt, px, mm, cm or in. */
  readonly top?: Length
  /** Points, or a CSS length in pt, px, mm, cm or in. */
  readonly right?: Length
  /** Points, or a CSS length in pt, px, mm, cm or in. */
  readonly bottom?: Length
  /** Points, or a CSS length in pt, px, mm, cm or in. */
  readonly left?: Length
}

/** Answer to POST /render in mode `async`. */
export interface RenderAccepted {
  /** ULID. */
  readonly renderId: string
  readonly status: 'queued'
  /** Relative path of the status record. */
  readonly pollUrl: string
}

/** Answer to GET /render/{id}. */
export interface RenderRecord {
  /** ULID. */
  readonly renderId: string
  /** Template code. Absent only while nothing but the id of a queued render is known. */
  readonly template?: string
  /** `reference` of the request. */
  readonly reference?: string
  /** `metadata` of the request. */
  readonly metadata?: Readonly<Record<string, string>>
  /** The batch that the render belongs to, if any. */
  readonly batchId?: string
  readonly status: RenderStatus
  /** Only while status is succeeded. Valid for ten minutes; every GET returns a new one. */
  readonly pdfUrl?: string
  readonly pdfSizeBytes?: number
  /** Pages of the PDF. Only if status is succeeded. */
  readonly pages?: number
  /** RFC 3339, UTC. */
  readonly createdAt: string
  /** RFC 3339, UTC. */
  readonly finishedAt?: string
  /** Only while status is failed. */
  readonly error?: RenderFailure
  /** Problems of a document that was rendered nevertheless, or that failed with document_warnings. Absent if there are none. */
  readonly warnings?: readonly RenderWarning[]
  /** How many more warnings there were. Absent if `warnings` has all of them; it has at most 20. */
  readonly warningsOmitted?: number
}

export type RenderStatus = 'queued' | 'running' | 'succeeded' | 'failed'

export interface RenderFailure {
  readonly code: FailureCode
  /** The same as code. */
  readonly reason: FailureCode
  readonly message: string
}

export interface RenderWarning {
  readonly code: WarningCode
  /** Where, if it is known: a source with line and column, or the page of the PDF. */
  readonly place?: string
  readonly message: string
}

/** Reasons why a render fails. More may be added. */
export type FailureCode =
  | 'render_timeout'
  | 'render_crashed'
  | 'template_error'
  | 'page_limit'
  | 'document_warnings'
  | 'asset_unavailable'
  | 'tenant_suspended'
  | 'expired'
  | 'invalid_options'
  | 'canceled'
  | 'internal'
  | (string & {})

/** Warnings of a succeeded render. More may be added. */
export type WarningCode =
  | 'missing_glyph'
  | 'javascript_disabled'
  | 'text_overflow'
  | 'text_overlap'
  | 'block_squashed'
  | 'page_blank'
  | 'page_shrunk'
  | 'file_refused'
  | 'file_damaged'
  | 'image_absent'
  | 'link_broken'
  | 'style_ignored'
  | 'font_absent'
  | 'markup_unclosed'
  | 'script_error'
  | 'target_absent'
  | 'variable_absent'
  | (string & {})

/** Answer to GET /renders: one page. */
export interface RenderList {
  readonly renders: readonly ListedRender[]
  /** The `cursor` of the next page. Absent on the last page. */
  readonly nextCursor?: string
}

/** A render in a list. Its status record has more. */
export interface ListedRender {
  /** ULID. */
  readonly renderId: string
  /** Template code. */
  readonly template: string
  /** The engine that renders. */
  readonly engine: Engine
  /** `reference` of the request. */
  readonly reference?: string
  /** `metadata` of the request. */
  readonly metadata?: Readonly<Record<string, string>>
  /** The batch that the render belongs to, if any. */
  readonly batchId?: string
  readonly status: RenderStatus
  readonly pdfSizeBytes?: number
  /** RFC 3339, UTC. */
  readonly createdAt: string
  /** RFC 3339, UTC. */
  readonly finishedAt?: string
  /** Only while status is failed. The status record also has the message. */
  readonly error?: ListedFailure
}

export interface ListedFailure {
  readonly code: FailureCode
  /** The same as code. */
  readonly reason: FailureCode
}

/** Body of POST /batches. */
export interface BatchRequest {
  /** Template code, in snake or kebab case. */
  readonly template: string
  /** Overrides the engine of the template, which is react_pdf if the template names none. */
  readonly engine?: Engine
  readonly options?: RenderOptions
  /** https URL that receives one signed event when the batch has ended. Its renders send none. */
  readonly webhookUrl?: string
  /** Your own name for the batch. Its renders have a reference of their own. */
  readonly reference?: string
  /** Texts of your own. You get them back with the status of the batch and in its webhook. */
  readonly metadata?: Readonly<Record<string, string>>
  /** What each render is made of. */
  readonly items: readonly BatchItem[]
}

/** One render of a batch. */
export interface BatchItem {
  /** The payload. It must conform to the template's variablesSchema. */
  readonly data: Readonly<Record<string, unknown>>
  /** Overrides `options.filename` of the batch. */
  readonly filename?: string
  /** Your own name for what the render is of, such as an order number: text without control characters and characters that change its direction. Renders are listed by it; it need not be unique. */
  readonly reference?: string
  /** Up to 16 texts of your own. You get them back with the status, in lists and in webhooks. */
  readonly metadata?: Readonly<Record<string, string>>
}

/** Answer to POST /batches. */
export interface BatchAccepted {
  /** ULID. */
  readonly batchId: string
  readonly status: 'processing'
  /** Renders of the batch. */
  readonly total: number
  /** Relative path of the status of the batch. */
  readonly pollUrl: string
}

/** Answer to GET /batches/{id}. */
export interface BatchRecord {
  /** ULID. */
  readonly batchId: string
  /** Template code. */
  readonly template: string
  /** `reference` of the batch. */
  readonly reference?: string
  /** `metadata` of the batch. */
  readonly metadata?: Readonly<Record<string, string>>
  readonly status: 'processing' | 'ended'
  /** Renders of the batch. */
  readonly total: number
  /** Renders that wait. */
  readonly queued: number
  readonly running: number
  readonly succeeded: number
  /** Renders that failed, or were deleted before they ended. */
  readonly failed: number
  /** RFC 3339, UTC. */
  readonly createdAt: string
  /** Only while status is ended. */
  readonly endedAt?: string
  /** The delivery of `batch.ended`, as `GET /api/v1/deliveries/{id}` shows it. Only while status is ended, and if the batch has a webhookUrl. */
  readonly deliveryId?: string
}

/** Answer to GET /templates: one page. */
export interface TemplateList {
  readonly templates: readonly Template[]
}

export interface Template {
  readonly code: string
  readonly name: string
  readonly version: number
  /** JSON Schema 2020-12 of data. */
  readonly variablesSchema: Readonly<Record<string, unknown>>
}

/** Answer to GET /templates/{code}. */
export interface TemplateDetail {
  readonly code: string
  readonly name: string
  readonly version: number
  /** JSON Schema 2020-12 of data. */
  readonly variablesSchema: Readonly<Record<string, unknown>>
  /** The engine of requests that name none. */
  readonly engine: Engine
  /** The engines that the template has a source for. */
  readonly engines: readonly TemplateEngine[]
  readonly options: RenderOptions
  /** Sample data of the template, valid under variablesSchema. Absent if there is none, or if it has more than 64 KiB. */
  readonly sample?: Readonly<Record<string, unknown>>
  /** What a render would be warned of now. Absent if there is nothing. */
  readonly warnings?: readonly RenderWarning[]
}

export interface TemplateEngine {
  readonly engine: Engine
  /** What a render costs of the monthly quota. 0 in the sandbox. */
  readonly units: number
  /** Whether the plan has this engine. If not, requests for it are 402. */
  readonly inPlan: boolean
}

/** Answer to GET /usage. */
export interface Usage {
  /** The calendar month (UTC) that the units are of. */
  readonly month: string
  /** When the next month begins. */
  readonly resetsAt: string
  /** Units that the plan allows in a month. Absent if it sets no limit. */
  readonly limit?: number
  /** Units left: limit without used and reserved. Absent if there is no limit. */
  readonly remaining?: number
  /** Units of renders that succeeded. */
  readonly used: number
  /** Units of renders that have not ended. They are free again if the render fails. */
  readonly reserved: number
  /** Each rate limit that renders with this key count in. A render must fit into all of its rates. */
  readonly rates: readonly UsageRate[]
  /** The used units by template, the most used first: the first 200 templates of the month. */
  readonly templates: readonly {
    /** Template code. */
    readonly template: string
    readonly renders: number
    readonly units: number
  }[]
  /** The used units by the day on which the render was accepted. Days without any are absent. */
  readonly days: readonly {
    /** UTC. */
    readonly date: string
    readonly renders: number
    readonly units: number
  }[]
}

export interface UsageRate {
  /** The mode or engine whose renders count. */
  readonly renders: 'sync' | 'async' | 'react_pdf' | 'html'
  /** Whose renders count: those of this key, or of all keys of the tenant in this environment. */
  readonly per: 'key' | 'tenant'
  /** Renders in any 60 seconds. */
  readonly limit: number
  /** Renders left now. */
  readonly remaining: number
  /** When the whole limit is free again if nothing more is requested. */
  readonly resetsAt: string
}

/** Answer to GET /render/{id}/deliveries, the oldest first. */
export interface DeliveryList {
  readonly deliveries: readonly Delivery[]
}

/** The delivery of one event to one webhook receiver. */
export interface Delivery {
  /** X-Service-Delivery and webhook-id of every attempt. */
  readonly id: string
  readonly event: EventType
  /** webhookUrl of the render. */
  readonly url: string
  /** scheduled: an attempt is due. delivered: answered 2xx. exhausted: the last attempt failed. gone: answered 410. blocked: the target must not be called. */
  readonly status: DeliveryStatus
  /** RFC 3339, UTC. */
  readonly createdAt: string
  /** Only while status is scheduled. */
  readonly nextAttemptAt?: string
  /** Why the delivery is waiting or was blocked. */
  readonly reason?: string
  /** The last 50 attempts, the oldest first. */
  readonly attempts: readonly DeliveryAttempt[]
}

export type DeliveryStatus = 'scheduled' | 'delivered' | 'exhausted' | 'gone' | 'blocked'

export type EventType = 'render.succeeded' | 'render.failed'

/** One request to the receiver. */
export interface DeliveryAttempt {
  /** RFC 3339, UTC. */
  readonly startedAt: string
  readonly durationMs: number
  /** ok: answered 2xx. status: answered with another status, including redirects. timeout, dns, connection, tls, protocol: no valid answer. blocked: the target must not be called. */
  readonly result: AttemptResult
  /** HTTP status, if there was an answer. */
  readonly statusCode?: number
  /** What went wrong. Absent if the attempt succeeded. */
  readonly message?: string
  /** The first 4 KiB of the answer, if it is text. */
  readonly responseExcerpt?: string
}

export type AttemptResult = 'ok' | 'status' | 'timeout' | 'dns' | 'connection' | 'tls' | 'protocol' | 'blocked'

/** Answer to GET /deliveries/{id} and POST /webhooks/test. */
export interface DeliveryDetail {
  /** X-Service-Delivery and webhook-id of every attempt. */
  readonly id: string
  readonly event: DeliveredEventType
  /** Where it is sent: webhookUrl of the request, or url of the test event. */
  readonly url: string
  /** scheduled: an attempt is due. delivered: answered 2xx. exhausted: the last attempt failed. gone: answered 410. blocked: the target must not be called. */
  readonly status: DeliveryStatus
  /** RFC 3339, UTC. */
  readonly createdAt: string
  /** Only while status is scheduled. */
  readonly nextAttemptAt?: string
  /** Why the delivery is waiting or was blocked. */
  readonly reason?: string
  /** The last 50 attempts, the oldest first. */
  readonly attempts: readonly DeliveryAttempt[]
  /** The render that the event is about. Absent if it is about none. */
  readonly renderId?: string
  /** The batch that has ended, of `batch.ended`. */
  readonly batchId?: string
}

export type DeliveredEventType = 'render.succeeded' | 'render.failed' | 'batch.ended' | 'webhook.test'

/** Answer to GET /deliveries: one page. */
export interface DeliveryPage {
  readonly deliveries: readonly ListedDelivery[]
  /** The `cursor` of the next page. Absent on the last page. */
  readonly nextCursor?: string
}

/** A delivery in a list. The delivery itself has more. */
export interface ListedDelivery {
  /** X-Service-Delivery and webhook-id of every attempt. */
  readonly id: string
  readonly event: DeliveredEventType
  /** ULID. */
  readonly renderId: string
  /** Template code. */
  readonly template: string
  /** `reference` of the render. */
  readonly reference?: string
  /** scheduled: an attempt is due. delivered: answered 2xx. exhausted: the last attempt failed. gone: answered 410. blocked: the target must not be called. */
  readonly status: DeliveryStatus
  /** RFC 3339, UTC. */
  readonly createdAt: string
  /** Absent before the first attempt. The delivery itself has all attempts, with messages and answers. */
  readonly lastAttempt?: ListedAttempt
}

export interface ListedAttempt {
  /** RFC 3339, UTC. */
  readonly startedAt: string
  readonly durationMs: number
  /** ok: answered 2xx. status: answered with another status, including redirects. timeout, dns, connection, tls, protocol: no valid answer. blocked: the target must not be called. */
  readonly result: AttemptResult
  /** HTTP status, if there was an answer. */
  readonly statusCode?: number
}

/** Body of POST /webhooks/test. */
export interface TestEventRequest {
  /** https URL that receives the signed test event: what you would send as `webhookUrl`. */
  readonly url: string
}

/** Answer to POST /deliveries/{id}/redeliver. */
export interface Redelivery {
  readonly id: string
  /** The status before the new attempt. */
  readonly status: DeliveryStatus
}

/** The body of every refusal. */
export interface ErrorBody {
  readonly error: {
    readonly code: ErrorCode
    /** Why, in one word. It tells apart what has the same code. */
    readonly reason: ErrorReason
    readonly message: string
    readonly requestId: string
    readonly details?: readonly ErrorDetail[]
  }
}

export interface ErrorDetail {
  /** The part of the request that has the fault. */
  readonly in: 'body' | 'query' | 'header' | 'path'
  /** In the body, a JSON pointer; else the name of the parameter or header. */
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
  | 'BATCH_NOT_FOUND'
  | 'PDF_NOT_FOUND'
  | 'DELIVERY_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TIMEOUT'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'RENDER_NOT_FINISHED'
  | 'RENDER_EXPIRED'
  | 'BATCH_EXPIRED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RANGE_NOT_SATISFIABLE'
  | 'VALIDATION_FAILED'
  | 'IDEMPOTENCY_MISMATCH'
  | 'RATE_LIMITED'
  | 'HTML_RATE_LIMIT_EXCEEDED'
  | 'HEADERS_TOO_LARGE'
  | 'INTERNAL_ERROR'
  | 'RENDER_UNAVAILABLE'
  | (string & {})

/** Why a request was refused, in one word. More may be added. */
export type ErrorReason =
  | 'invalid_fields'
  | 'invalid_body'
  | 'invalid_http'
  | 'unauthorized'
  | 'suspended'
  | 'quota_exhausted'
  | 'engine_not_in_plan'
  | 'not_found'
  | 'template_not_found'
  | 'render_not_found'
  | 'batch_not_found'
  | 'pdf_not_found'
  | 'delivery_not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'idempotency_in_progress'
  | 'render_not_finished'
  | 'render_expired'
  | 'batch_expired'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'range_not_satisfiable'
  | 'invalid_data'
  | 'invalid_options'
  | 'engine_without_source'
  | 'engine_not_installed'
  | 'idempotency_mismatch'
  | 'rate_limited'
  | 'html_rate_limit_exceeded'
  | 'headers_too_large'
  | 'internal'
  | 'render_timeout'
  | 'render_crashed'
  | 'template_error'
  | 'page_limit'
  | 'document_warnings'
  | 'asset_unavailable'
  | 'tenant_suspended'
  | 'expired'
  | 'canceled'
  | 'unavailable'
  | 'engine_unavailable'
  | 'list_incomplete'
  | (string & {})
