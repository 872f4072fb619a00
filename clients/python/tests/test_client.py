"""Both clients and real connections: what goes over them, what breaks, and what is never shown."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
import socket
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from conftest import KEY, RENDER_ID, Asked, Connect, reply, serving

from platen_client import AsyncPlaten, Platen, PlatenError

RECORD = json.dumps({"render_id": RENDER_ID, "status": "running"}).encode()


def recorded(handler: BaseHTTPRequestHandler, _: Asked) -> None:
    reply(handler, 200, RECORD)


def pdf(handler: BaseHTTPRequestHandler, _: Asked) -> None:
    reply(handler, 200, b"%PDF-1.7", {"content-type": "application/pdf", "x-service-render-id": RENDER_ID})


def error_of(call: Callable[..., Any], *args: Any, **options: Any) -> PlatenError:
    with pytest.raises(PlatenError) as caught:
        call(*args, **options)
    return caught.value


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_request_has_what_it_needs_and_nothing_else(connect: Connect) -> None:
    with serving(pdf) as server:
        client = connect(server.url)
        assert client.render("invoice", {"a": "ż"}, idempotency_key="order-1").pdf == b"%PDF-1.7"
        (asked,) = server.asked
        assert (asked.method, asked.path) == ("POST", "/api/v1/render")
        assert json.loads(asked.body) == {"template": "invoice", "data": {"a": "ż"}, "mode": "sync"}
        assert asked.headers.pop("host") == server.url.removeprefix("http://")
        assert asked.headers.pop("user-agent").startswith("platen-client-python/")
        assert asked.headers == {
            "accept": "*/*",
            "accept-encoding": "identity",
            "authorization": f"Bearer {KEY}",
            "content-length": str(len(asked.body)),
            "content-type": "application/json",
            "idempotency-key": "order-1",
        }


@pytest.mark.parametrize("path", ["", "/", "/api/v1", "/api/v1/", "/gateway", "/gateway/api/v1/"])
def test_an_address_may_end_in_the_path_of_the_api(connect: Connect, path: str) -> None:
    with serving(recorded) as server:
        connect(server.url + path).get_render("x")
        assert server.asked[0].path == f"{'/gateway' if 'gateway' in path else ''}/api/v1/render/x"


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("pdf.example.com", {}),
        ("ftp://pdf.example.com", {}),
        ("https://", {}),
        ("https://[::1", {}),
        ("https://a", {"api_key": ""}),
        ("https://a", {"api_key": f"{KEY}\n"}),
        ("https://a", {"api_key": None}),
        ("https://a", {"retries": -1}),
        ("https://a", {"retries": float("nan")}),
        ("https://a", {"timeout": 0}),
        ("https://a", {"timeout": float("nan")}),
        ("https://a", {"brand": "a b"}),
        ("https://a", {"pdf_bytes_max": 0}),
    ],
)
@pytest.mark.parametrize("kind", [Platen, AsyncPlaten])
def test_what_no_client_can_have_is_refused_when_it_is_made(kind: Any, url: str, options: Any) -> None:
    with pytest.raises(ValueError, match=r"base_url|api_key|retries|timeout|brand|pdf_bytes_max") as caught:
        kind(url, **{"api_key": KEY, **options})
    assert KEY not in repr(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"api_key": None}, "api_key is missing"),
        ({"api_key": ""}, "api_key is missing"),
        ({"api_key": f"{KEY}\n"}, "api_key has white space at its end: trim the file's line end"),
        ({"api_key": f"{KEY}\r\n"}, "api_key has white space at its end"),
        ({"api_key": f" {KEY}"}, "api_key has white space at its beginning"),
        ({"api_key": f"\ufeff{KEY}"}, "api_key has white space at its beginning"),
        ({"api_key": f"{KEY} x"}, "api_key has white space inside"),
        ({"api_key": f"{KEY}ż"}, "api_key has a character that no API key has"),
        ({"api_key": b"key"}, "api_key must be a text"),
        ({"base_url": None}, "base_url is missing"),
        ({"base_url": ""}, "base_url is missing"),
        ({"base_url": "pdf.example.com"}, "base_url must begin with https://"),
        ({"base_url": "localhost:8080"}, "base_url must begin with https://"),
        ({"base_url": "ftp://pdf.example.com"}, "base_url must begin with https://"),
        ({"base_url": "https://"}, "base_url has no host"),
    ],
)
@pytest.mark.parametrize("kind", [Platen, AsyncPlaten])
def test_an_option_that_is_wrong_is_named_with_its_fault(kind: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        kind(**{"base_url": "https://a", "api_key": KEY, **options})
    assert KEY not in str(caught.value)


class TestTheOptionsOfOneCall:
    def test_are_headers_beside_those_of_the_client(self, connect: Connect) -> None:
        with serving(pdf) as server:
            client = connect(server.url)
            client.render("invoice", {}, headers={"X-Trace": "t-1", "User-Agent": "shop/2"})
            client.get_pdf("x", headers={"x-trace": "t-2"})
            client.get_pdf("x")
            record = {"pdf_url": f"{server.url}/x.pdf"}
            client.download_pdf(record, headers={"x-trace": "t-3"})
            assert [asked.headers.get("x-trace") for asked in server.asked] == ["t-1", "t-2", None, "t-3"]
            assert server.asked[0].headers["user-agent"] == "shop/2"
            assert server.asked[1].headers["authorization"] == f"Bearer {KEY}"
            assert "authorization" not in server.asked[3].headers

    @pytest.mark.parametrize(
        ("headers", "message"),
        [
            ({"Authorization": "Bearer other"}, "the client sets authorization itself"),
            ({"content-type": "text/plain"}, "the client sets content-type itself"),
            ({"Content-Length": "1"}, "the client sets content-length itself"),
            ({"host": "a"}, "the client sets host itself"),
            ({"Idempotency-Key": "a"}, "as idempotency_key"),
            ({"x-a": "other\r\nx-b: c"}, "the value of x-a"),
            ({"x-a": "ż"}, "the value of x-a"),
            ({"x a": "other"}, "a name must have"),
            ({"": "other"}, "a name must have"),
        ],
    )
    def test_are_no_headers_that_the_client_sets_or_that_cannot_be_sent(
        self, connect: Connect, headers: Any, message: str
    ) -> None:
        with serving(pdf) as server:
            client = connect(server.url)
            calls: list[Callable[[], object]] = [
                lambda: client.render("invoice", {}, headers=headers),
                lambda: client.get_pdf("x", headers=headers),
            ]
            for call in calls:
                with pytest.raises(ValueError, match=message) as caught:
                    call()
                assert "other" not in str(caught.value)
            assert server.asked == []

    def test_are_retries_in_the_place_of_those_of_the_client(self, connect: Connect) -> None:
        def busy(handler: BaseHTTPRequestHandler, _: Asked) -> None:
            reply(handler, 503)

        with serving(busy) as server:
            client = connect(server.url, retries=0)
            assert error_of(client.get_usage, retries=1).status == 503
            assert len(server.asked) == 2
            assert error_of(client.get_usage).status == 503
            assert len(server.asked) == 3
            for retries in (-1, float("nan"), 101):
                with pytest.raises(ValueError, match="retries"):
                    client.get_usage(retries=retries)

    def test_are_those_of_every_method(self) -> None:
        for kind in (Platen, AsyncPlaten):
            for name, method in inspect.getmembers(kind, inspect.isfunction):
                if not name.startswith("_") and name != "close":
                    assert {"timeout", "retries", "headers"} <= inspect.signature(method).parameters.keys(), name


class TestAForeignHost:
    def test_gets_neither_the_key_nor_what_the_callers_client_adds(self, connect: Connect) -> None:
        http = {"headers": {"x-secret": "s"}, "cookies": {"session": "s"}, "auth": ("user", "s")}
        with serving(pdf) as storage:
            record = {"pdf_url": f"{storage.url}/x.pdf?signature=1"}
            own = connect.own_client(**http)
            client = connect("https://a", http_client=own)
            assert client.download_pdf(record) == b"%PDF-1.7"
            client.close()
            assert not own.is_closed
            (asked,) = storage.asked
            assert asked.path == "/x.pdf?signature=1"
            assert set(asked.headers) == {"accept", "accept-encoding", "host", "user-agent"}

    def test_may_redirect_and_nobody_gets_the_key(self, connect: Connect) -> None:
        with serving(pdf) as other:
            moved = {"location": f"{other.url}/y.pdf"}
            with serving(lambda handler, _: reply(handler, 307, b"moved", moved)) as storage:
                assert connect(storage.url).download_pdf({"pdf_url": f"{storage.url}/x.pdf"}) == b"%PDF-1.7"
                assert error_of(connect(storage.url).get_render, "x").code == "INVALID_ANSWER"
            assert [asked.headers.get("authorization") for asked in other.asked] == [None]

    @pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a/x.pdf", "x.pdf", "http://[::1", "http:///x", ""])
    def test_is_one_of_http(self, connect: Connect, url: str) -> None:
        client = connect("https://a", retries=0)
        assert error_of(client.download_pdf, {"pdf_url": url}).code == "INVALID_ANSWER"


class TestAnAnswer:
    def test_that_is_too_long_is_cut_off(self, connect: Connect) -> None:
        sent = Event()

        def endless(handler: BaseHTTPRequestHandler, _: Asked) -> None:
            handler.send_response(200)
            handler.send_header("content-type", "application/pdf")
            handler.end_headers()
            try:
                while True:
                    handler.wfile.write(b"x" * 65_536)
            finally:
                sent.set()

        with serving(endless) as server:
            error = error_of(connect(server.url, pdf_bytes_max=1000).get_pdf, "x")
            assert (error.code, "1000 bytes" in error.message, len(server.asked)) == ("INVALID_ANSWER", True, 1)
            # The connection is closed: the server notices, and stops.
            assert sent.wait(60)

    def test_that_refuses_may_be_longer_than_a_pdf_that_is_taken(self, connect: Connect) -> None:
        body = json.dumps({"error": {"code": "VALIDATION_FAILED", "message": "x" * 2000}}).encode()
        with serving(lambda handler, _: reply(handler, 422, body)) as server:
            client = connect(server.url, pdf_bytes_max=1000)
            assert error_of(client.render, "invoice", {}).code == "VALIDATION_FAILED"
        with serving(lambda handler, _: reply(handler, 422, b"x" * 1_048_577)) as server:
            error = error_of(connect(server.url).render, "invoice", {})
            assert (error.code, error.status) == ("INVALID_ANSWER", 422)

    def test_that_is_coded_is_refused(self, connect: Connect) -> None:
        with serving(lambda handler, _: reply(handler, 200, RECORD, {"content-encoding": "gzip"})) as server:
            error = error_of(connect(server.url).get_render, "x")
            assert (error.code, error.status, len(server.asked)) == ("INVALID_ANSWER", None, 1)

    @pytest.mark.parametrize(("body", "coding"), [(b"x" * 1_048_577, "identity"), (RECORD, "gzip")])
    def test_of_a_busy_proxy_is_waited_out_whatever_it_says(self, connect: Connect, body: bytes, coding: str) -> None:
        def busy(handler: BaseHTTPRequestHandler, _: Asked) -> None:
            if len(server.asked) > 1:
                return recorded(handler, _)
            return reply(handler, 503, body, {"content-encoding": coding})

        with serving(busy) as server:
            assert connect(server.url).get_render("x")["status"] == "running"

    def test_that_breaks_off_is_asked_for_again(self, connect: Connect) -> None:
        def cut(handler: BaseHTTPRequestHandler, _: Asked) -> None:
            if len(server.asked) > 1:
                return recorded(handler, _)
            reply(handler, 200, RECORD[:10], {"content-length": str(len(RECORD))})
            handler.close_connection = True
            return None

        with serving(cut) as server:
            assert connect(server.url).get_render("x")["status"] == "running"
            assert len(server.asked) == 2

    @pytest.mark.parametrize("begins", [False, True])
    def test_that_never_ends_ends_with_the_time(self, connect: Connect, begins: bool) -> None:
        left = Event()

        def slow(handler: BaseHTTPRequestHandler, _: Asked) -> None:
            if begins:
                handler.send_response(200)
                handler.send_header("content-length", "1000000")
                handler.end_headers()
            # One byte again and again, so that no single wait is long.
            while not left.wait(0.01):
                if begins:
                    handler.wfile.write(b" ")

        with serving(slow) as server:
            error = error_of(connect(server.url).get_render, "x", timeout=0.5)
            left.set()
            assert (error.code, error.status, len(server.asked)) == ("TIMED_OUT", None, 1)
            assert "0.5 seconds" in error.message


def test_nobody_who_listens_is_told_as_what_it_is(connect: Connect) -> None:
    error = error_of(connect(f"http://127.0.0.1:{free_port()}", retries=1).get_render, "x")
    assert error.code == "NETWORK_ERROR"
    assert "ConnectError" in error.message


def test_the_key_is_shown_nowhere(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("asyncio").setLevel(logging.DEBUG)

    def cut(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        if asked.path.endswith("/refused"):
            return reply(handler, 401, b'{"error":{"code":"UNAUTHORIZED","message":"no"}}')
        handler.close_connection = True
        return None

    with serving(cut) as server:
        client = connect(server.url, retries=0)
        away = connect(f"http://127.0.0.1:{free_port()}", retries=0)
        calls = [(client, "refused", "UNAUTHORIZED"), (client, "cut", "NETWORK_ERROR"), (away, "x", "NETWORK_ERROR")]
        for one, path, code in calls:
            error = error_of(one.get_render, path)
            assert error.code == code
            # What a reporter of errors collects: the whole chain, with the local variables of each frame.
            report = traceback.TracebackException.from_exception(error, capture_locals=True)
            assert KEY not in "".join(report.format())
            assert (error.__cause__, error.__context__) == (None, None)
    assert "127.0.0.1" in caplog.text
    assert KEY not in caplog.text
    kinds = [getattr(client, "client", client), away]
    assert KEY not in repr([kinds, [vars(each) for each in kinds]])


def test_threads_share_a_client() -> None:
    with serving(recorded) as server, Platen(server.url, KEY) as client, ThreadPoolExecutor(8) as pool:
        records = list(pool.map(client.get_render, (f"{number}" for number in range(40))))
        assert [record["status"] for record in records] == ["running"] * 40
        assert len({asked.path for asked in server.asked}) == 40


def test_tasks_share_a_client() -> None:
    async def all_of(url: str) -> list[Any]:
        async with AsyncPlaten(url, KEY) as client:
            return await asyncio.gather(*(client.get_render(f"{number}") for number in range(40)))

    with serving(recorded) as server:
        assert len(asyncio.run(all_of(server.url))) == 40
        assert len({asked.path for asked in server.asked}) == 40


def test_a_task_that_is_canceled_leaves_nothing_behind(tmp_path: Path) -> None:
    asked, left = Event(), Event()

    def slow(handler: BaseHTTPRequestHandler, _: Asked) -> None:
        asked.set()
        # Nothing comes but the end of the connection.
        assert handler.connection.recv(1) == b""
        left.set()

    async def canceled(url: str) -> None:
        async with AsyncPlaten(url, KEY) as client:
            task = asyncio.create_task(client.render_to_file("invoice", {}, tmp_path / "a.pdf"))
            await asyncio.to_thread(asked.wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert left_in(tmp_path) == []
            assert await asyncio.to_thread(left.wait, 60)

    with serving(slow) as server:
        asyncio.run(canceled(server.url))
