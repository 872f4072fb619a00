"""The error of every call that fails."""

from __future__ import annotations

from collections.abc import Sequence

from .wire import ErrorDetail


class PlatenError(Exception):
    """
    A call that failed, or a render that did.

    Upper-case codes belong to a call and lower-case codes to a failed render; docs/errors.md of the service lists them, and a newer service
    may send more. Three codes are of the client itself: ``NETWORK_ERROR`` (the service could not be reached, or the connection broke),
    ``TIMED_OUT`` (the call took longer than its timeout) and ``INVALID_ANSWER`` (something else than the service has answered).
    """

    code: str
    message: str
    reason: str | None
    """Tells apart what has the same code. None if the service did not answer."""
    status: int | None
    """HTTP status. None if there was no answer, or if the render failed after it was accepted."""
    details: Sequence[ErrorDetail]
    """The invalid fields of the request."""
    request_id: str | None
    """The id to give to the operator of the service when asking about this error."""
    render_id: str | None
    """The render that failed, if there is one."""
    retry_after: int | None
    """How many seconds the service asks callers to wait before the next attempt."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        reason: str | None = None,
        status: int | None = None,
        details: Sequence[ErrorDetail] = (),
        request_id: str | None = None,
        render_id: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        # Both as `args`, so that a process can pickle the error for another one.
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.reason = reason
        self.status = status
        self.details = details
        self.request_id = request_id
        self.render_id = render_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def edge_fault_of(text: str) -> str | None:
    """What a file or a copy has added to a text, in words without it. None if there is nothing."""
    if text[-1:].isspace():
        return "white space at its end: trim the file's line end"
    # The byte order mark is no white space here.
    if text[:1].isspace() or text[:1] == "\ufeff":
        return "white space at its beginning: trim it"
    if "\r" in text or "\n" in text:
        return "a line end inside: give one secret, or a list of them"
    return None
