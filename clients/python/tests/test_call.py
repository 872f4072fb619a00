"""When a call is sent again, when it ends, and what its error says. Only the tests move the clock."""

from __future__ import annotations

import pickle

import pytest
from conftest import BROKEN, RENDER_ID, Script, answer, refusal

from platen_client import PlatenError
from platen_client._call import Answer, NoAnswer, Reply, Request, call

GET = Request("GET", "https://pdf.example.com/api/v1/render/x", 1000)
POST_ONCE = Request("POST", "https://pdf.example.com/api/v1/deliveries/x/redeliver", 1000, is_repeatable=False)
FOREIGN = Request("GET", "https://storage.example.com/a/x.pdf?signature=1", 1000, is_foreign=True)
DONE = answer(200, {})


def error_of(script: Script, request: Request = GET, timeout: float | None = None) -> PlatenError:
    with pytest.raises(PlatenError) as caught:
        script.run(call(script.settings, request, timeout))
    return caught.value


@pytest.mark.parametrize(
    "reply",
    [
        BROKEN,
        refusal(429, "RATE_LIMITED"),
        refusal(503, "RENDER_UNAVAILABLE"),
        *(answer(status, b"<html>") for status in (502, 503, 504)),
    ],
)
def test_what_may_pass_is_tried_again(reply: Reply) -> None:
    script = Script([reply, reply, DONE])
    assert script.run(call(script.settings, GET)) is DONE
    assert script.waits == [0.25, 0.5]


def test_it_is_given_up_after_so_many_retries_with_the_last_error() -> None:
    script = Script([BROKEN, refusal(503, "RENDER_UNAVAILABLE")])
    assert error_of(script).code == "RENDER_UNAVAILABLE"
    assert len(script.asked) == 5
    assert script.waits == [0.25, 0.5, 1.0, 2.0]
    none = Script([BROKEN], retries=0)
    assert error_of(none).code == "NETWORK_ERROR"
    assert len(none.asked) == 1


def test_the_waits_grow_up_to_a_bound() -> None:
    script = Script([BROKEN], retries=100, timeout=300.0)
    error_of(script)
    assert max(script.waits) == script.waits[-1] == 4.0
    assert sum(script.waits) < 300


def test_each_attempt_has_the_time_that_is_left() -> None:
    script = Script([BROKEN, BROKEN, DONE])
    script.run(call(script.settings, GET, 10.0))
    assert script.timeouts == [10.0, 9.75, 9.25]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7),
        (" 7 ", 7),
        ("Sat, 21 Nov 2026 12:00:07 GMT", 7),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0),
        ("soon", None),
        ("-1", None),
        ("9" * 10, None),
        ("\u0667", None),
    ],
)
def test_it_is_never_tried_sooner_than_retry_after_says(text: str, seconds: int | None) -> None:
    script = Script([refusal(429, "RATE_LIMITED", retry_after=text), DONE])
    script.run(call(script.settings, GET))
    assert script.waits == [(seconds or 0) + 0.25]
    assert error_of(Script([refusal(429, "X", retry_after=text)], retries=0)).retry_after == seconds


def test_a_date_is_not_rounded_down() -> None:
    date = "Sat, 21 Nov 2026 12:00:07 GMT"
    script = Script([BROKEN, BROKEN, refusal(429, "RATE_LIMITED", retry_after=date), DONE])
    script.run(call(script.settings, GET))
    # Three quarters of a second have passed, so 6.25 seconds are left.
    assert script.waits == [0.25, 0.5, 8.0]


def test_a_wait_that_is_longer_than_the_call_may_take_is_not_begun() -> None:
    script = Script([refusal(429, "RATE_LIMITED", retry_after="3600")])
    assert error_of(script).retry_after == 3600
    assert (len(script.asked), script.waits) == (1, [])


def test_the_first_request_of_a_key_is_waited_for_and_is_no_retry() -> None:
    busy = refusal(409, "IDEMPOTENCY_IN_PROGRESS", retry_after="1")
    script = Script([BROKEN, *[busy] * 20, DONE])
    script.run(call(script.settings, GET))
    assert len(script.asked) == 22
    endless = Script([busy])
    assert error_of(endless, timeout=60.0).code == "IDEMPOTENCY_IN_PROGRESS"
    assert len(endless.asked) > 30
    assert sum(endless.waits) < 60


@pytest.mark.parametrize("status", [400, 401, 402, 404, 408, 409, 410, 413, 422, 500, 501])
def test_other_refusals_are_final(status: int) -> None:
    script = Script([refusal(status, "A_CODE")])
    assert error_of(script).status == status
    assert len(script.asked) == 1


@pytest.mark.parametrize("code", ["TIMED_OUT", "INVALID_ANSWER"])
def test_an_attempt_that_used_up_the_time_or_got_nonsense_is_final(code: str) -> None:
    script = Script([NoAnswer(code, "no")])  # type: ignore[arg-type]
    error = error_of(script, timeout=3.0)
    assert (error.code, error.status, len(script.asked)) == (code, None, 1)
    assert ("3 seconds" in error.message) == (code == "TIMED_OUT")


@pytest.mark.parametrize("reply", [BROKEN, refusal(429, "X"), refusal(503, "X"), answer(502, b"")])
def test_what_would_happen_twice_is_sent_once(reply: Reply) -> None:
    script = Script([reply])
    error_of(script, POST_ONCE)
    assert len(script.asked) == 1


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 86_401])
def test_a_timeout_that_no_call_can_have_is_refused(timeout: float) -> None:
    script = Script([DONE])
    with pytest.raises(ValueError, match="timeout"):
        script.run(call(script.settings, GET, timeout))
    assert script.asked == []


def test_an_error_has_everything_that_the_service_says() -> None:
    details = [{"in": "body", "path": "/data/number", "message": "must be string"}, {"path": 7}, "x"]
    fields = {"code": "VALIDATION_FAILED", "reason": "invalid_data", "message": "wrong", "details": details}
    error = error_of(Script([answer(422, {"error": fields}, x_request_id="r", x_service_render_id=RENDER_ID)]))
    assert str(error) == "VALIDATION_FAILED: wrong"
    assert (error.reason, error.status, error.request_id, error.render_id) == ("invalid_data", 422, "r", RENDER_ID)
    assert (list(error.details), error.retry_after) == (details[:1], None)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"1" * 5000,
        b"null",
        b'"error"',
        b'{"error":"no"}',
        b'{"error":{"code":1,"message":"no"}}',
        b'{"message":"no"}',
    ],
)
def test_a_refusal_of_somebody_else_is_told_apart(body: bytes) -> None:
    error = error_of(Script([answer(404, body)]))
    assert (error.code, error.reason, error.status) == ("INVALID_ANSWER", None, 404)


def test_an_error_survives_a_way_between_processes() -> None:
    error = error_of(Script([refusal(429, "RATE_LIMITED", retry_after="7", x_request_id="r")], retries=0))
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(copy), vars(copy)) == (str(error), vars(error))


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("https://other.example.com/y.pdf", "https://other.example.com/y.pdf"),
        ("/b/y.pdf?z=1", "https://storage.example.com/b/y.pdf?z=1"),
    ],
)
def test_only_a_foreign_host_may_redirect(location: str, url: str) -> None:
    redirect = Answer(307, {"location": location}, b"")
    script = Script([redirect, DONE])
    assert script.run(call(script.settings, FOREIGN)) is DONE
    assert [(request.url, request.is_foreign) for request in script.asked] == [(FOREIGN.url, True), (url, True)]
    assert error_of(Script([redirect])).code == "INVALID_ANSWER"
    for headers in ({}, {"location": "http://["}):
        assert error_of(Script([Answer(307, headers, b"")]), FOREIGN).code == "INVALID_ANSWER"


def test_redirects_end() -> None:
    script = Script([Answer(302, {"location": "?again"}, b"")])
    assert error_of(script, FOREIGN).code == "INVALID_ANSWER"
    assert len(script.asked) == 6
