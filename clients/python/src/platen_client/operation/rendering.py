"""Renders: how one is asked for, waited for, downloaded and taken back."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from .. import wire
from .._call import Answer, Flow, Request, Settings, Work, call
from .._error import PlatenError
from .exchange import (
    JSON_BYTES_MAX,
    Quota,
    Rate,
    get,
    is_replayed,
    json_body,
    json_headers,
    not_pdf,
    number_of,
    object_of,
    part,
    pdf_of,
    quota_of,
    rate_of,
    request_id_of,
    require_known,
)
from .waiting import WAIT_SECONDS, poll


@dataclass(frozen=True)
class RenderedPdf:
    """A PDF, and what the service says about it."""

    pdf: bytes = field(repr=False)
    render_id: str
    render_ms: int | None
    """Rendering time in milliseconds. None if the render was not waited for in one request."""
    filename: str | None
    is_replayed: bool
    """Is this the answer to an earlier request with the same idempotency key?"""
    quota: Quota | None
    """None if the plan sets no quota."""
    pages: int | None = None
    """None if a proxy has removed the header, as `warning_count` is."""
    warning_count: int | None = None
    """How many warnings the document has. `get_render` reads them."""
    rate: Rate | None = None
    """None as `quota` is when an earlier answer is repeated."""
    request_id: str | None = None
    """The id to give to the operator of the service when asking about this call."""


@dataclass(frozen=True, kw_only=True)
class AwaitedPdf(RenderedPdf):
    """The PDF of a render that was started and waited for."""

    record: wire.RenderRecord = field(repr=False)


@dataclass(frozen=True)
class AcceptedRender:
    """A render that the service has accepted and will make."""

    render_id: str
    poll_url: str
    """Path of its status record."""
    is_replayed: bool
    quota: Quota | None
    rate: Rate | None = None
    request_id: str | None = None
    """The id to give to the operator of the service when asking about this call."""


def render_request(
    settings: Settings, render: Mapping[str, object], fields: wire.RenderFields, key: str | None
) -> Request:
    """Builds the request of a render. Raises ``TypeError`` or ``ValueError`` for what cannot be a request."""
    require_known(fields, wire.RenderFields)
    given = {name: value for name, value in fields.items() if value is not None}
    bytes_max = settings.pdf_bytes_max if render["mode"] == "sync" else JSON_BYTES_MAX
    return Request(
        "POST", f"{settings.root}/render", bytes_max, headers=json_headers(key), body=json_body({**render, **given})
    )


def render(settings: Settings, request: Request, timeout: float | None) -> Flow[RenderedPdf]:
    answer = yield from call(settings, request, timeout)
    render_id = answer.headers.get(f"x-{settings.brand}-render-id")
    if render_id is None:
        raise not_pdf(answer)
    return RenderedPdf(
        pdf=pdf_of(answer),
        render_id=render_id,
        render_ms=number_of(answer, f"x-{settings.brand}-render-ms"),
        pages=number_of(answer, f"x-{settings.brand}-pages"),
        warning_count=number_of(answer, f"x-{settings.brand}-warnings"),
        filename=_filename_of(answer),
        is_replayed=is_replayed(answer),
        quota=quota_of(answer, settings),
        rate=rate_of(answer),
        request_id=request_id_of(answer),
    )


def render_async(settings: Settings, request: Request, timeout: float | None) -> Flow[AcceptedRender]:
    answer = yield from call(settings, request, timeout)
    accepted = object_of(answer, render_id=str, poll_url=str)
    return AcceptedRender(
        render_id=accepted["render_id"],
        poll_url=accepted["poll_url"],
        is_replayed=is_replayed(answer),
        quota=quota_of(answer, settings),
        rate=rate_of(answer),
        request_id=request_id_of(answer),
    )


def render_and_wait(settings: Settings, request: Request, timeout: float | None) -> Flow[AwaitedPdf]:
    clock = settings.clock
    timeout = WAIT_SECONDS if timeout is None else timeout
    ends_at = clock.monotonic() + timeout

    def left() -> float:
        return max(ends_at - clock.monotonic(), 0.001)

    accepted = yield from render_async(settings, request, timeout)
    record = yield from wait_for_render(settings, accepted.render_id, left())
    answer = yield from _get_pdf_answer(settings, accepted.render_id, left())
    return AwaitedPdf(
        pdf=pdf_of(answer),
        render_id=accepted.render_id,
        render_ms=None,
        pages=record.get("pages"),
        warning_count=len(record.get("warnings", [])) + record.get("warnings_omitted", 0),
        filename=_filename_of(answer),
        is_replayed=accepted.is_replayed,
        quota=accepted.quota,
        rate=accepted.rate,
        request_id=accepted.request_id,
        record=record,
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
    return _read_render(settings, render_id, {}, timeout)


def _read_render(
    settings: Settings, render_id: str, query: Mapping[str, object], timeout: float | None
) -> Flow[wire.RenderRecord]:
    answer = yield from call(settings, get(settings, f"render/{part(render_id)}", query), timeout)
    return cast("wire.RenderRecord", object_of(answer, render_id=str, status=str))


def wait_for_render(settings: Settings, render_id: str, timeout: float | None) -> Flow[wire.RenderRecord]:
    def ask(seconds: int, left: float) -> Flow[wire.RenderRecord]:
        return _read_render(settings, render_id, {"wait": seconds}, left)

    def is_ended(record: wire.RenderRecord) -> bool:
        return record.get("status") in {"succeeded", "failed"}

    record = yield from poll(settings, ask, is_ended, timeout, subject="render")
    if record["status"] == "failed":
        raise _failure_of(record, render_id)
    return record


def delete_render(settings: Settings, render_id: str, timeout: float | None) -> Flow[wire.RenderRecord | None]:
    request = Request("DELETE", f"{settings.root}/render/{part(render_id)}", JSON_BYTES_MAX)
    try:
        answer = yield from call(settings, request, timeout)
    except PlatenError as error:
        # Also after a first attempt whose answer was lost.
        if error.code == "RENDER_EXPIRED":
            return None
        raise
    return (
        None
        if answer.status == HTTPStatus.NO_CONTENT
        else cast("wire.RenderRecord", object_of(answer, render_id=str, status=str))
    )


def get_pdf(settings: Settings, render_id: str, timeout: float | None) -> Flow[bytes]:
    return pdf_of((yield from _get_pdf_answer(settings, render_id, timeout)))


def _get_pdf_answer(settings: Settings, render_id: str, timeout: float | None) -> Flow[Answer]:
    request = Request("GET", f"{settings.root}/render/{part(render_id)}/pdf", settings.pdf_bytes_max)
    return call(settings, request, timeout)


def download_pdf(settings: Settings, record: wire.RenderRecord, timeout: float | None) -> Flow[bytes]:
    url = record.get("pdf_url")
    if url is None:
        raise ValueError("the record has no pdf_url: only a render that succeeded has one")
    answer = yield from call(settings, Request("GET", url, settings.pdf_bytes_max, is_foreign=True), timeout)
    return pdf_of(answer)


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
