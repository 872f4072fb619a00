"""Webhooks: what is taken, what is refused and why, and the vectors that everyone who signs or verifies is held against."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from datetime import datetime, timezone
from email.message import Message
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

from platen_client import (
    BatchEnded,
    RenderEnded,
    WebhookTest,
    WebhookVerificationError,
    sign_test_event,
    verify_webhook,
    wire,
)
from platen_client.webhook.sign import signature_headers

SECRET = "service_webhook_secret"
OLD_SECRET = "service_webhook_older"
NOW = 1_795_262_400
DELIVERY = "0190a3c4-61aa-7c3d-8e4f-5a6b7c8d9e0f"
ANOTHER = DELIVERY.replace("0190", "0191")
SUCCEEDED: dict[str, object] = {
    "id": "0190a3c4-5d6e-7f80-9a1b-2c3d4e5f6071",
    "status": "succeeded",
    "duration_ms": 412,
    "bytes": 48213,
    "artifact_id": "9f86d081884c7d65",
}
FAILED: dict[str, object] = {
    "id": SUCCEEDED["id"],
    "status": "failed",
    "error_code": "render_timeout",
    "error_message": "the render did not end within 25 seconds",
}
TESTED: dict[str, object] = {"id": DELIVERY, "status": "test", "created_at": "2026-11-21T12:00:00.000Z"}
ENDED: dict[str, object] = {
    "batch_id": "01J2HW8QBEFY09M6SC7N75YR3H",
    "template": "invoice",
    "status": "ended",
    "total": 3,
    "succeeded": 2,
    "failed": 1,
}
BODY = json.dumps(SUCCEEDED).encode()


def hex_of(secret: str, timestamp: object = NOW, body: bytes = BODY) -> str:
    return "sha256=" + hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def base64_of(secret: str, timestamp: object = NOW, body: bytes = BODY) -> str:
    signed = f"{DELIVERY}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret.encode(), signed, hashlib.sha256).digest()).decode()


def headers_of(changes: dict[str, Any] | None = None, timestamp: object = NOW, body: bytes = BODY) -> dict[str, Any]:
    """Headers of a delivery. `changes` replaces headers; None removes one."""
    sent = {
        "content-type": "application/json",
        "x-service-event": "render.succeeded",
        "x-service-delivery": DELIVERY,
        "x-service-timestamp": f"{timestamp}",
        "x-service-signature": hex_of(SECRET, timestamp, body),
        "webhook-id": DELIVERY,
        "webhook-timestamp": f"{timestamp}",
        "webhook-signature": base64_of(SECRET, timestamp, body),
        **(changes or {}),
    }
    return {name: value for name, value in sent.items() if value is not None}


def verdict(headers: Any, body: Any = BODY, secret: Any = SECRET, **options: Any) -> str:
    """The code of the refusal, or `taken`."""
    try:
        verify_webhook(body, headers, secret, **{"now": NOW, **options})
    except WebhookVerificationError as error:
        return error.code
    return "taken"


VECTORS = json.loads((Path(__file__).parents[3] / "test/webhook/vector.json").read_text(encoding="utf-8"))["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_vectors_fit(vector: dict[str, Any]) -> None:
    pieces = (piece if isinstance(piece, str) else piece["repeat"] * piece["times"] for piece in vector["body"])
    body, seconds = "".join(pieces).encode(), vector["timestamp"]
    secrets = [vector["secret"], *([vector["previous"]] if "previous" in vector else [])]
    expected = {
        "x-service-delivery": vector["id"],
        "x-service-timestamp": str(seconds),
        "x-service-signature": vector["service_signature"],
        "webhook-id": vector["id"],
        "webhook-timestamp": str(seconds),
        "webhook-signature": vector["webhook_signature"],
    }
    keys = [secret.encode() for secret in secrets]
    assert signature_headers(body, keys, delivery_id=vector["id"], timestamp=seconds, brand="service") == expected
    for scheme, key in (("standard", secrets[0]), ("standard", secrets[-1]), ("service", secrets[-1])):
        # Some vectors are no event. Their signatures fit all the same, and those of one byte more do not.
        assert verdict(expected, body, key, scheme=scheme, now=seconds) in {"taken", "unknown_event"}
        assert verdict(expected, body + b" ", key, scheme=scheme, now=seconds) == "signature_mismatch"


class TestADelivery:
    def test_of_a_render_that_succeeded_is_read_with_the_id_as_the_api_spells_it(self) -> None:
        event = verify_webhook(BODY, headers_of(), SECRET, now=NOW)
        assert isinstance(event, RenderEnded)
        assert (event.type, event.delivery_id, event.data) == ("render.succeeded", DELIVERY, SUCCEEDED)
        assert event.timestamp == datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
        assert event.render_id == "01J2HW8QBEFY09M6SC7N75YR3H"

    def test_of_a_render_that_failed_is_read(self) -> None:
        body = json.dumps({**FAILED, "reference": "o-1"}).encode()
        event = verify_webhook(body, headers_of(body=body), SECRET, now=NOW)
        assert (event.type, event.data) == ("render.failed", {**FAILED, "reference": "o-1"})

    def test_of_a_batch_that_ended_is_read(self) -> None:
        body = json.dumps(ENDED).encode()
        event = verify_webhook(body, headers_of(body=body), SECRET, now=NOW)
        assert isinstance(event, BatchEnded)
        assert (event.type, event.delivery_id, event.data) == ("batch.ended", DELIVERY, ENDED)
        assert event.batch_id == ENDED["batch_id"]

    def test_of_a_test_of_the_receiver_is_read(self) -> None:
        body = json.dumps(TESTED).encode()
        event = verify_webhook(body, headers_of(body=body), SECRET, now=NOW)
        at = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
        assert event == WebhookTest("webhook.test", DELIVERY, at, TESTED)  # type: ignore[arg-type]

    @pytest.mark.parametrize("body", [BODY, bytearray(BODY), memoryview(b"__" + BODY + b"__")[2:-2]])
    def test_is_taken_as_bytes_of_any_type(self, body: object) -> None:
        assert verdict(headers_of(), body) == "taken"

    @pytest.mark.parametrize(
        "form",
        [
            dict,
            lambda sent: {name.upper(): value for name, value in sent.items()},
            lambda sent: {name: [value] for name, value in sent.items()},
            lambda sent: list(sent.items()),
            lambda sent: [(name.encode(), value.encode()) for name, value in sent.items()],
            httpx.Headers,
            lambda sent: message_of(sent.items()),
        ],
        ids=["dict", "capitals", "lists", "pairs", "pairs of ASGI", "httpx", "http.server"],
    )
    def test_is_taken_with_headers_as_frameworks_have_them(self, form: Callable[[dict[str, str]], object]) -> None:
        assert verdict(form(headers_of())) == "taken"
        assert verdict(form(headers_of()), scheme="standard") == "taken"

    @pytest.mark.parametrize(
        "data",
        [
            {**SUCCEEDED, "status": "canceled"},
            {**SUCCEEDED, "id": "42"},
            {**SUCCEEDED, "id": 42},
            {**SUCCEEDED, "bytes": None},
            {**SUCCEEDED, "bytes": "48213"},
            {**SUCCEEDED, "bytes": True},
            {**SUCCEEDED, "artifact_id": None},
            {**FAILED, "error_code": None},
            {**ENDED, "batch_id": "42"},
            {**ENDED, "batch_id": None},
            {**ENDED, "failed": True},
            {**ENDED, "total": None},
            {**ENDED, "status": "processing"},
            {**TESTED, "id": "42"},
            {**TESTED, "created_at": NOW},
            [SUCCEEDED],
        ],
    )
    def test_that_is_signed_with_something_else_is_an_unknown_event(self, data: object) -> None:
        body = json.dumps(data).encode()
        assert verdict(headers_of(body=body), body) == "unknown_event"

    @pytest.mark.parametrize("body", [b"{", b"", b"\xff", b"[" * 100_000, b'{"id":' + b"1" * 5000 + b"}"])
    def test_that_is_no_json_is_not_parsed_before_its_signature_fits(self, body: bytes) -> None:
        assert verdict(headers_of(), body) == "signature_mismatch"
        assert verdict(headers_of(body=body), body) == "unknown_event"


def message_of(items: Any) -> Message:
    message = Message()
    for name, value in items:
        message[name] = value
    return message


@pytest.mark.parametrize(
    "body",
    [BODY.replace(b"412", b"413"), BODY + b"\n", BODY[:-1], json.dumps(SUCCEEDED, indent=2).encode(), b""],
)
@pytest.mark.parametrize("scheme", ["service", "standard", None])
def test_a_body_that_was_changed_does_not_fit(body: bytes, scheme: str | None) -> None:
    assert verdict(headers_of(), body, scheme=scheme) == "signature_mismatch"


@pytest.mark.parametrize("body", [SUCCEEDED, BODY.decode(), None])
def test_a_body_that_was_parsed_is_a_mistake_of_the_receiver(body: object) -> None:
    with pytest.raises(TypeError, match="raw body"):
        verdict(headers_of(), body)


HEX = hex_of(SECRET)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"x-service-timestamp": None}, "missing_header"),
        ({"x-service-delivery": None}, "missing_header"),
        ({"x-service-signature": HEX[7:]}, "unknown_signature"),
        ({"x-service-signature": ""}, "unknown_signature"),
        ({"x-service-signature": HEX.replace("sha256", "sha1")}, "unknown_signature"),
        ({"x-service-signature": HEX.replace("sha256", "SHA256")}, "unknown_signature"),
        ({"x-service-signature": "sha256="}, "malformed_header"),
        ({"x-service-signature": HEX[:-1]}, "malformed_header"),
        ({"x-service-signature": f"{HEX}0"}, "malformed_header"),
        ({"x-service-signature": f"{HEX}\n"}, "malformed_header"),
        ({"x-service-signature": f"sha256={HEX[7:].upper()}"}, "malformed_header"),
        ({"x-service-signature": f"sha256={'٣' * 64}"}, "malformed_header"),
        ({"x-service-signature": f"{HEX}, {HEX}"}, "malformed_header"),
        ({"x-service-signature": [HEX, HEX]}, "malformed_header"),
        ({"X-Service-Signature": HEX}, "malformed_header"),
        ({"x-service-delivery": f"{DELIVERY}, {DELIVERY}"}, "malformed_header"),
        ({"x-service-timestamp": f"{NOW}, {NOW}"}, "malformed_header"),
        *(
            ({"x-service-timestamp": text, "x-service-signature": hex_of(SECRET, text)}, "malformed_header")
            for text in (f"{NOW}000", f"{NOW}.0", "1.795e9", f"+{NOW}", f"0{NOW}", f"{NOW}\n", "٣", "1_795_262_400")
        ),
        ({"x-service-timestamp": f"{NOW + 1}"}, "signature_mismatch"),
        ({"x-service-signature": hex_of("another")}, "signature_mismatch"),
    ],
)
def test_the_scheme_service_refuses(changes: dict[str, Any], code: str) -> None:
    assert verdict(headers_of(changes), scheme="service") == code


OURS, OTHER = base64_of(SECRET), base64_of("another")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"webhook-signature": f"{OURS} {OTHER}"}, "taken"),
        ({"webhook-signature": f"{OTHER} {OURS}"}, "taken"),
        ({"webhook-signature": f"v1a,abc {OURS} v2,def"}, "taken"),
        ({"webhook-signature": "v1a,abc v2,def"}, "unknown_signature"),
        ({"webhook-signature": OTHER}, "signature_mismatch"),
        ({"webhook-signature": OURS[3:]}, "unknown_signature"),
        ({"webhook-signature": "v1,"}, "malformed_header"),
        ({"webhook-signature": f"v1,{'*' * 43}="}, "malformed_header"),
        ({"webhook-signature": [OURS, OURS]}, "malformed_header"),
        ({"webhook-signature": f"{OTHER} " * 9 + OURS}, "malformed_header"),
        ({"webhook-signature": None}, "missing_header"),
        ({"webhook-id": None}, "missing_header"),
        ({"webhook-timestamp": None}, "missing_header"),
        ({"webhook-id": ANOTHER}, "signature_mismatch"),
        ({"webhook-id": "x"}, "malformed_header"),
        ({"webhook-timestamp": f"{NOW - 1}"}, "signature_mismatch"),
    ],
)
def test_the_scheme_standard_decides(changes: dict[str, Any], code: str) -> None:
    assert verdict(headers_of(changes), scheme="standard") == code


class TestTheSchemes:
    def test_are_told_by_what_was_sent(self) -> None:
        standard = headers_of({"x-service-signature": None})
        assert verdict(standard) == "taken"
        assert verdict(standard, scheme="service") == "missing_header"
        assert verdict(headers_of({"webhook-signature": None})) == "missing_header"
        assert verdict(headers_of({"webhook-signature": None}), scheme="service") == "taken"
        assert verdict({}) == "missing_header"
        with pytest.raises(ValueError, match="scheme"):
            verdict(headers_of(), scheme="other")

    def test_have_the_word_of_the_brand(self) -> None:
        headers = {"X-Acme-Delivery": DELIVERY, "X-Acme-Timestamp": str(NOW), "X-Acme-Signature": hex_of(SECRET)}
        assert verdict(headers, brand="Acme", scheme="service") == "taken"
        assert verdict(headers, scheme="service") == "missing_header"
        assert verdict(headers, brand="Acme") == "missing_header"

    def test_are_the_standard_one_by_default(self) -> None:
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        repeated = headers_of({"x-service-delivery": ANOTHER, **dict.fromkeys(names)})
        with pytest.raises(WebhookVerificationError, match='scheme="service"') as caught:
            verify_webhook(BODY, repeated, SECRET, now=NOW)
        assert caught.value.code == "missing_header"
        assert verify_webhook(BODY, repeated, SECRET, now=NOW, scheme="service").delivery_id == ANOTHER

    def test_refuse_a_delivery_that_is_repeated_under_another_id(self) -> None:
        both = {"x-service-delivery": ANOTHER, "webhook-id": ANOTHER}
        assert verdict(headers_of(both)) == "signature_mismatch"
        assert verdict(headers_of({**both, "webhook-signature": None}), scheme="standard") == "missing_header"
        event = verify_webhook(BODY, headers_of({"x-service-delivery": ANOTHER}), SECRET, now=NOW)
        assert event.delivery_id == DELIVERY

    def test_both_have_to_be_well_formed_and_recent_where_both_were_sent(self) -> None:
        assert verdict(headers_of({"x-service-signature": hex_of(OLD_SECRET)})) == "taken"
        assert verdict(headers_of({"x-service-signature": "sha1=ab"})) == "unknown_signature"
        assert verdict(headers_of({"x-service-timestamp": f"{NOW - 301}"})) == "stale_timestamp"


@pytest.mark.parametrize(
    ("offset", "code"),
    [(-301, "stale_timestamp"), (-300, "taken"), (0, "taken"), (300, "taken"), (301, "future_timestamp")],
)
@pytest.mark.parametrize("scheme", ["service", "standard"])
def test_a_signature_is_of_about_now(offset: int, code: str, scheme: str) -> None:
    assert verdict(headers_of(timestamp=NOW + offset), scheme=scheme) == code


def test_a_signature_may_be_older_where_the_receiver_says_so() -> None:
    assert verdict(headers_of(timestamp=NOW - 900), tolerance=900) == "taken"
    assert verdict(headers_of(timestamp=NOW - 1), tolerance=0) == "stale_timestamp"
    for tolerance in (float("nan"), -1):
        with pytest.raises(ValueError, match="tolerance"):
            verdict(headers_of(), tolerance=tolerance)


def test_the_receivers_own_clock_counts() -> None:
    seconds = int(time.time())
    assert verdict(headers_of(timestamp=seconds), now=None) == "taken"
    assert verdict(headers_of(timestamp=seconds - 3600), now=None) == "stale_timestamp"


def test_secrets_may_be_several_in_any_order() -> None:
    assert verdict(headers_of(), secret=[SECRET, OLD_SECRET]) == "taken"
    assert verdict(headers_of(), secret=(OLD_SECRET, SECRET)) == "taken"
    assert verdict(headers_of(), secret=[OLD_SECRET]) == "signature_mismatch"


@pytest.mark.parametrize("secret", ["", None, [], [SECRET, ""], [SECRET, None]])
def test_secrets_that_are_none_are_a_mistake_of_the_receiver(secret: object) -> None:
    with pytest.raises(ValueError, match="no webhook secret"):
        verdict(headers_of(), secret=secret)


@pytest.mark.parametrize(
    ("secret", "where"),
    [
        (f"{SECRET}\n", "at its end"),
        (f"{SECRET}\r\n", "at its end"),
        (f"\ufeff{SECRET}", "at its beginning"),
        (f"{SECRET}\n{OLD_SECRET}", "inside"),
    ],
)
def test_secrets_with_a_line_end_as_from_a_file_are_told_as_that(secret: str, where: str) -> None:
    for given in (secret, [OLD_SECRET, secret]):
        with pytest.raises(ValueError, match=where) as caught:
            verdict(headers_of(), secret=given)
        assert "service_webhook" not in str(caught.value)


@pytest.mark.parametrize(("secret", "where"), [(f"{SECRET} ", "at its end"), (f"\t{SECRET}", "at its beginning")])
def test_secrets_may_have_blanks_around_them_which_are_told_where_nothing_fits(secret: str, where: str) -> None:
    assert verdict(headers_of({"webhook-signature": base64_of(secret)}), secret=secret) == "taken"
    with pytest.raises(WebhookVerificationError, match=where) as caught:
        verify_webhook(BODY, headers_of(), [OLD_SECRET, secret], now=NOW)
    assert caught.value.code == "signature_mismatch"
    assert "service_webhook" not in str(caught.value)


def test_what_was_sent_is_in_no_message() -> None:
    for changes in ({"x-service-signature": "sha256=feed"}, {"x-service-timestamp": "77"}, {"webhook-id": "feed"}):
        with pytest.raises(WebhookVerificationError) as caught:
            verify_webhook(BODY, headers_of(changes), SECRET, now=NOW)
        assert "feed" not in str(caught.value)
        assert SECRET not in repr(caught.value)


class TestATestEvent:
    @pytest.mark.parametrize("event", ["render.succeeded", "render.failed"])
    def test_is_taken_as_one_of_the_service(self, event: Any) -> None:
        signed = sign_test_event(event, secret=SECRET, data={"reference": "o-1"})
        read = verify_webhook(signed.body, signed.headers, SECRET)
        assert isinstance(read, RenderEnded)
        assert (read.type, read.data["template"], signed.headers["x-service-event"]) == (event, "invoice", event)
        assert read.render_id == read.data["render_id"]
        assert json.loads(signed.body)["reference"] == "o-1"

    @pytest.mark.parametrize("event", get_args(wire.DeliveredEventType))
    def test_may_be_every_event_that_the_service_sends(self, event: Any) -> None:
        signed = sign_test_event(event, secret=SECRET)
        assert verify_webhook(signed.body, signed.headers, SECRET).type == event

    def test_of_the_receiver_has_the_id_of_its_delivery(self) -> None:
        signed = sign_test_event("webhook.test", secret=SECRET, timestamp=NOW, delivery_id=DELIVERY)
        assert json.loads(signed.body) == TESTED

    def test_is_of_no_event_that_there_is_not(self) -> None:
        with pytest.raises(ValueError, match="no event"):
            sign_test_event("render.done", secret=SECRET)  # type: ignore[arg-type]

    def test_may_be_of_a_rotation_of_another_time_and_id(self) -> None:
        signed = sign_test_event(
            secret=[SECRET, OLD_SECRET], timestamp=NOW, delivery_id=DELIVERY, brand="acme", data={"bytes": 1}
        )
        for secret in (SECRET, OLD_SECRET):
            read = verify_webhook(signed.body, signed.headers, secret, now=NOW, brand="acme")
            assert isinstance(read, RenderEnded)
            assert (read.delivery_id, read.data["bytes"]) == (DELIVERY, 1)
        assert verdict(signed.headers, signed.body, now=NOW + 301, brand="acme") == "stale_timestamp"
        assert verdict(signed.headers, signed.body, OLD_SECRET, scheme="service", brand="acme") == "taken"
        assert verdict(signed.headers, signed.body, SECRET, scheme="service", brand="acme") == "signature_mismatch"

    def test_has_an_id_of_its_own(self) -> None:
        ids = {sign_test_event(secret=SECRET).headers["webhook-id"] for _ in range(3)}
        assert len(ids) == 3
