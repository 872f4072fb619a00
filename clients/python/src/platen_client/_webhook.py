"""
The receiver's side of webhooks: checks that a delivery comes from the service, is unchanged, and is recent. The signature covers the raw
bytes and is checked first; an unsigned body is never parsed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, Protocol, cast

from ._call import json_of
from .wire import EventType, WebhookBody

WebhookFault = Literal[
    "missing_header",
    "malformed_header",
    "unknown_signature",
    "stale_timestamp",
    "future_timestamp",
    "signature_mismatch",
    "unknown_event",
]


class HeaderItems(Protocol):
    """Headers as most frameworks have them. A name may come several times, and a value may be a list."""

    def items(self) -> Iterable[tuple[str, object]]: ...


WebhookHeaders = HeaderItems | Iterable[tuple[str, str]] | Iterable[tuple[bytes, bytes]]

TOLERANCE_SECONDS = 300

# Most signatures in one header. A rotation needs two. More would let any sender make the receiver compute signatures.
SIGNATURES_MAX = 8

HEX = re.compile(r"[0-9a-f]{64}")
BASE64 = re.compile(r"[A-Za-z0-9+/]{43}=")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
UNIX_SECONDS = re.compile(r"[1-9][0-9]{0,11}")
ULID_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class WebhookVerificationError(Exception):
    """
    Why a delivery is refused. The message never contains what was sent.

    ``missing_header``, ``malformed_header`` (sent twice, or in a wrong form), ``unknown_signature`` (without the prefix of its scheme),
    ``stale_timestamp`` (signed too long ago, or the receiver's clock is ahead), ``future_timestamp`` (the receiver's clock is behind),
    ``signature_mismatch`` (another secret, or a body that was changed or parsed and written again), ``unknown_event`` (signed, but of a
    service newer than this client: answer 2xx).
    """

    code: WebhookFault

    def __init__(self, code: WebhookFault, message: str) -> None:
        super().__init__(code, message)
        self.code = code

    def __str__(self) -> str:
        return f"{self.code}: {self.args[1]}"


@dataclass(frozen=True)
class WebhookEvent:
    """A delivery with a valid signature."""

    type: EventType
    delivery_id: str
    """The same each time this delivery is sent. Ignore a delivery whose id was processed before."""
    timestamp: datetime
    """When it was signed."""
    render_id: str
    """Spelled as in the other calls; `data["id"]` is the same id in UUID spelling."""
    data: WebhookBody
    """The body, as it was sent."""


@dataclass(frozen=True)
class SignedEvent:
    """What a receiver gets: for its tests."""

    body: bytes
    headers: dict[str, str]


def verify_webhook(
    body: bytes | bytearray | memoryview,
    headers: WebhookHeaders,
    secret: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE_SECONDS,
    scheme: Literal["service", "standard"] | None = None,
    brand: str = "service",
    now: float | None = None,
) -> WebhookEvent:
    """
    Verifies a delivery and returns its event.

    ``body`` is the body exactly as received. ``headers`` are a mapping, or the pairs of ASGI. During a rotation pass the old and the new
    secret: a signature with any of them is valid. ``tolerance`` is the largest allowed difference in seconds between the receiver's clock
    (``now``, seconds since 1970) and the time of signing.

    ``scheme`` says which signature is checked: ``service`` is ``X-Service-Signature``, ``standard`` is ``webhook-signature`` (Standard
    Webhooks). By default it is ``standard`` if that header was sent, else ``service``. ``standard`` also covers the delivery id. An
    attacker who replays a delivery can leave out its header, so receivers that rely on the id should set it; every delivery has it.

    Raises ``WebhookVerificationError`` if the delivery is refused. Raises ``TypeError`` or ``ValueError`` if the receiver is set up
    wrongly: no secret, or an already parsed body.
    """
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise TypeError(
            "body must be the bytes that were received: take the raw body of the request, not its JSON or text"
        )
    # This form also refuses NaN. Compared with NaN, no time would ever be too far away.
    if not tolerance >= 0:
        raise ValueError("tolerance must be a number of seconds from 0")
    keys = _keys_of(secret)
    all_signed = _read_signed(_values_by_name(headers), scheme, brand)
    seconds = int(time.time() if now is None else now)
    for each in all_signed:
        _check_timestamp(each.timestamp, seconds, tolerance)
    content = bytes(body)
    signed = all_signed[0]
    if not signed.matches(content, keys):
        raise WebhookVerificationError("signature_mismatch", "no signature matches this body and secret")
    return _event_of(signed, content)


def sign_test_event(
    event: EventType = "render.succeeded",
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
    since 1970) is now, unless it is given.
    """
    ended = TEST_SUCCESS if event == "render.succeeded" else TEST_FAILURE
    body = json.dumps({**TEST_RENDER, **ended, **(data or {})}, ensure_ascii=False, separators=(",", ":")).encode()
    delivery = str(uuid.uuid4()) if delivery_id is None else delivery_id
    seconds = int(time.time() if timestamp is None else timestamp)
    headers = signature_headers(body, _keys_of(secret), delivery_id=delivery, timestamp=seconds, brand=brand)
    return SignedEvent(body, {"content-type": "application/json", f"x-{brand}-event": event, **headers})


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
}
TEST_FAILURE = {
    "status": "failed",
    "error_code": "internal",
    "error_reason": "internal",
    "error_message": "this is a test event",
}


def signature_headers(
    body: bytes, keys: Sequence[bytes], *, delivery_id: str, timestamp: int, brand: str
) -> dict[str, str]:
    """The headers that sign a body. The newest key is the first, and the service's own signature is by the oldest."""
    service = _hmac(keys[-1], f"{timestamp}.".encode(), body).hex()
    standard = [_hmac(key, f"{delivery_id}.{timestamp}.".encode(), body) for key in keys]
    return {
        f"x-{brand}-delivery": delivery_id,
        f"x-{brand}-timestamp": str(timestamp),
        f"x-{brand}-signature": f"sha256={service}",
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in standard),
    }


def _hmac(key: bytes, prefix: bytes, body: bytes) -> bytes:
    return hmac.digest(key, prefix + body, "sha256")


def _keys_of(secret: str | Sequence[str]) -> list[bytes]:
    secrets = [secret] if isinstance(secret, str) or secret is None else list(secret)
    # An empty secret would accept a delivery from anybody who knows that it is empty.
    if not secrets or not all(isinstance(text, str) and text for text in secrets):
        raise ValueError("no webhook secret was given")
    return [text.encode() for text in secrets]


@dataclass(frozen=True)
class _Signed:
    """The signed headers of one scheme."""

    delivery_id: str
    timestamp: str
    """Unix seconds, exactly as sent."""
    prefix: str
    """The text that is signed before the body."""
    signatures: list[bytes]
    """One valid signature is enough."""

    def matches(self, body: bytes, keys: list[bytes]) -> bool:
        """Takes a time that depends on no signature: each comparison takes constant time, and all of them are made."""
        expected = [_hmac(key, self.prefix.encode(), body) for key in keys]
        verdicts = [hmac.compare_digest(mine, theirs) for mine in expected for theirs in self.signatures]
        return any(verdicts)


def _read_signed(values: Mapping[str, list[str]], scheme: str | None, brand: str) -> list[_Signed]:
    """The headers of the scheme to check first, then those of the other one, if sent. Those must be well-formed and recent, too."""
    if scheme not in {None, "service", "standard"}:
        raise ValueError("scheme must be service or standard")
    has_standard = scheme == "standard" or (scheme is None and "webhook-signature" in values)
    # Without any signature it is the service's own that is missing.
    has_service = scheme == "service" or (
        scheme is None and (f"x-{brand.lower()}-signature" in values or not has_standard)
    )
    standard = [_read_standard(values)] if has_standard else []
    return standard + ([_read_service(values, brand.lower())] if has_service else [])


def _read_service(values: Mapping[str, list[str]], brand: str) -> _Signed:
    name = f"x-{brand}-signature"
    text = _value_of(values, name)
    if not text.startswith("sha256="):
        raise _unknown_signature(name, "sha256=")
    digits = text[len("sha256=") :]
    if not HEX.fullmatch(digits):
        raise _malformed(name)
    timestamp = _value_of(values, f"x-{brand}-timestamp", UNIX_SECONDS)
    delivery_id = _value_of(values, f"x-{brand}-delivery", UUID)
    return _Signed(delivery_id, timestamp, f"{timestamp}.", [bytes.fromhex(digits)])


def _read_standard(values: Mapping[str, list[str]]) -> _Signed:
    """Reads Standard Webhooks headers. The id is signed, too. The header may have several signatures, and some of other versions."""
    name = "webhook-signature"
    parts = _value_of(values, name).split(" ")
    if len(parts) > SIGNATURES_MAX:
        raise _malformed(name)
    ours = [part[len("v1,") :] for part in parts if part.startswith("v1,")]
    if not ours:
        raise _unknown_signature(name, "v1,")
    if not all(BASE64.fullmatch(text) for text in ours):
        raise _malformed(name)
    timestamp = _value_of(values, "webhook-timestamp", UNIX_SECONDS)
    delivery_id = _value_of(values, "webhook-id", UUID)
    return _Signed(
        delivery_id, timestamp, f"{delivery_id}.{timestamp}.", [base64.b64decode(text, validate=True) for text in ours]
    )


def _values_by_name(headers: WebhookHeaders) -> dict[str, list[str]]:
    """All values of each header, by its name in small letters. Frameworks that join values by a comma make them malformed."""
    values: dict[str, list[str]] = {}
    pairs = cast("HeaderItems", headers).items() if hasattr(headers, "items") else headers
    for name, value in pairs:
        several = value if isinstance(value, (list, tuple)) else [value]
        values.setdefault(_text_of(name).lower(), []).extend(_text_of(each) for each in several if each is not None)
    return {name: each for name, each in values.items() if each}


def _text_of(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _value_of(values: Mapping[str, list[str]], name: str, form: re.Pattern[str] | None = None) -> str:
    value, *more = values.get(name, [None])
    if value is None:
        raise WebhookVerificationError("missing_header", f"there is no header {name}")
    if more or (form is not None and not form.fullmatch(value)):
        raise _malformed(name)
    return value


def _malformed(name: str) -> WebhookVerificationError:
    return WebhookVerificationError("malformed_header", f"the header {name} is malformed, or was sent twice")


def _unknown_signature(name: str, prefix: str) -> WebhookVerificationError:
    return WebhookVerificationError(
        "unknown_signature", f"the header {name} has no signature that begins with {prefix}"
    )


def _check_timestamp(text: str, now: int, tolerance: float) -> None:
    age = now - int(text)
    if age > tolerance:
        raise WebhookVerificationError("stale_timestamp", f"it was signed {age} seconds ago")
    if -age > tolerance:
        raise WebhookVerificationError("future_timestamp", f"it was signed {-age} seconds in the future")


def _event_of(signed: _Signed, body: bytes) -> WebhookEvent:
    """Reads the event from the body, because the body is signed. The header with the event name is not signed, so it is ignored."""
    data = json_of(body)
    event = _event_type_of(data) if isinstance(data, dict) else None
    if event is None:
        raise WebhookVerificationError("unknown_event", "the signature is valid, but the event is unknown")
    known = cast("WebhookBody", data)
    return WebhookEvent(
        type=event,
        delivery_id=signed.delivery_id,
        timestamp=datetime.fromtimestamp(int(signed.timestamp), timezone.utc),
        render_id=_ulid_of(known["id"]),
        data=known,
    )


def _event_type_of(data: Mapping[str, object]) -> EventType | None:
    render_id = data.get("id")
    if not isinstance(render_id, str) or not UUID.fullmatch(render_id):
        return None
    numbers, texts = (data.get("duration_ms"), data.get("bytes")), (data.get("error_code"), data.get("error_message"))
    if data.get("status") == "succeeded" and isinstance(data.get("artifact_id"), str):
        return "render.succeeded" if all(type(number) in {int, float} for number in numbers) else None
    if data.get("status") == "failed":
        return "render.failed" if all(isinstance(text, str) for text in texts) else None
    return None


def _ulid_of(text: str) -> str:
    """The ULID for the number of a UUID: 26 digits of Crockford's base 32."""
    number = uuid.UUID(text).int
    return "".join(ULID_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))
