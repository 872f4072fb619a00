"""
One call of the service, without I/O: its attempts, the waits between them, and the error that it ends with.

A call is a generator, a ``Flow``: it yields what to do and is sent what came of it. So the decisions are written once; a driver of
``_driver`` does the I/O for them, with or without ``await``.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Literal, TypeVar
from urllib.parse import urljoin

from ._error import PlatenError

T = TypeVar("T")

SUCCESS_STATUSES = range(200, 300)

# The service names 20 faults at most; proxies send pages.
REFUSAL_BYTES_MAX = 1024 * 1024


@dataclass(frozen=True)
class Clock:
    """Time and randomness in one place, so that tests can replace both."""

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random


@dataclass(frozen=True)
class Settings:
    """What all calls of a client have in common."""

    root: str
    """URL before the paths of the service: `https://pdf.example.com/api/v1`."""
    api_key: str = field(repr=False)
    brand: str
    retries: int
    timeout: float
    pdf_bytes_max: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the caller adds to the requests of one call."""
    clock: Clock = field(default_factory=Clock)


@dataclass(frozen=True)
class Request:
    """One HTTP request. It may be sent several times."""

    method: Literal["GET", "POST", "DELETE"]
    url: str
    bytes_max: int
    """A longer answer with status 2xx is cut off and refused."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    is_repeatable: bool = True
    """Is it safe to send the request again when its result is unknown?"""
    is_foreign: bool = False
    """Is the URL one that the service has returned? It may point to another host, which gets no API key and may redirect."""

    def bytes_max_of(self, status: int) -> int:
        """A refusal may be longer than a PDF that is taken, and is never long."""
        return self.bytes_max if status in SUCCESS_STATUSES else REFUSAL_BYTES_MAX


@dataclass(frozen=True)
class Answer:
    """A complete answer."""

    status: int
    headers: Mapping[str, str]
    """To be asked for in small letters."""
    body: bytes


@dataclass(frozen=True)
class NoAnswer:
    """Why an attempt ended without a complete answer."""

    code: Literal["NETWORK_ERROR", "TIMED_OUT", "INVALID_ANSWER"]
    message: str


@dataclass(frozen=True)
class Send:
    """Send a request. The reply is an ``Answer`` or ``NoAnswer``."""

    request: Request
    timeout: float


@dataclass(frozen=True)
class Sleep:
    """Wait. There is no reply."""

    seconds: float


@dataclass(frozen=True)
class Work:
    """Call a function that blocks. There is no reply."""

    function: Callable[[], None]


Effect = Send | Sleep | Work
Reply = Answer | NoAnswer | None
Flow = Generator[Effect, Reply, T]

# Each wait between attempts is random, from zero to a bound that doubles from the first value to the second.
BACKOFF_SECONDS_FIRST = 0.5
BACKOFF_SECONDS_MAX = 8.0

# Proxies answer 502 and 504.
TRANSIENT_STATUSES = (429, 502, 503, 504)
REDIRECT_STATUSES = (301, 302, 303, 307, 308)
REDIRECTS_MAX = 5


def call(settings: Settings, request: Request, timeout: float | None = None) -> Flow[Answer]:
    """Sends a request until it succeeds. Raises ``PlatenError`` if it is refused, or if its attempts or its time are used up."""
    clock = settings.clock
    timeout = settings.timeout if timeout is None else checked_timeout(timeout)
    ends_at = clock.monotonic() + timeout
    failures = redirects = 0
    request = replace(request, headers={**settings.headers, **request.headers})
    while True:
        reply = yield Send(request, max(ends_at - clock.monotonic(), 0.001))
        if isinstance(reply, Answer) and reply.status in SUCCESS_STATUSES:
            return reply
        target = _redirect_of(request, reply)
        if target is not None and redirects < REDIRECTS_MAX:
            request, redirects = target, redirects + 1
            continue
        error = _error_of(reply, settings, timeout)
        # Another request with the same key is still under way. That is not a failure, so only the deadline limits this wait.
        is_waiting = error.code == "IDEMPOTENCY_IN_PROGRESS"
        failures += not is_waiting
        if not request.is_repeatable or not (is_waiting or _is_transient(error)) or failures > settings.retries:
            raise error
        seconds = _wait_before(failures, error, clock)
        if clock.monotonic() + seconds >= ends_at:
            raise error
        yield Sleep(seconds)


def checked_timeout(seconds: float) -> float:
    """Returns the seconds. Raises ``ValueError`` if no call can take so long."""
    # This form also refuses NaN, and the bound is what sockets take.
    if not 0 < seconds <= TIMEOUT_SECONDS_MAX:
        raise ValueError(f"timeout must be more than 0 seconds and at most {TIMEOUT_SECONDS_MAX}")
    return seconds


TIMEOUT_SECONDS_MAX = 86_400


# What the client sets itself.
OWN_HEADERS = frozenset(
    {
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "idempotency-key",
        "transfer-encoding",
    }
)


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers of a caller. Raises ``ValueError`` if one is the client's own, or cannot be sent."""
    for name, value in headers.items():
        if not isinstance(name, str) or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise ValueError("headers: a name must have letters, digits and dashes only")
        if name.lower() == "idempotency-key":
            raise ValueError("headers: pass idempotency-key as idempotency_key")
        if name.lower() in OWN_HEADERS:
            raise ValueError(f"headers: the client sets {name.lower()} itself")
        if not isinstance(value, str) or not re.fullmatch(r"[\t\x20-\x7e]*", value):
            raise ValueError(f"headers: the value of {name} must be printable ASCII, without a line end")
    return {name.lower(): value for name, value in headers.items()}


def checked_retries(retries: int) -> int:
    if not 0 <= retries <= RETRIES_MAX:
        raise ValueError(f"retries must be a number from 0 to {RETRIES_MAX}")
    return retries


RETRIES_MAX = 100


def invalid_answer(message: str, answer: Answer) -> PlatenError:
    """The error of an answer that is not in the form of the service."""
    return PlatenError("INVALID_ANSWER", message, status=answer.status, request_id=answer.headers.get("x-request-id"))


def json_of(body: bytes) -> object:
    """Parses JSON. Returns None when it is not valid, or nests too deep for the parser."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _is_transient(error: PlatenError) -> bool:
    return error.code == "NETWORK_ERROR" or error.status in TRANSIENT_STATUSES


def _wait_before(attempt: int, error: PlatenError, clock: Clock) -> float:
    """At least as long as the service asks, plus a random time, so that callers who failed together do not return together."""
    # Doubling without end would be a number that no float holds.
    bound = min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS_FIRST * 2.0 ** min(max(attempt - 1, 0), 10))
    return (error.retry_after or 0) + clock.random() * bound


def _redirect_of(request: Request, reply: Reply) -> Request | None:
    """Where a foreign host redirects to. The service itself never redirects, and the API key must not reach another host."""
    if not request.is_foreign or not isinstance(reply, Answer) or reply.status not in REDIRECT_STATUSES:
        return None
    try:
        return replace(request, url=urljoin(request.url, reply.headers["location"]))
    except (KeyError, ValueError):
        return None


def _error_of(reply: Reply, settings: Settings, timeout: float) -> PlatenError:
    if isinstance(reply, Answer):
        return _refusal_of(reply, settings)
    if isinstance(reply, NoAnswer):
        is_late = reply.code == "TIMED_OUT"
        return PlatenError(reply.code, f"no answer within {timeout:g} seconds" if is_late else reply.message)
    raise AssertionError("a driver answers every request")


def _refusal_of(answer: Answer, settings: Settings) -> PlatenError:
    body = json_of(answer.body)
    error = body.get("error") if isinstance(body, dict) else None
    fields = error if isinstance(error, dict) else {}
    code, message, reason, details = (fields.get(name) for name in ("code", "message", "reason", "details"))
    if not isinstance(code, str) or not isinstance(message, str):
        code, message, reason = "INVALID_ANSWER", f"status {answer.status} from something that is not the service", None
    return PlatenError(
        code,
        message,
        reason=reason if isinstance(reason, str) else None,
        status=answer.status,
        details=[each for each in details if _is_detail(each)] if isinstance(details, list) else [],
        request_id=answer.headers.get("x-request-id"),
        render_id=answer.headers.get(f"x-{settings.brand}-render-id"),
        retry_after=_retry_after_of(answer.headers, settings.clock),
    )


def _is_detail(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("path"), str) and isinstance(value.get("message"), str)


def _retry_after_of(headers: Mapping[str, str], clock: Clock) -> int | None:
    """Reads a number of seconds, or a date, which proxies send (RFC 9110, section 10.2.3)."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    now = datetime.fromtimestamp(clock.now(), timezone.utc)
    return max(0, ceil((at.replace(tzinfo=at.tzinfo or timezone.utc) - now).total_seconds()))
