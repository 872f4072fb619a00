"""Waiting for an end: the service is asked again and again, and answers when there is one if it can."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .._call import Flow, Settings, Sleep, checked_timeout
from .._error import PlatenError

Record = TypeVar("Record", bound=Mapping[str, Any])

WAIT_SECONDS = 600.0

# How long the service waits before it answers: less than the 15 seconds after which some proxies give up.
ASKED_SECONDS_MAX = 10

# Between two requests that are answered at once: by a service where too many wait. The first are close together, because
# most renders take less than a second.
POLL_SECONDS_FIRST = 0.2
POLL_SECONDS_MAX = 5.0
POLL_GROWTH = 1.5


def poll(
    settings: Settings,
    ask: Callable[[int, float], Flow[Record]],
    is_ended: Callable[[Record], bool],
    timeout: float | None,
    *,
    subject: str,
) -> Flow[Record]:
    """
    Returns the record that has ended.

    ``ask`` reads the record. It is given how many seconds the service may wait before it answers, and how many the call may take.
    """
    clock = settings.clock
    timeout = WAIT_SECONDS if timeout is None else checked_timeout(timeout)
    ends_at = clock.monotonic() + timeout
    interval = POLL_SECONDS_FIRST
    while True:
        asked_at = clock.monotonic()
        left = max(ends_at - asked_at, 0.001)
        # The answer must come before the end.
        record = yield from ask(max(0, min(ASKED_SECONDS_MAX, int(left) - 1)), left)
        if is_ended(record):
            return record
        pause = max(0.0, asked_at + interval - clock.monotonic())
        if clock.monotonic() + pause >= ends_at:
            message = f"the {subject} is {record.get('status')} after {timeout:g} seconds"
            raise PlatenError("TIMED_OUT", message, render_id=record.get("render_id"))
        yield Sleep(pause)
        interval = min(interval * POLL_GROWTH, POLL_SECONDS_MAX)
