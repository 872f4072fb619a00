"""
The requests and answers of the service, field by field as sent. A newer service may send more fields, and more words of a closed set.

Made from the schemas of the service by `npx vitest run test/docs.test.ts -u`; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

AttemptResult = Literal["ok", "status", "timeout", "dns", "connection", "tls", "protocol", "blocked"]

BatchStatus = Literal["processing", "ended"]

DeliveredEventType = Literal["render.succeeded", "render.failed", "batch.ended", "webhook.test"]

DeliveryStatus = Literal["scheduled", "delivered", "exhausted", "gone", "blocked"]

Engine = Literal["react_pdf", "html"]

ErrorCode = Literal[
    "INVALID_PAYLOAD",
    "UNAUTHORIZED",
    "PAYMENT_REQUIRED",
    "NOT_FOUND",
    "TEMPLATE_NOT_FOUND",
    "RENDER_NOT_FOUND",
    "BATCH_NOT_FOUND",
    "PDF_NOT_FOUND",
    "DELIVERY_NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "REQUEST_TIMEOUT",
    "IDEMPOTENCY_IN_PROGRESS",
    "RENDER_NOT_FINISHED",
    "RENDER_EXPIRED",
    "BATCH_EXPIRED",
    "PAYLOAD_TOO_LARGE",
    "UNSUPPORTED_MEDIA_TYPE",
    "RANGE_NOT_SATISFIABLE",
    "VALIDATION_FAILED",
    "IDEMPOTENCY_MISMATCH",
    "RATE_LIMITED",
    "HTML_RATE_LIMIT_EXCEEDED",
    "HEADERS_TOO_LARGE",
    "INTERNAL_ERROR",
    "RENDER_UNAVAILABLE",
]

ErrorReason = Literal[
    "invalid_fields",
    "invalid_body",
    "invalid_http",
    "unauthorized",
    "suspended",
    "quota_exhausted",
    "engine_not_in_plan",
    "not_found",
    "template_not_found",
    "render_not_found",
    "batch_not_found",
    "pdf_not_found",
    "delivery_not_found",
    "method_not_allowed",
    "request_timeout",
    "idempotency_in_progress",
    "render_not_finished",
    "render_expired",
    "batch_expired",
    "payload_too_large",
    "unsupported_media_type",
    "range_not_satisfiable",
    "invalid_data",
    "invalid_options",
    "engine_without_source",
    "engine_not_installed",
    "idempotency_mismatch",
    "rate_limited",
    "html_rate_limit_exceeded",
    "headers_too_large",
    "internal",
    "render_timeout",
    "render_crashed",
    "template_error",
    "page_limit",
    "document_warnings",
    "asset_unavailable",
    "tenant_suspended",
    "expired",
    "canceled",
    "unavailable",
    "engine_unavailable",
    "list_incomplete",
]

EventType = Literal["render.succeeded", "render.failed"]

FailureCode = Literal[
    "render_timeout",
    "render_crashed",
    "template_error",
    "page_limit",
    "document_warnings",
    "asset_unavailable",
    "tenant_suspended",
    "expired",
    "invalid_options",
    "canceled",
    "internal",
]

Length = float | str

Orientation = Literal["portrait", "landscape"]

PageSizeName = Literal["A3", "A4", "A5", "A6", "LETTER", "LEGAL", "TABLOID"]

RenderStatus = Literal["queued", "running", "succeeded", "failed"]

RequestPart = Literal["body", "query", "header", "path"]

WarningCode = Literal[
    "missing_glyph",
    "javascript_disabled",
    "text_overflow",
    "text_overlap",
    "block_squashed",
    "page_blank",
    "page_shrunk",
    "file_refused",
    "file_damaged",
    "image_absent",
    "link_broken",
    "style_ignored",
    "font_absent",
    "markup_unclosed",
    "script_error",
    "target_absent",
    "variable_absent",
]


class _BatchItem(TypedDict):
    # The payload. It must conform to the template's variables_schema.
    data: Mapping[str, object]


class BatchItem(_BatchItem, total=False):
    # Overrides `options.filename` of the batch.
    filename: str
    # Your own name for what the render is of, such as an order number: text without control characters and characters
    # that change its direction. Renders are listed by it; it need not be unique.
    reference: str
    # Up to 16 texts of your own. You get them back with the status, in lists and in webhooks.
    metadata: Mapping[str, str]


class _BatchRecord(TypedDict):
    # ULID.
    batch_id: str
    # Template code.
    template: str
    status: BatchStatus
    # Renders of the batch.
    total: int
    # Renders that wait.
    queued: int
    running: int
    succeeded: int
    # Renders that failed, or were deleted before they ended.
    failed: int
    # RFC 3339, UTC.
    created_at: str


class BatchRecord(_BatchRecord, total=False):
    # `reference` of the batch.
    reference: str
    # `metadata` of the batch.
    metadata: Mapping[str, str]
    # Only while status is ended.
    ended_at: str
    # The delivery of `batch.ended`, as `GET /api/v1/deliveries/{id}` shows it. Only while status is ended, and if the
    # batch has a webhook_url.
    delivery_id: str


class BatchFields(TypedDict, total=False):
    """The optional fields of a request."""

    # Overrides the engine of the template, which is react_pdf if the template names none.
    engine: Engine
    options: RenderOptions
    # https URL that receives one signed event when the batch has ended. Its renders send none.
    webhook_url: str
    # Your own name for the batch. Its renders have a reference of their own.
    reference: str
    # Texts of your own. You get them back with the status of the batch and in its webhook.
    metadata: Mapping[str, str]


class _BatchWebhookBody(TypedDict):
    # ULID.
    batch_id: str
    # Template code.
    template: str
    status: Literal["ended"]
    total: int
    succeeded: int
    failed: int
    # RFC 3339, UTC.
    created_at: str
    # RFC 3339, UTC.
    ended_at: str


class BatchWebhookBody(_BatchWebhookBody, total=False):
    # `reference` of the batch.
    reference: str
    # `metadata` of the batch.
    metadata: Mapping[str, str]


class CustomPageSize(TypedDict):
    width: float
    height: float


class _Delivery(TypedDict):
    # X-Service-Delivery and webhook-id of every attempt.
    id: str
    event: EventType
    # webhook_url of the render.
    url: str
    # scheduled: an attempt is due. delivered: answered 2xx. exhausted: the last attempt failed. gone: answered 410.
    # blocked: the target must not be called.
    status: DeliveryStatus
    # RFC 3339, UTC.
    created_at: str
    # The last 50 attempts, the oldest first.
    attempts: list[DeliveryAttempt]


class Delivery(_Delivery, total=False):
    # Only while status is scheduled.
    next_attempt_at: str
    # Why the delivery is waiting or was blocked.
    reason: str


class _DeliveryAttempt(TypedDict):
    # RFC 3339, UTC.
    started_at: str
    duration_ms: int
    # ok: answered 2xx. status: answered with another status, including redirects. timeout, dns, connection, tls,
    # protocol: no valid answer. blocked: the target must not be called.
    result: AttemptResult


class DeliveryAttempt(_DeliveryAttempt, total=False):
    # HTTP status, if there was an answer.
    status_code: int
    # What went wrong. Absent if the attempt succeeded.
    message: str
    # The first 4 KiB of the answer, if it is text.
    response_excerpt: str


class _DeliveryDetail(TypedDict):
    # X-Service-Delivery and webhook-id of every attempt.
    id: str
    event: DeliveredEventType
    # Where it is sent: webhook_url of the request, or url of the test event.
    url: str
    # scheduled: an attempt is due. delivered: answered 2xx. exhausted: the last attempt failed. gone: answered 410.
    # blocked: the target must not be called.
    status: DeliveryStatus
    # RFC 3339, UTC.
    created_at: str
    # The last 50 attempts, the oldest first.
    attempts: list[DeliveryAttempt]


class DeliveryDetail(_DeliveryDetail, total=False):
    # Only while status is scheduled.
    next_attempt_at: str
    # Why the delivery is waiting or was blocked.
    reason: str
    # The render that the event is about. Absent if it is about none.
    render_id: str
    # The batch that has ended, of `batch.ended`.
    batch_id: str


ErrorDetail = TypedDict(
    "ErrorDetail",
    {
        # The part of the request that has the fault.
        "in": RequestPart,
        # In the body, a JSON pointer; else the name of the parameter or header.
        "path": str,
        "message": str,
    },
)


class _ListedAttempt(TypedDict):
    # RFC 3339, UTC.
    started_at: str
    duration_ms: int
    # ok: answered 2xx. status: answered with another status, including redirects. timeout, dns, connection, tls,
    # protocol: no valid answer. blocked: the target must not be called.
    result: AttemptResult


class ListedAttempt(_ListedAttempt, total=False):
    # HTTP status, if there was an answer.
    status_code: int


class _ListedDelivery(TypedDict):
    # X-Service-Delivery and webhook-id of every attempt.
    id: str
    event: DeliveredEventType
    # ULID.
    render_id: str
    # Template code.
    template: str
    # scheduled: an attempt is due. delivered: answered 2xx. exhausted: the last attempt failed. gone: answered 410.
    # blocked: the target must not be called.
    status: DeliveryStatus
    # RFC 3339, UTC.
    created_at: str


class ListedDelivery(_ListedDelivery, total=False):
    # `reference` of the render.
    reference: str
    # Absent before the first attempt. The delivery itself has all attempts, with messages and answers.
    last_attempt: ListedAttempt


class ListedFailure(TypedDict):
    code: FailureCode
    # The same as code.
    reason: FailureCode


class _ListedRender(TypedDict):
    # ULID.
    render_id: str
    # Template code.
    template: str
    # The engine that renders.
    engine: Engine
    status: RenderStatus
    # RFC 3339, UTC.
    created_at: str


class ListedRender(_ListedRender, total=False):
    # `reference` of the request.
    reference: str
    # `metadata` of the request.
    metadata: Mapping[str, str]
    # The batch that the render belongs to, if any.
    batch_id: str
    pdf_size_bytes: int
    # RFC 3339, UTC.
    finished_at: str
    # Only while status is failed. The status record also has the message.
    error: ListedFailure


class Margin(TypedDict, total=False):
    # Points, or a CSS length in pt, px, mm, cm or in.
    top: Length
    # Points, or a CSS length in pt, px, mm, cm or in.
    right: Length
    # Points, or a CSS length in pt, px, mm, cm or in.
    bottom: Length
    # Points, or a CSS length in pt, px, mm, cm or in.
    left: Length


class Redelivery(TypedDict):
    id: str
    # The status before the new attempt.
    status: DeliveryStatus


class RenderFailure(TypedDict):
    code: FailureCode
    # The same as code.
    reason: FailureCode
    message: str


class RenderOptions(TypedDict, total=False):
    # A named size, or width and height in points.
    page_size: PageSizeName | CustomPageSize
    orientation: Orientation
    # One length for all sides, or an object with a length for each side.
    margin: Length | Margin
    # A file name without a folder, control characters and \ : * ? " < > |. If it does not end in .pdf, that is added.
    filename: str
    # Language tag such as pl-PL. Numbers and dates are written for it if the source names no locale.
    locale: str
    # IANA time zone such as Europe/Warsaw. Dates are written in it if the source names none. Default is UTC.
    time_zone: str
    # A time by RFC 3339 with its offset, such as 2026-11-25T12:00:00Z, from 1000 to 2999. The PDF says that it was
    # created and changed then. Default is the time at which the render was accepted.
    date: str
    # True fails the render with document_warnings if the document has a warning. A template or plan that is strict
    # stays so, whatever the request says.
    strict: bool


class _RenderRecord(TypedDict):
    # ULID.
    render_id: str
    status: RenderStatus
    # RFC 3339, UTC.
    created_at: str


class RenderRecord(_RenderRecord, total=False):
    # Template code. Absent only while nothing but the id of a queued render is known.
    template: str
    # `reference` of the request.
    reference: str
    # `metadata` of the request.
    metadata: Mapping[str, str]
    # The batch that the render belongs to, if any.
    batch_id: str
    # Only while status is succeeded. Valid for ten minutes; every GET returns a new one.
    pdf_url: str
    pdf_size_bytes: int
    # Pages of the PDF. Only if status is succeeded.
    pages: int
    # RFC 3339, UTC.
    finished_at: str
    # Only while status is failed.
    error: RenderFailure
    # Problems of a document that was rendered nevertheless, or that failed with document_warnings. Absent if there are
    # none.
    warnings: list[RenderWarning]
    # How many more warnings there were. Absent if `warnings` has all of them; it has at most 20.
    warnings_omitted: int


class RenderFields(TypedDict, total=False):
    """The optional fields of a request."""

    # Overrides the engine of the template, which is react_pdf if the template names none.
    engine: Engine
    options: RenderOptions
    # https URL that receives the signed event of this render.
    webhook_url: str
    # Your own name for what the render is of, such as an order number: text without control characters and characters
    # that change its direction. Renders are listed by it; it need not be unique.
    reference: str
    # Up to 16 texts of your own. You get them back with the status, in lists and in webhooks.
    metadata: Mapping[str, str]


class _RenderWarning(TypedDict):
    code: WarningCode
    message: str


class RenderWarning(_RenderWarning, total=False):
    # Where, if it is known: a source with line and column, or the page of the PDF.
    place: str


class Template(TypedDict):
    code: str
    name: str
    version: int
    # JSON Schema 2020-12 of data.
    variables_schema: Mapping[str, object]


class _TemplateDetail(TypedDict):
    code: str
    name: str
    version: int
    # JSON Schema 2020-12 of data.
    variables_schema: Mapping[str, object]
    # The engine of requests that name none.
    engine: Engine
    # The engines that the template has a source for.
    engines: list[TemplateEngine]
    options: RenderOptions


class TemplateDetail(_TemplateDetail, total=False):
    # Sample data of the template, valid under variables_schema. Absent if there is none, or if it has more than 64 KiB.
    sample: Mapping[str, object]
    # What a render would be warned of now. Absent if there is nothing.
    warnings: list[RenderWarning]


class TemplateEngine(TypedDict):
    engine: Engine
    # What a render costs of the monthly quota. 0 in the sandbox.
    units: int
    # Whether the plan has this engine. If not, requests for it are 402.
    in_plan: bool


class TestEventBody(TypedDict):
    # The same as X-Service-Delivery and webhook-id.
    id: str
    status: Literal["test"]
    # RFC 3339, UTC.
    created_at: str


class _Usage(TypedDict):
    # The calendar month (UTC) that the units are of.
    month: str
    # When the next month begins.
    resets_at: str
    # Units of renders that succeeded.
    used: int
    # Units of renders that have not ended. They are free again if the render fails.
    reserved: int
    # Each rate limit that renders with this key count in. A render must fit into all of its rates.
    rates: list[UsageRate]
    # The used units by template, the most used first: the first 200 templates of the month.
    templates: list[UsageOfTemplate]
    # The used units by the day on which the render was accepted. Days without any are absent.
    days: list[UsageOfDay]


class Usage(_Usage, total=False):
    # Units that the plan allows in a month. Absent if it sets no limit.
    limit: int
    # Units left: limit without used and reserved. Absent if there is no limit.
    remaining: int


class UsageOfDay(TypedDict):
    # UTC.
    date: str
    renders: int
    units: int


class UsageOfTemplate(TypedDict):
    # Template code.
    template: str
    renders: int
    units: int


class UsageRate(TypedDict):
    # The mode or engine whose renders count.
    renders: Literal["sync", "async", "react_pdf", "html"]
    # Whose renders count: those of this key, or of all keys of the tenant in this environment.
    per: Literal["key", "tenant"]
    # Renders in any 60 seconds.
    limit: int
    # Renders left now.
    remaining: int
    # When the whole limit is free again if nothing more is requested.
    resets_at: str


class _WebhookBody(TypedDict):
    # The `render_id` in its UUID spelling.
    id: str
    # ULID.
    render_id: str
    # Template code.
    template: str
    status: Literal["succeeded", "failed"]


class WebhookBody(_WebhookBody, total=False):
    # `reference` of the request.
    reference: str
    # `metadata` of the request.
    metadata: Mapping[str, str]
    # Rendering time. Only if status is succeeded.
    duration_ms: int
    # Size of the PDF. Only if status is succeeded.
    bytes: int
    # SHA-256 of the PDF. Only if status is succeeded.
    artifact_id: str
    # Only if status is failed.
    error_code: FailureCode
    # The same as error_code.
    error_reason: FailureCode
    # Only if status is failed.
    error_message: str
    # Pages of the PDF. Only if status is succeeded.
    pages: int
    # As in the status record. Absent if there are none.
    warnings: list[RenderWarning]
    # How many more warnings there were. Absent if `warnings` has all of them; it has at most 20.
    warnings_omitted: int
