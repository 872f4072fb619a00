"""The signatures of webhooks, and test events for those who receive them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from .._error import edge_fault_of
from ..wire import DeliveredEventType


@dataclass(frozen=True)
class SignedEvent:
    """What a receiver gets: for its tests."""

    body: bytes
    headers: dict[str, str]


def sign_test_event(
    event: DeliveredEventType = "render.succeeded",
    *,
    secret: str | Sequence[str],
    data: Mapping[str, object] | None = None,
    delivery_id: str | None = None,
    timestamp: float | None = None,
    brand: str = "service",
) -> SignedEvent:
    """
    Makes a delivery as the service would, for the tests of a receiver.

    ``data`` adds fields to the body, or replaces them. Several secrets sign as during a rotation, the newest first. ``timestamp`` (seconds
    since 1970) is now, unless it is given. Raises ``ValueError`` for an event that there is not.
    """
    delivery = str(uuid.uuid4()) if delivery_id is None else delivery_id
    seconds = int(time.time() if timestamp is None else timestamp)
    fields = {**_fields_of(event, delivery, seconds), **(data or {})}
    body = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    headers = signature_headers(body, keys_of(secret), delivery_id=delivery, timestamp=seconds, brand=brand)
    return SignedEvent(body, {"content-type": "application/json", f"x-{brand}-event": event, **headers})


def _fields_of(event: DeliveredEventType, delivery_id: str, seconds: int) -> Mapping[str, object]:
    if event == "render.succeeded":
        return {**TEST_RENDER, **TEST_SUCCESS}
    if event == "render.failed":
        return {**TEST_RENDER, **TEST_FAILURE}
    at = f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.000Z"
    if event == "batch.ended":
        return {**TEST_BATCH, "created_at": at, "ended_at": at}
    if event == "webhook.test":
        return {"id": delivery_id, "status": "test", "created_at": at}
    raise ValueError("this is no event")


TEST_RENDER = {
    "id": "019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71",
    "render_id": "01KAKF3V7NFRYS8EMV1HFRWBBH",
    "template": "invoice",
}
TEST_SUCCESS = {
    "status": "succeeded",
    "duration_ms": 412,
    "bytes": 48213,
    "artifact_id": hashlib.sha256(b"test").hexdigest(),
    "pages": 2,
}
TEST_FAILURE = {
    "status": "failed",
    "error_code": "internal",
    "error_reason": "internal",
    "error_message": "this is a test event",
}


TEST_BATCH = {
    "batch_id": "01KAKF3V7NFRYS8EMV1HFRWBBH",
    "template": "invoice",
    "status": "ended",
    "total": 2,
    "succeeded": 2,
    "failed": 0,
}


def signature_headers(
    body: bytes, keys: Sequence[bytes], *, delivery_id: str, timestamp: int, brand: str
) -> dict[str, str]:
    """The headers that sign a body. The newest key is the first, and the service's own signature is by the oldest."""
    service = hmac_of(keys[-1], f"{timestamp}.".encode(), body).hex()
    standard = [hmac_of(key, f"{delivery_id}.{timestamp}.".encode(), body) for key in keys]
    return {
        f"x-{brand}-delivery": delivery_id,
        f"x-{brand}-timestamp": str(timestamp),
        f"x-{brand}-signature": f"sha256={service}",
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in standard),
    }


def hmac_of(key: bytes, prefix: bytes, body: bytes) -> bytes:
    return hmac.digest(key, prefix + body, "sha256")


def keys_of(secret: str | Sequence[str]) -> list[bytes]:
    secrets = [secret] if isinstance(secret, str) or secret is None else list(secret)
    # An empty secret would accept a delivery from anybody who knows that it is empty.
    if not secrets or not all(isinstance(text, str) and text for text in secrets):
        raise ValueError("no webhook secret was given")
    for text in secrets:
        fault = edge_fault_of(text)
        # Blanks may belong to a secret.
        if fault is not None and re.search(r"[\r\n\ufeff]", text):
            raise ValueError(f"the webhook secret has {fault}")
    return [text.encode() for text in secrets]
