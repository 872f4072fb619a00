"""
The receiver's side of webhooks: checks that a delivery comes from the service, is unchanged, and is recent. The signature covers the raw
bytes and is checked first; an unsigned body is never parsed.
"""

from __future__ import annotations

import base64
import hmac
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, Protocol, cast

from .._error import edge_fault_of
from .event import UUID, WebhookEvent, event_of
from .sign import hmac_of, keys_of

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
UNIX_SECONDS = re.compile(r"[1-9][0-9]{0,11}")


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

    ``scheme`` says which signature is checked. ``standard``, the default, is ``webhook-signature`` (Standard Webhooks): it covers the
    delivery id, and during a rotation it is by both secrets. ``service`` is ``X-Service-Signature`` alone. Whoever has seen a delivery can
    then repeat it under another id, for as long as ``tolerance`` allows.

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
    keys = keys_of(secret)
    all_signed = _read_signed(_values_by_name(headers), scheme, brand)
    seconds = int(time.time() if now is None else now)
    for each in all_signed:
        _check_timestamp(each.timestamp, seconds, tolerance)
    content = bytes(body)
    signed = all_signed[0]
    if not signed.matches(content, keys):
        fault = next(filter(None, (edge_fault_of(key.decode()) for key in keys)), None)
        hint = "" if fault is None else f"; the secret has {fault}"
        raise WebhookVerificationError("signature_mismatch", f"no signature matches this body and secret{hint}")
    return _event_of(signed, content)


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
        expected = [hmac_of(key, self.prefix.encode(), body) for key in keys]
        verdicts = [hmac.compare_digest(mine, theirs) for mine in expected for theirs in self.signatures]
        return any(verdicts)


def _read_signed(values: Mapping[str, list[str]], scheme: str | None, brand: str) -> list[_Signed]:
    """
    The headers of the scheme to check first.

    Unless a scheme is named, those of the service follow, if sent: they must be well-formed and recent, too.
    """
    if scheme not in {None, "service", "standard"}:
        raise ValueError("scheme must be standard or service")
    if scheme == "service":
        return [_read_service(values, brand.lower())]
    signed = [_read_standard(values)]
    is_other = scheme is None and f"x-{brand.lower()}-signature" in values
    return signed + ([_read_service(values, brand.lower())] if is_other else [])


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
        hint = '; scheme="service" checks the service\'s own header alone' if name == "webhook-signature" else ""
        raise WebhookVerificationError("missing_header", f"there is no header {name}{hint}")
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
    event = event_of(signed.delivery_id, datetime.fromtimestamp(int(signed.timestamp), timezone.utc), body)
    if event is None:
        raise WebhookVerificationError("unknown_event", "the signature is valid, but the event is unknown")
    return event
