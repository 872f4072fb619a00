"""Batches: many renders from one template, which are accepted by one request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from .. import wire
from .._call import Flow, Request, Settings, call
from .exchange import (
    JSON_BYTES_MAX,
    Quota,
    Rate,
    get,
    is_replayed,
    json_body,
    json_headers,
    object_of,
    part,
    quota_of,
    rate_of,
    request_id_of,
    require_known,
)
from .waiting import poll


@dataclass(frozen=True)
class AcceptedBatch:
    """A batch that the service has accepted, and whose renders it will make."""

    batch_id: str
    total: int
    """Number of its renders."""
    poll_url: str
    """Path of its status record."""
    is_replayed: bool
    """Is this the answer to an earlier request with the same idempotency key?"""
    quota: Quota | None
    """None if the plan sets no quota."""
    rate: Rate | None = None
    """None as `quota` is when an earlier answer is repeated."""
    request_id: str | None = None
    """The id to give to the operator of the service when asking about this call."""


def batch_request(
    settings: Settings, template: str, items: Sequence[wire.BatchItem], fields: wire.BatchFields, key: str | None
) -> Request:
    """Builds the request of a batch. Raises ``TypeError`` or ``ValueError`` for what cannot be a request."""
    require_known(fields, wire.BatchFields)
    given = {name: value for name, value in fields.items() if value is not None}
    body = json_body({"template": template, **given, "items": list(items)})
    return Request("POST", f"{settings.root}/batches", JSON_BYTES_MAX, headers=json_headers(key), body=body)


def create_batch(settings: Settings, request: Request, timeout: float | None) -> Flow[AcceptedBatch]:
    answer = yield from call(settings, request, timeout)
    accepted = object_of(answer, batch_id=str, total=int, poll_url=str)
    return AcceptedBatch(
        batch_id=accepted["batch_id"],
        total=accepted["total"],
        poll_url=accepted["poll_url"],
        is_replayed=is_replayed(answer),
        quota=quota_of(answer, settings),
        rate=rate_of(answer),
        request_id=request_id_of(answer),
    )


def get_batch(settings: Settings, batch_id: str, timeout: float | None) -> Flow[wire.BatchRecord]:
    answer = yield from call(settings, get(settings, f"batches/{part(batch_id)}"), timeout)
    return cast("wire.BatchRecord", object_of(answer, batch_id=str, status=str))


def wait_for_batch(settings: Settings, batch_id: str, timeout: float | None) -> Flow[wire.BatchRecord]:
    def ask(_: int, left: float) -> Flow[wire.BatchRecord]:
        # The service answers this at once.
        return get_batch(settings, batch_id, left)

    return poll(settings, ask, lambda record: record.get("status") == "ended", timeout, subject="batch")
