/**
 * The error catalog, read by the HTTP answer, the renderer's retry decision, the failed status record, the webhook body and docs/errors.md.
 * Upper-case codes answer a request. Lower-case codes say how a render failed, or what it warns of.
 */

/** Who can fix an error. */
export const FAULTS = ['caller', 'tenant', 'operator'] as const
export type Fault = (typeof FAULTS)[number]

export interface ErrorEntry {
  /** HTTP status; absent for codes that only a render can end with. */
  readonly status?: number
  /** Whether the same request or render may succeed if it is tried again unchanged. */
  readonly retryable: boolean
  readonly fault: Fault
  /** One sentence, for docs/errors.md and the OpenAPI document. */
  readonly summary: string
}

/** Need an API key. Operations are ids of the OpenAPI document. */
const KEYED = [
  'createRender',
  'createBatch',
  'getBatch',
  'getRender',
  'deleteRender',
  'listRenders',
  'listTemplates',
  'listDeliveries',
  'listAllDeliveries',
  'getDelivery',
  'redeliver',
  'testWebhook',
  'getUsage',
  'getTemplate',
  'getPdf',
] as const
const OPEN = ['getLiveness', 'getReadiness', 'getOpenApi'] as const
export type Operation = (typeof KEYED)[number] | (typeof OPEN)[number]
const CREATING = ['createRender', 'createBatch'] as const

export interface HttpErrorEntry extends ErrorEntry {
  readonly status: number
  /** Operations that may answer with it. Empty if such a request reaches no operation. */
  readonly operations: readonly Operation[]
  /** Always sent with it. */
  readonly headers?: readonly ('Retry-After' | 'WWW-Authenticate')[]
}

export const HTTP_ERRORS = {
  INVALID_PAYLOAD: {
    status: 400,
    retryable: false,
    fault: 'caller',
    operations: [...KEYED, ...OPEN],
    summary: 'The request is malformed: not JSON, no body, an unknown field, a wrong type or a bad option.',
  },
  UNAUTHORIZED: {
    status: 401,
    retryable: false,
    fault: 'caller',
    operations: KEYED,
    headers: ['WWW-Authenticate'],
    summary: 'The API key is missing or not valid.',
  },
  PAYMENT_REQUIRED: {
    status: 402,
    retryable: false,
    fault: 'tenant',
    operations: [...CREATING, 'testWebhook'],
    summary: 'The subscription is not active, the quota is used up, or the plan has no html engine.',
  },
  NOT_FOUND: {
    status: 404,
    retryable: false,
    fault: 'caller',
    operations: [],
    summary: 'There is no such route.',
  },
  TEMPLATE_NOT_FOUND: {
    status: 404,
    retryable: false,
    fault: 'caller',
    operations: [...CREATING, 'getTemplate'],
    summary: 'The tenant has no published template of this code.',
  },
  RENDER_NOT_FOUND: {
    status: 404,
    retryable: false,
    fault: 'caller',
    operations: ['getRender', 'deleteRender', 'listDeliveries', 'getPdf'],
    summary: 'No render of this id was issued to this tenant and environment.',
  },
  BATCH_NOT_FOUND: {
    status: 404,
    retryable: false,
    fault: 'caller',
    operations: ['getBatch'],
    summary: 'No batch of this id was issued to this tenant and environment.',
  },
  PDF_NOT_FOUND: {
    status: 404,
    retryable: false,
    fault: 'caller',
    operations: ['getPdf'],
    summary: 'The render failed, so it has no PDF.',
  },
  DELIVERY_NOT_FOUND: {
    status: 404,
    retryable: false,
    fault: 'caller',
    operations: ['getDelivery', 'redeliver'],
    summary: 'There is no webhook delivery of this id for this tenant and environment, or it is no longer kept.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    retryable: false,
    fault: 'caller',
    operations: [],
    summary: 'The route exists, but not with this method; `Allow` lists the methods that it has.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    retryable: true,
    fault: 'caller',
    operations: [...CREATING, 'testWebhook'],
    summary: 'The request was not received in time.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    retryable: true,
    fault: 'caller',
    operations: CREATING,
    headers: ['Retry-After'],
    summary: 'The first request with this `Idempotency-Key` is not answered yet; `Retry-After` is sent.',
  },
  RENDER_NOT_FINISHED: {
    status: 409,
    retryable: true,
    fault: 'caller',
    operations: ['getPdf'],
    headers: ['Retry-After'],
    summary: 'The render has no PDF yet; `Retry-After` is sent.',
  },
  RENDER_EXPIRED: {
    status: 410,
    retryable: false,
    fault: 'caller',
    operations: ['getRender', 'deleteRender', 'getPdf'],
    summary: 'The render is past its retention, was deleted, or did not finish within a day.',
  },
  BATCH_EXPIRED: {
    status: 410,
    retryable: false,
    fault: 'caller',
    operations: ['getBatch'],
    summary: 'The batch is past the retention of its renders.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    retryable: false,
    fault: 'caller',
    operations: [...CREATING, 'testWebhook'],
    summary:
      'The request body is over 10 MiB, over 25 MiB for a batch, or over 16 KiB for a test event, as it is sent or inflated.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    retryable: false,
    fault: 'caller',
    operations: [...CREATING, 'testWebhook'],
    summary:
      'The request body is not declared as UTF-8 `application/json`, plain or as gzip. That of a batch may also be `application/x-ndjson`.',
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    retryable: false,
    fault: 'caller',
    operations: ['getPdf'],
    summary: 'The `Range` begins after the end of the document; `Content-Range` says how long it is.',
  },
  VALIDATION_FAILED: {
    status: 422,
    retryable: false,
    fault: 'caller',
    operations: CREATING,
    summary:
      "`data` does not fit the template's `variables_schema`, the options do not fit the document, the template has no source for the engine, or the installation does not have the engine.",
  },
  IDEMPOTENCY_MISMATCH: {
    status: 422,
    retryable: false,
    fault: 'caller',
    operations: CREATING,
    summary: 'The `Idempotency-Key` was sent within the last day with another body.',
  },
  RATE_LIMITED: {
    status: 429,
    retryable: true,
    fault: 'caller',
    operations: [...KEYED, 'getOpenApi'],
    headers: ['Retry-After'],
    summary: 'Too many requests; `Retry-After` says when the next is admitted.',
  },
  HTML_RATE_LIMIT_EXCEEDED: {
    status: 429,
    retryable: true,
    fault: 'caller',
    operations: CREATING,
    headers: ['Retry-After'],
    summary: 'Too many html renders of the tenant; `Retry-After` says when the next is admitted.',
  },
  HEADERS_TOO_LARGE: {
    status: 431,
    retryable: false,
    fault: 'caller',
    operations: [...KEYED, ...OPEN],
    summary: 'The request headers are over 16 KiB.',
  },
  INTERNAL_ERROR: {
    status: 500,
    retryable: false,
    fault: 'operator',
    operations: KEYED,
    summary: 'The render failed (the message begins with its failure code), or the service has a defect.',
  },
  RENDER_UNAVAILABLE: {
    status: 503,
    retryable: true,
    fault: 'operator',
    operations: KEYED,
    headers: ['Retry-After'],
    summary: 'No renderer, or no list of renders, is available just now; nothing was charged. `Retry-After` is sent.',
  },
} as const satisfies Record<string, HttpErrorEntry>

export const FAILURES = {
  render_timeout: { retryable: false, fault: 'tenant', summary: 'The render did not finish before its deadline.' },
  render_crashed: {
    retryable: true,
    fault: 'tenant',
    summary: 'The render crashed its renderer in each of three attempts.',
  },
  template_error: {
    retryable: false,
    fault: 'tenant',
    summary: 'The template could not be evaluated or laid out, or exceeded a limit.',
  },
  page_limit: { retryable: false, fault: 'tenant', summary: 'The document has more pages than are allowed.' },
  document_warnings: {
    retryable: false,
    fault: 'tenant',
    summary: 'The document has warnings, and its plan, its template or the request is strict: it allows none.',
  },
  asset_unavailable: {
    retryable: false,
    fault: 'tenant',
    summary: 'An image, font or style sheet of the template could not be fetched or used.',
  },
  tenant_suspended: { retryable: false, fault: 'tenant', summary: 'The tenant was suspended before the render began.' },
  expired: { retryable: false, fault: 'operator', summary: 'No renderer took the render within a day.' },
  invalid_options: {
    retryable: false,
    fault: 'caller',
    summary: 'The options do not fit the document: the margins leave no space on its pages.',
  },
  canceled: {
    retryable: false,
    fault: 'caller',
    summary: 'The render was deleted before it ended, its caller went away, or it was never confirmed as queued.',
  },
  internal: { retryable: false, fault: 'operator', summary: 'A defect of the service.' },
} as const satisfies Record<string, ErrorEntry>

const FAILURE_CODES = Object.keys(FAILURES) as FailureCode[]

export type HttpErrorCode = keyof typeof HTTP_ERRORS
/** `error.code` of a status record, `error_code` of a webhook. */
export type FailureCode = keyof typeof FAILURES
export type ErrorCode = HttpErrorCode | FailureCode

/** `INTERNAL_ERROR` also has several: those of renders that fail. */
const SEVERAL_REASONS = {
  INVALID_PAYLOAD: ['invalid_fields', 'invalid_body', 'invalid_http'],
  PAYMENT_REQUIRED: ['suspended', 'quota_exhausted', 'engine_not_in_plan'],
  VALIDATION_FAILED: ['invalid_data', 'invalid_options', 'engine_without_source', 'engine_not_installed'],
  RENDER_UNAVAILABLE: ['unavailable', 'engine_unavailable', 'list_incomplete'],
} as const satisfies Partial<Record<HttpErrorCode, readonly string[]>>

type Several = typeof SEVERAL_REASONS

/**
 * Why a request was refused or a render failed: `error.reason` of an answer and of a status record, `error_reason` of a webhook. A code
 * with one cause is its own reason, in lower case.
 */
export type Reason =
  | Several[keyof Several][number]
  | Lowercase<Exclude<HttpErrorCode, keyof Several | 'INTERNAL_ERROR'>>
  | FailureCode

/** The first is the default. */
export function reasonsOf(code: ErrorCode): readonly [Reason, ...Reason[]] {
  if (isFailureCode(code)) return [code]
  if (code === 'INTERNAL_ERROR') return ['internal', ...FAILURE_CODES.filter((failure) => failure !== 'internal')]
  return isKeyOf(SEVERAL_REASONS, code) ? SEVERAL_REASONS[code] : [lowerCase(code)]
}

/** In the words of OpenAPI. */
export const REQUEST_PARTS = ['body', 'query', 'header', 'path'] as const

/** `path` is a JSON pointer into the body, or the name of a parameter or header. `message` never contains the offending value. */
export interface ErrorDetail {
  /** Absent = in the body. */
  readonly in?: (typeof REQUEST_PARTS)[number]
  readonly path: string
  readonly message: string
}

interface ServiceErrorOptions extends ErrorOptions {
  readonly details?: readonly ErrorDetail[]
  /** By default the first of the code. */
  readonly reason?: Reason
  /** Such as `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  /** By default that of the code. */
  readonly fault?: Fault
}

/** The only error that is thrown on purpose. `message` tells the caller what to do, and never contains a secret or a tenant's content. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly reason: Reason
  readonly details: readonly ErrorDetail[]
  readonly headers: Readonly<Record<string, string>>
  readonly fault: Fault

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options)
    this.code = code
    this.reason = options.reason ?? reasonsOf(code)[0]
    this.details = options.details ?? []
    this.headers = options.headers ?? {}
    this.fault = options.fault ?? faultOf(code)
  }
}

export function isHttpErrorCode(code: ErrorCode): code is HttpErrorCode {
  return isKeyOf(HTTP_ERRORS, code)
}

export function isFailureCode(code: ErrorCode): code is FailureCode {
  return isKeyOf(FAILURES, code)
}

function isKeyOf<Known extends object>(known: Known, key: PropertyKey): key is keyof Known {
  return Object.hasOwn(known, key)
}

function lowerCase<Text extends string>(text: Text): Lowercase<Text> {
  // The type of String.toLowerCase does not say so.
  return text.toLowerCase() as Lowercase<Text>
}

function faultOf(code: ErrorCode): Fault {
  return isHttpErrorCode(code) ? HTTP_ERRORS[code].fault : FAILURES[code].fault
}
