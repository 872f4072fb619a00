"""The I/O of calls by httpx: one driver that blocks, and one for asyncio. All decisions are in ``_call`` and ``_operation``."""

from __future__ import annotations

import asyncio
import time
from typing import TypeVar

import httpx

from ._call import Answer, Flow, NoAnswer, Reply, Send, Settings, Sleep

__version__ = "0.1.0"

T = TypeVar("T")

# A host that swallows packets is an attempt that failed, and not the end of the call.
CONNECT_SECONDS_MAX = 10.0

# What httpx raises when it has no answer. `InvalidURL` is of an address that came in an answer.
FAULTS = (httpx.RequestError, httpx.InvalidURL)


class SyncDriver:
    """Runs flows. Several threads may do so at once."""

    def __init__(self, settings: Settings, http_client: httpx.Client | None) -> None:
        self._settings = settings
        self._is_own = http_client is None
        self._http = http_client or httpx.Client()

    def run(self, flow: Flow[T]) -> T:
        """Does what the flow asks for, and returns what it returns."""
        reply: Reply = None
        try:
            while True:
                try:
                    effect = flow.send(reply)
                except StopIteration as end:
                    result: T = end.value
                    return result
                reply = None
                if isinstance(effect, Send):
                    reply = self._attempt(effect)
                elif isinstance(effect, Sleep):
                    time.sleep(effect.seconds)
                else:
                    effect.function()
        finally:
            # Whatever ends it, the flow removes what it has made.
            flow.close()

    def _attempt(self, send: Send) -> Reply:
        ends_at = time.monotonic() + send.timeout
        try:
            request = _request_of(send, self._settings)
            # Without `auth=None` the client would add credentials of its own.
            response = self._http.send(request, stream=True, auth=None, follow_redirects=False)
            try:
                body, bytes_max = bytearray(), send.request.bytes_max_of(response.status_code)
                for chunk in response.iter_raw():
                    body += chunk
                    if len(body) > bytes_max:
                        return _refused(response, f"the answer is larger than {bytes_max} bytes")
                    # httpx limits each wait for bytes, but not their sum.
                    if time.monotonic() > ends_at:
                        return NoAnswer("TIMED_OUT", "the answer takes too long")
            finally:
                response.close()
            return _answer_of(response, body)
        except FAULTS as fault:
            return _no_answer(fault)

    def close(self) -> None:
        """Closes the connections, unless they are of the caller's client."""
        if self._is_own:
            self._http.close()


class AsyncDriver:
    """Runs flows in asyncio. Several tasks of one event loop may do so at once."""

    def __init__(self, settings: Settings, http_client: httpx.AsyncClient | None) -> None:
        self._settings = settings
        self._is_own = http_client is None
        self._http = http_client or httpx.AsyncClient()

    async def run(self, flow: Flow[T]) -> T:
        """Does what the flow asks for, and returns what it returns."""
        reply: Reply = None
        try:
            while True:
                try:
                    effect = flow.send(reply)
                except StopIteration as end:
                    result: T = end.value
                    return result
                reply = None
                if isinstance(effect, Send):
                    reply = await self._attempt(effect)
                elif isinstance(effect, Sleep):
                    await asyncio.sleep(effect.seconds)
                else:
                    await asyncio.to_thread(effect.function)
        finally:
            flow.close()

    async def _attempt(self, send: Send) -> Reply:
        try:
            return await asyncio.wait_for(self._receive(send), send.timeout)
        except asyncio.TimeoutError:
            return NoAnswer("TIMED_OUT", "the answer takes too long")
        except FAULTS as fault:
            return _no_answer(fault)

    async def _receive(self, send: Send) -> Reply:
        request = _request_of(send, self._settings)
        response = await self._http.send(request, stream=True, auth=None, follow_redirects=False)
        try:
            body, bytes_max = bytearray(), send.request.bytes_max_of(response.status_code)
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > bytes_max:
                    return _refused(response, f"the answer is larger than {bytes_max} bytes")
        finally:
            await response.aclose()
        return _answer_of(response, body)

    async def close(self) -> None:
        """Closes the connections, unless they are of the caller's client."""
        if self._is_own:
            await self._http.aclose()


def _request_of(send: Send, settings: Settings) -> httpx.Request:
    """Builds the request by itself: what the caller's client adds to its requests must not reach a foreign host."""
    request = send.request
    # A coding could make much of little, so none is accepted.
    headers = {"accept": "*/*", "accept-encoding": "identity", "user-agent": f"platen-client-python/{__version__}"}
    headers |= request.headers
    if not request.is_foreign:
        headers["authorization"] = f"Bearer {settings.api_key}"
    url = httpx.URL(request.url)
    if not url.host:
        raise httpx.InvalidURL("it has no host")
    timeout = httpx.Timeout(send.timeout, connect=min(send.timeout, CONNECT_SECONDS_MAX)).as_dict()
    extensions = {"timeout": timeout}
    return httpx.Request(request.method, url, headers=headers, content=request.body, extensions=extensions)


def _answer_of(response: httpx.Response, body: bytearray) -> Reply:
    if response.headers.get("content-encoding", "identity") != "identity":
        return _refused(response, "the answer has a Content-Encoding, which the client does not accept")
    return Answer(response.status_code, response.headers, bytes(body))


def _no_answer(fault: httpx.RequestError | httpx.InvalidURL) -> NoAnswer:
    """Only the text of the fault goes on: its traceback holds the request with the API key, and reporters of errors print such things."""
    if isinstance(fault, (httpx.InvalidURL, httpx.UnsupportedProtocol)):
        return NoAnswer("INVALID_ANSWER", "the address that was answered is not an http or https URL")
    # Each other wait may take what is left of the call, so its end is that of the call.
    if isinstance(fault, httpx.TimeoutException) and not isinstance(fault, httpx.ConnectTimeout):
        return NoAnswer("TIMED_OUT", "the answer takes too long")
    return NoAnswer("NETWORK_ERROR", f"the service could not be reached: {type(fault).__name__}: {fault}")


def _refused(response: httpx.Response, message: str) -> Reply:
    """An answer whose body is not taken. What is no success has a status that says enough, such as that of a proxy that is busy."""
    if response.is_success:
        return NoAnswer("INVALID_ANSWER", message)
    return Answer(response.status_code, response.headers, b"")
