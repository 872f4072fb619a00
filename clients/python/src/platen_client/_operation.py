"""The operations of the service, without I/O: what each one sends, and what it makes of the answer."""

from __future__ import annotations

import json
import os
import re
import secrets
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypedDict, cast
from urllib.parse import quote, unquote, urlencode

from . import wire
from ._call import Answer, Flow, Request, Settings, Sleep, Work, call, checked_timeout, invalid_answer, json_of
from ._error import PlatenError

# Answers of the service are far smaller; a page of 100 renders with full metadata has the most.
JSON_BYTES_MAX = 32 * 1024 * 1024

WAIT_SECONDS = 600.0
# The first polls are close together, because most renders take less than a second. Later ones are further apart.
POLL_SECONDS_FIRST = 0.2
POLL_SECONDS_MAX = 5.0
POLL_GROWTH = 1.5


@dataclass(frozen=True)
class Quota:
    """The quota of the month, after the render was reserved."""

    limit: int
    """Units that the plan allows in a month."""
    remaining: int


@dataclass(frozen=True)
class RenderedPdf:
    """A PDF, and what the service says about it."""

    pdf: bytes = field(repr=False)
    render_id: str
    render_ms: int | None
    """Rendering time in milliseconds. None if the render was not waited for in one request."""
    filename: str | None
    replayed: bool
    """Is this the answer to an earlier request with the same idempotency key?"""
    quota: Quota | None
    """None if the plan sets no quota."""


@dataclass(frozen=True)
class AcceptedRender:
    """A render that the service has accepted and will make."""

    render_id: str
    poll_url: str
    """Path of its status record."""
    replayed: bool
    quota: Quota | None


@dataclass(frozen=True)
class RenderPage:
    """One page of renders. It may have fewer than the limit, also if there are more."""

    renders: list[wire.ListedRender]
    next_cursor: str | None
    """None on the last page."""


@dataclass(frozen=True)
class TemplatePage:
    """One page of templates."""

    templates: list[wire.Template]
    total: int
    """Number of templates on all pages."""
    next_page: int | None
    """None on the last page."""


class RenderFilters(TypedDict, total=False):
    """Which renders to list. The filters apply together."""

    status: wire.RenderStatus
    template: str
    engine: wire.Engine
    reference: str
    # Accepted at this time or later.
    created_after: datetime
    # Accepted before this time.
    created_before: datetime


def render_request(
    settings: Settings, render: Mapping[str, object], fields: wire.RenderFields, key: str | None
) -> Request:
    """Builds the request of a render. Raises ``TypeError`` or ``ValueError`` for what cannot be a request."""
    _require_known(fields, wire.RenderFields)
    # With this key the service renders once, however often the request arrives.
    key = str(uuid.uuid4()) if key is None else key
    if not re.fullmatch(r"[\x20-\x7e]{1,255}", key):
        raise ValueError("idempotency_key must have 1 to 255 printable characters of ASCII")
    given = {name: value for name, value in fields.items() if value is not None}
    body = json.dumps({**render, **given}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    headers = {"idempotency-key": key, "content-type": "application/json"}
    bytes_max = settings.pdf_bytes_max if render["mode"] == "sync" else JSON_BYTES_MAX
    return Request("POST", f"{settings.root}/render", bytes_max, headers=headers, body=body.encode())


def _require_known(fields: Mapping[str, object], known: type) -> None:
    """Type checkers know the names; this is for callers without one."""
    unknown = sorted(fields.keys() - known.__annotations__.keys())
    if unknown:
        raise TypeError(f"unexpected keyword arguments: {', '.join(unknown)}")


def render(settings: Settings, request: Request, timeout: float | None) -> Flow[RenderedPdf]:
    answer = yield from call(settings, request, timeout)
    render_id = answer.headers.get(f"x-{settings.brand}-render-id")
    if render_id is None or not answer.headers.get("content-type", "").startswith("application/pdf"):
        raise invalid_answer("the answer is not a PDF from the service", answer.status)
    return RenderedPdf(
        pdf=answer.body,
        render_id=render_id,
        render_ms=_number_of(answer, f"x-{settings.brand}-render-ms"),
        filename=_filename_of(answer),
        replayed=_is_replayed(answer),
        quota=_quota_of(answer, settings),
    )


def render_async(settings: Settings, request: Request, timeout: float | None) -> Flow[AcceptedRender]:
    answer = yield from call(settings, request, timeout)
    accepted = _object_of(answer)
    render_id, poll_url = accepted.get("render_id"), accepted.get("poll_url")
    if not isinstance(render_id, str) or not isinstance(poll_url, str):
        raise invalid_answer("the answer accepts no render", answer.status)
    return AcceptedRender(render_id, poll_url, _is_replayed(answer), _quota_of(answer, settings))


def render_and_wait(settings: Settings, request: Request, timeout: float | None) -> Flow[RenderedPdf]:
    clock = settings.clock
    timeout = WAIT_SECONDS if timeout is None else timeout
    ends_at = clock.monotonic() + timeout

    def left() -> float:
        return max(ends_at - clock.monotonic(), 0.001)

    accepted = yield from render_async(settings, request, timeout)
    yield from wait_for_render(settings, accepted.render_id, left())
    answer = yield from _get_pdf_answer(settings, accepted.render_id, left())
    return RenderedPdf(
        pdf=answer.body,
        render_id=accepted.render_id,
        render_ms=None,
        filename=_filename_of(answer),
        replayed=accepted.replayed,
        quota=accepted.quota,
    )


def render_to_file(
    settings: Settings, request: Request, path: str | os.PathLike[str], timeout: float | None
) -> Flow[RenderedPdf]:
    file = _Replacement(Path(path))
    # Before the render, which would be paid for in vain.
    file.reserve()
    try:
        rendered = yield from render(settings, request, timeout)
        yield Work(partial(file.complete, rendered.pdf))
    finally:
        file.discard()
    return rendered


def get_render(settings: Settings, render_id: str, timeout: float | None) -> Flow[wire.RenderRecord]:
    answer = yield from call(settings, _get(settings, f"render/{_part(render_id)}"), timeout)
    return cast("wire.RenderRecord", _object_of(answer))


def wait_for_render(settings: Settings, render_id: str, timeout: float | None) -> Flow[wire.RenderRecord]:
    clock = settings.clock
    timeout = WAIT_SECONDS if timeout is None else checked_timeout(timeout)
    ends_at = clock.monotonic() + timeout
    pause = POLL_SECONDS_FIRST
    while True:
        record = yield from get_render(settings, render_id, max(ends_at - clock.monotonic(), 0.001))
        status = record.get("status")
        if status == "succeeded":
            return record
        if status == "failed":
            raise _failure_of(record, render_id)
        if clock.monotonic() + pause >= ends_at:
            raise PlatenError("TIMED_OUT", f"the render is {status} after {timeout:g} seconds", render_id=render_id)
        yield Sleep(pause)
        pause = min(pause * POLL_GROWTH, POLL_SECONDS_MAX)


def delete_render(settings: Settings, render_id: str, timeout: float | None) -> Flow[wire.RenderRecord | None]:
    request = Request("DELETE", f"{settings.root}/render/{_part(render_id)}", JSON_BYTES_MAX)
    try:
        answer = yield from call(settings, request, timeout)
    except PlatenError as error:
        # Also after a first attempt whose answer was lost.
        if error.code == "RENDER_EXPIRED":
            return None
        raise
    return None if answer.status == HTTPStatus.NO_CONTENT else cast("wire.RenderRecord", _object_of(answer))


def get_pdf(settings: Settings, render_id: str, timeout: float | None) -> Flow[bytes]:
    return (yield from _get_pdf_answer(settings, render_id, timeout)).body


def _get_pdf_answer(settings: Settings, render_id: str, timeout: float | None) -> Flow[Answer]:
    request = Request("GET", f"{settings.root}/render/{_part(render_id)}/pdf", settings.pdf_bytes_max)
    return call(settings, request, timeout)


def download_pdf(settings: Settings, record: wire.RenderRecord, timeout: float | None) -> Flow[bytes]:
    url = record.get("pdf_url")
    if url is None:
        raise ValueError("the record has no pdf_url: only a render that succeeded has one")
    answer = yield from call(settings, Request("GET", url, settings.pdf_bytes_max, is_foreign=True), timeout)
    return answer.body


def list_renders(
    settings: Settings, filters: RenderFilters, limit: int | None, cursor: str | None, timeout: float | None
) -> Flow[RenderPage]:
    _require_known(filters, RenderFilters)
    request = _get(settings, "renders", {**filters, "limit": limit, "cursor": cursor})
    answer = yield from call(settings, request, timeout)
    page = _object_of(answer)
    return RenderPage(_list_in(page, "renders", answer), page.get("next_cursor"))


def list_templates(settings: Settings, page: int, per_page: int | None, timeout: float | None) -> Flow[TemplatePage]:
    answer = yield from call(settings, _get(settings, "templates", {"page": page, "per_page": per_page}), timeout)
    has_next = re.search(r';\s*rel="next"', answer.headers.get("link", ""))
    return TemplatePage(
        templates=_list_in(_object_of(answer), "templates", answer),
        total=_number_of(answer, "x-total-count") or 0,
        next_page=page + 1 if has_next else None,
    )


def get_template(settings: Settings, code: str, timeout: float | None) -> Flow[wire.TemplateDetail]:
    answer = yield from call(settings, _get(settings, f"templates/{_part(code)}"), timeout)
    return cast("wire.TemplateDetail", _object_of(answer))


def get_usage(settings: Settings, timeout: float | None) -> Flow[wire.Usage]:
    return cast("wire.Usage", _object_of((yield from call(settings, _get(settings, "usage"), timeout))))


def list_deliveries(settings: Settings, render_id: str, timeout: float | None) -> Flow[list[wire.Delivery]]:
    answer = yield from call(settings, _get(settings, f"render/{_part(render_id)}/deliveries"), timeout)
    return _list_in(_object_of(answer), "deliveries", answer)


def redeliver(settings: Settings, delivery_id: str, timeout: float | None) -> Flow[wire.Redelivery]:
    url = f"{settings.root}/deliveries/{_part(delivery_id)}/redeliver"
    # Each request would add an attempt.
    answer = yield from call(settings, Request("POST", url, JSON_BYTES_MAX, is_repeatable=False), timeout)
    return cast("wire.Redelivery", _object_of(answer))


def _get(settings: Settings, path: str, query: Mapping[str, object] | None = None) -> Request:
    given = {name: _query_text(value) for name, value in (query or {}).items() if value is not None}
    return Request("GET", f"{settings.root}/{path}{'?' if given else ''}{urlencode(given)}", JSON_BYTES_MAX)


def _query_text(value: object) -> str:
    if not isinstance(value, datetime):
        return str(value)
    if value.tzinfo is None:
        raise ValueError("a time must have a time zone, such as datetime.now(timezone.utc)")
    return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _part(text: str) -> str:
    """Escapes a part of a path. Servers and proxies take the part `..` away, even if it is escaped."""
    if text in {"", ".", ".."}:
        raise ValueError("this is not an id or a code")
    return quote(text, safe="")


def _object_of(answer: Answer) -> dict[str, Any]:
    # The service's tests check its answers against the same schemas that the types are made from.
    body = json_of(answer.body)
    if not isinstance(body, dict):
        raise invalid_answer("the answer is not a JSON object", answer.status)
    return body


def _list_in(body: dict[str, Any], name: str, answer: Answer) -> list[Any]:
    items = body.get(name)
    if not isinstance(items, list):
        raise invalid_answer(f"the answer has no {name}", answer.status)
    return items


def _number_of(answer: Answer, name: str) -> int | None:
    text = answer.headers.get(name, "")
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) else None


def _is_replayed(answer: Answer) -> bool:
    return answer.headers.get("idempotent-replayed") == "true"


def _quota_of(answer: Answer, settings: Settings) -> Quota | None:
    limit, remaining = (_number_of(answer, f"x-{settings.brand}-quota-{name}") for name in ("limit", "remaining"))
    return None if limit is None or remaining is None else Quota(limit, remaining)


def _filename_of(answer: Answer) -> str | None:
    """Prefers `filename*`: `filename` is the fallback for clients that do not know it (RFC 6266)."""
    disposition = answer.headers.get("content-disposition", "")
    encoded = re.search(r"filename\*=UTF-8''([^;]+)", disposition, re.IGNORECASE)
    if encoded:
        return unquote(encoded[1])
    quoted = re.search(r'filename="((?:[^"\\]|\\.)*)"', disposition, re.IGNORECASE)
    return re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else None


def _failure_of(record: wire.RenderRecord, render_id: str) -> PlatenError:
    error = record.get("error", {})
    code = str(error.get("code", "internal"))
    reason, message = str(error.get("reason", code)), str(error.get("message", "the render failed"))
    return PlatenError(code, message, reason=reason, render_id=render_id)


class _Replacement:
    """A file that takes the place of another one when it is complete. Until then it has a name of its own, in the same folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(f".{secrets.token_hex(8)}.part")

    def reserve(self) -> None:
        """Raises ``OSError`` if there can be no such file."""
        if self._path.is_dir():
            raise IsADirectoryError(f"this is a folder: {self._path}")
        self._part.touch(exist_ok=False)

    def complete(self, content: bytes) -> None:
        with self._part.open("wb") as file:
            file.write(content)
            file.flush()
            # A crash of the machine must not leave the new name with the content missing.
            os.fsync(file.fileno())
        self._part.replace(self._path)

    def discard(self) -> None:
        with suppress(OSError):
            self._part.unlink()
