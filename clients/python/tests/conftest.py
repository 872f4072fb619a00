"""What several tests use: answers without a server, small servers, and both clients behind one face."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeVar

import httpx
import pytest

from platen_client import AsyncPlaten, Platen
from platen_client._call import Answer, Clock, Flow, NoAnswer, Reply, Request, Send, Settings, Sleep

T = TypeVar("T")

KEY = "service_live_key"
RENDER_ID = "01J2HW8QBEFY09M6SC7N75YR3H"
NOON = 1_795_262_400.0
"""2026-11-21, 12:00 UTC."""


class Script:
    """
    Runs flows against answers that are given, the last one again and again. Waits take no time of ours.

    `answer_seconds` says of each request how long its answer takes, and is at once otherwise.
    """

    def __init__(
        self, answers: Sequence[Reply], *, answer_seconds: Callable[[Request], float] = lambda _: 0.0, **settings: Any
    ) -> None:
        self.asked: list[Request] = []
        self.timeouts: list[float] = []
        self.waits: list[float] = []
        self._answers = answers
        self._answer_seconds = answer_seconds
        self._time = 0.0
        clock = Clock(now=lambda: NOON + self._time, monotonic=lambda: self._time, random=lambda: 0.5)
        defaults = {"root": "https://pdf.example.com/api/v1", "api_key": KEY, "brand": "service", "retries": 4}
        self.settings = Settings(**{**defaults, "timeout": 150.0, "pdf_bytes_max": 1000, "clock": clock, **settings})

    def run(self, flow: Flow[T]) -> T:
        reply: Reply = None
        while True:
            try:
                effect = flow.send(reply)
            except StopIteration as end:
                result: T = end.value
                return result
            reply = None
            if isinstance(effect, Send):
                self.asked.append(effect.request)
                self.timeouts.append(effect.timeout)
                self._time += self._answer_seconds(effect.request)
                reply = self._answers[min(len(self.asked), len(self._answers)) - 1]
            elif isinstance(effect, Sleep):
                self.waits.append(effect.seconds)
                self._time += effect.seconds
            else:
                effect.function()


def answer(status: int, body: object = None, **headers: str) -> Answer:
    """An answer in JSON. Underscores of the names of headers are dashes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Answer(status, named, content)


def refusal(status: int, code: str, **headers: str) -> Answer:
    return answer(status, {"error": {"code": code, "message": f"about {code}", "request_id": "r"}}, **headers)


BROKEN = NoAnswer("NETWORK_ERROR", "the service could not be reached: ConnectError: refused")


@dataclass(frozen=True)
class Asked:
    """A request that a server got."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Server:
    """A server on loopback."""

    url: str
    asked: list[Asked]


Handler = Callable[[BaseHTTPRequestHandler, Asked], None]


def reply(
    handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", headers: dict[str, str] | None = None
) -> None:
    handler.send_response(status)
    for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def serving(handle: Handler) -> Iterator[Server]:
    """Serves each request by `handle`, in a thread of its own. A handler whose caller has gone has nothing more to do."""
    asked: list[Asked] = []

    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked.append(Asked(self.command, self.path, headers, body))
            try:
                handle(self, asked[-1])
            except ConnectionError:
                self.close_connection = True

        do_GET = do_POST = do_DELETE = _handle  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    server.daemon_threads = True
    # It looks twenty times a second whether it is to stop.
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{server.server_port}", asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Blocking:
    """The client for asyncio, called as the blocking one."""

    def __init__(self, client: AsyncPlaten, loop: asyncio.AbstractEventLoop) -> None:
        self.client = client
        self._run = loop.run_until_complete

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.client, name)

        def call(*args: object, **options: object) -> Any:
            result = method(*args, **options)
            return iter(self._run(listed(result))) if inspect.isasyncgen(result) else self._run(result)

        return call


async def listed(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


class Connect:
    """Makes clients of one kind, whose methods block. `close` closes what it has made."""

    def __init__(self, kind: str) -> None:
        self._is_async = kind == "asyncio"
        self._loop = asyncio.new_event_loop()
        self._clients: list[Any] = []
        self._own: list[Any] = []

    def __call__(self, url: str, api_key: str = KEY, **options: Any) -> Any:
        if self._is_async:
            self._clients.append(Blocking(AsyncPlaten(url, api_key, **options), self._loop))
        else:
            self._clients.append(Platen(url, api_key, **options))
        return self._clients[-1]

    def own_client(self, **options: Any) -> Any:
        """A client of httpx, as a caller may have one."""
        self._own.append(httpx.AsyncClient(**options) if self._is_async else httpx.Client(**options))
        return self._own[-1]

    def close(self) -> None:
        for client in self._clients:
            client.close()
        for own in self._own:
            if self._is_async:
                self._loop.run_until_complete(own.aclose())
            else:
                own.close()
        # As `asyncio.run` does.
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


@pytest.fixture(params=["blocking", "asyncio"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes clients, of both kinds in turn. They are closed after the test."""
    made = Connect(request.param)
    yield made
    made.close()
