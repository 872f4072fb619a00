"""The events that webhooks tell of, and the two spellings of a render's id."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from .._call import json_of
from ..wire import BatchWebhookBody, TestEventBody, WebhookBody

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
ULID_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True)
class RenderEnded:
    """A render has succeeded, or has failed for good."""

    type: Literal["render.succeeded", "render.failed"]
    delivery_id: str
    """The same each time this delivery is sent. Ignore a delivery whose id was processed before."""
    timestamp: datetime
    """When it was signed."""
    render_id: str
    """Spelled as in the other calls; `data["id"]` is the same id in UUID spelling."""
    data: WebhookBody
    """The body, as it was sent."""


@dataclass(frozen=True)
class BatchEnded:
    """Each render of a batch has succeeded or failed."""

    type: Literal["batch.ended"]
    delivery_id: str
    """The same each time this delivery is sent. Ignore a delivery whose id was processed before."""
    timestamp: datetime
    """When it was signed."""
    batch_id: str
    data: BatchWebhookBody
    """The body, as it was sent."""


@dataclass(frozen=True)
class WebhookTest:
    """A test of the receiver, which somebody asked for by `test_webhook`. Answer 2xx and do nothing."""

    type: Literal["webhook.test"]
    delivery_id: str
    """What `get_delivery` takes."""
    timestamp: datetime
    """When it was signed."""
    data: TestEventBody
    """The body, as it was sent."""


WebhookEvent = RenderEnded | BatchEnded | WebhookTest
"""A delivery with a valid signature. `type` tells the events apart."""


def event_of(delivery_id: str, timestamp: datetime, body: bytes) -> WebhookEvent | None:
    """Reads the event from a body whose signature is valid. None if this version does not know the event."""
    data = json_of(body)
    if not isinstance(data, dict):
        return None
    if _is_batch(data):
        return BatchEnded("batch.ended", delivery_id, timestamp, data["batch_id"], cast("BatchWebhookBody", data))
    if not _is(UUID, data.get("id")):
        return None
    if _is_test(data):
        return WebhookTest("webhook.test", delivery_id, timestamp, cast("TestEventBody", data))
    kind = _render_event_of(data)
    if kind is None:
        return None
    known = cast("WebhookBody", data)
    return RenderEnded(kind, delivery_id, timestamp, _ulid_of(known["id"]), known)


def _is_batch(data: Mapping[str, object]) -> bool:
    numbers = (data.get("total"), data.get("succeeded"), data.get("failed"))
    return data.get("status") == "ended" and _is(ULID, data.get("batch_id")) and _are_numbers(numbers)


def _is_test(data: Mapping[str, object]) -> bool:
    return data.get("status") == "test" and isinstance(data.get("created_at"), str)


def _render_event_of(data: Mapping[str, object]) -> Literal["render.succeeded", "render.failed"] | None:
    numbers, texts = (data.get("duration_ms"), data.get("bytes")), (data.get("error_code"), data.get("error_message"))
    if data.get("status") == "succeeded" and isinstance(data.get("artifact_id"), str):
        return "render.succeeded" if _are_numbers(numbers) else None
    if data.get("status") == "failed":
        return "render.failed" if all(isinstance(text, str) for text in texts) else None
    return None


def _are_numbers(values: Iterable[object]) -> bool:
    # A bool is an int for `isinstance`.
    return all(type(value) in {int, float} for value in values)


def _is(form: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and form.fullmatch(value) is not None


def _ulid_of(text: str) -> str:
    """The ULID for the number of a UUID: 26 digits of Crockford's base 32."""
    number = uuid.UUID(text).int
    return "".join(ULID_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))
