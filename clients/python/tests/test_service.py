"""
Both clients and the real service: every operation, the errors by their codes, and what lies between them breaking.

`test/client-python/suite.test.ts` starts the service and says in PLATEN_TEST_SERVICE where it is. Without it these tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from queue import Queue
from typing import Any
from uuid import uuid4

import httpx
import pytest
from conftest import Asked, Connect, Server, reply, serving

from platen_client import BatchEnded, PlatenError, RenderEnded, WebhookEvent, WebhookTest, verify_webhook

SERVICE: dict[str, str] = json.loads(os.environ.get("PLATEN_TEST_SERVICE", "{}"))
pytestmark = pytest.mark.skipif(not SERVICE, reason="no service was started")

ULID = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"


def invoice(rows: int) -> dict[str, object]:
    return {"number": "2026-0042", "rows": [{"name": f"row {number}"} for number in range(rows)]}


@pytest.fixture
def client(connect: Connect) -> Any:
    return connect(SERVICE["url"], SERVICE["acme"])


def error_of(call: Callable[..., Any], *args: Any, **options: Any) -> PlatenError:
    with pytest.raises(PlatenError) as caught:
        call(*args, **options)
    return caught.value


def eventually(is_so: Callable[[], bool]) -> None:
    """Asks until it is so, and fails if it never is."""
    ends_at = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < ends_at
        time.sleep(0.05)


class TestACaller:
    def test_renders_a_pdf_at_once(self, client: Any) -> None:
        result = client.render("invoice", invoice(3), options={"filename": "faktura-żółta.pdf"})
        assert result.pdf.startswith(b"%PDF-")
        assert result.pdf.rstrip().endswith(b"%%EOF")
        assert re.fullmatch(ULID, result.render_id)
        assert result.render_ms > 0
        assert (result.pages, result.warning_count) == (1, 0)
        assert (result.filename, result.is_replayed, result.quota) == ("faktura-żółta.pdf", False, None)

    def test_has_a_pdf_rendered_waits_for_it_and_downloads_it(self, client: Any) -> None:
        accepted = client.render_async("invoice", invoice(2))
        assert accepted.poll_url == f"/api/v1/render/{accepted.render_id}"
        record = client.wait_for_render(accepted.render_id)
        assert (record["status"], record["template"]) == ("succeeded", "invoice")
        assert client.get_render(accepted.render_id)["status"] == "succeeded"
        pdf = client.download_pdf(record)
        assert len(pdf) == record["pdf_size_bytes"]
        assert client.get_pdf(accepted.render_id) == pdf

    def test_does_all_of_that_in_one_call(self, client: Any) -> None:
        result = client.render_and_wait("invoice", invoice(2), options={"filename": "a b.pdf"})
        assert result.pdf == client.get_pdf(result.render_id)
        assert (result.filename, result.render_ms, result.is_replayed) == ("a b.pdf", None, False)
        assert client.get_render(result.render_id)["status"] == "succeeded"

    def test_renders_into_a_file(self, client: Any, tmp_path: Path) -> None:
        result = client.render_to_file("invoice", invoice(1), tmp_path / "a.pdf")
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.pdf": result.pdf}
        assert error_of(client.render_to_file, "none", {}, tmp_path / "b.pdf").code == "TEMPLATE_NOT_FOUND"
        assert [path.name for path in tmp_path.iterdir()] == ["a.pdf"]

    def test_cancels_a_render_that_has_not_ended_and_removes_one_that_has(self, client: Any) -> None:
        running = client.render_async("busy", {"rounds": 10**15}).render_id
        canceled = client.delete_render(running)
        assert (canceled["render_id"], canceled["error"]["code"]) == (running, "canceled")
        assert client.delete_render(running) == canceled
        ended = client.render("invoice", invoice(1)).render_id
        assert [client.delete_render(ended) for _ in range(2)] == [None, None]
        assert error_of(client.get_render, ended).code == "RENDER_EXPIRED"
        assert error_of(client.delete_render, "none").code == "RENDER_NOT_FOUND"

    def test_finds_the_renders_of_a_reference_page_by_page(self, client: Any) -> None:
        labels = {"reference": f"order {uuid4()}/é", "metadata": {"customer": "c-17"}}
        since = datetime.now(timezone.utc)
        ids = [client.render_async("invoice", invoice(1), **labels).render_id for _ in range(3)][::-1]
        for render_id in ids:
            assert labels.items() <= client.wait_for_render(render_id).items()
        filters = {"reference": labels["reference"], "created_after": since, "engine": "react_pdf"}
        page = client.list_renders(limit=2, **filters)
        assert [render["render_id"] for render in page.renders] == ids[:2]
        rest = client.list_renders(limit=2, cursor=page.next_cursor, **filters)
        assert ([render["render_id"] for render in rest.renders], rest.next_cursor) == (ids[2:], None)
        assert [render["render_id"] for render in client.all_renders(limit=1, **filters)] == ids
        assert list(client.all_renders(**filters, created_before=since)) == []
        assert error_of(client.list_renders, cursor="x").code == "INVALID_PAYLOAD"

    def test_has_many_rendered_by_one_request(self, client: Any) -> None:
        key, reference = str(uuid4()), f"batch {uuid4()}"
        items = [{"data": invoice(rows), "reference": f"o-{rows}", "filename": f"{rows}.pdf"} for rows in range(3)]
        batch = client.create_batch(
            "invoice", items, idempotency_key=key, reference=reference, options={"locale": "pl"}
        )
        assert (batch.total, batch.poll_url, batch.is_replayed) == (3, f"/api/v1/batches/{batch.batch_id}", False)
        again = client.create_batch(
            "invoice", items, idempotency_key=key, reference=reference, options={"locale": "pl"}
        )
        assert (again.batch_id, again.is_replayed) == (batch.batch_id, True)
        record = client.wait_for_batch(batch.batch_id)
        assert (record["total"], record["succeeded"], record["reference"]) == (3, 3, reference)
        assert client.get_batch(batch.batch_id) == record
        renders = list(client.all_renders(batch=batch.batch_id, limit=2))
        assert sorted(render["reference"] for render in renders) == ["o-0", "o-1", "o-2"]
        assert {render["batch_id"] for render in renders} == {batch.batch_id}
        assert client.get_pdf(renders[0]["render_id"]).startswith(b"%PDF-")

    def test_has_all_of_a_batch_rendered_or_nothing(self, client: Any) -> None:
        items = [{"data": invoice(1)}, {"data": {**invoice(1), "number": 7}}]
        error = error_of(client.create_batch, "invoice", items)
        assert (error.code, error.details[0]["path"]) == ("VALIDATION_FAILED", "/items/1/data/number")
        assert error_of(client.create_batch, "invoice", []).code == "INVALID_PAYLOAD"
        assert error_of(client.wait_for_batch, "none").code == "BATCH_NOT_FOUND"

    def test_asks_twice_under_one_key_and_gets_one_render(self, client: Any) -> None:
        key = str(uuid4())
        first = client.render("invoice", invoice(1), idempotency_key=key)
        second = client.render("invoice", invoice(1), idempotency_key=key)
        assert (second.render_id, second.is_replayed) == (first.render_id, True)
        other = error_of(client.render, "invoice", invoice(2), idempotency_key=key)
        assert other.code == "IDEMPOTENCY_MISMATCH"

    def test_reads_what_it_has_used_and_what_is_left(self, connect: Connect) -> None:
        client = connect(SERVICE["url"], SERVICE["metered"])
        quota = client.render("invoice", invoice(1)).quota
        accepted = client.render_async("invoice", invoice(1))
        assert (quota.limit, accepted.quota.remaining) == (8, quota.remaining - 1)
        usage = client.get_usage()
        assert usage["used"] + usage["reserved"] + usage["remaining"] == usage["limit"] == 8
        assert "sync key" in [f"{rate['renders']} {rate['per']}" for rate in usage["rates"]]

    def test_reads_templates(self, client: Any) -> None:
        page = client.list_templates(per_page=3)
        assert ([each["code"] for each in page.templates], page.total) == (["broken", "busy", "invoice"], 4)
        assert client.list_templates(page=page.next_page, per_page=3).next_page is None
        codes = [each["code"] for each in client.all_templates(per_page=1)]
        assert codes == ["broken", "busy", "invoice", "page-only"]
        assert client.get_template("invoice")["engine"] == "react_pdf"


class TestAnError:
    def test_says_its_code_and_who_to_ask(self, client: Any, connect: Connect) -> None:
        stranger = connect(SERVICE["url"], f"service_live_{'z' * 43}")
        refused = error_of(stranger.render, "invoice", invoice(1))
        assert (refused.code, refused.reason, refused.status) == ("UNAUTHORIZED", "unauthorized", 401)
        unknown = error_of(client.render, "none", {})
        assert (unknown.code, unknown.status) == ("TEMPLATE_NOT_FOUND", 404)
        assert unknown.request_id is not None

    def test_names_the_fields_that_are_at_fault(self, client: Any) -> None:
        error = error_of(client.render, "invoice", {"number": 7, "rows": []})
        assert (error.code, error.status) == ("VALIDATION_FAILED", 422)
        assert [(each["in"], each["path"]) for each in error.details] == [("body", "/data/number")]

    def test_of_a_rate_says_when_the_next_render_is_admitted(self, connect: Connect, request: Any) -> None:
        # A rate is of a minute, so each kind of client has a key of its own.
        key = SERVICE["narrow_test" if "asyncio" in request.node.name else "narrow_live"]
        client = connect(SERVICE["url"], key, retries=0)
        for _ in range(3):
            client.render("invoice", invoice(1))
        error = error_of(client.render, "invoice", invoice(1))
        assert (error.code, error.status) == ("RATE_LIMITED", 429)
        assert error.retry_after is not None
        assert error.retry_after > 0

    def test_of_a_render_that_fails_has_its_code_and_its_id(self, client: Any) -> None:
        sync = error_of(client.render, "broken", {})
        assert (sync.code, sync.message.split(":")[0]) == ("INTERNAL_ERROR", "template_error")
        waited = error_of(client.wait_for_render, sync.render_id)
        assert (waited.code, waited.render_id) == ("template_error", sync.render_id)
        assert error_of(client.render_and_wait, "broken", {}).code == "template_error"


Fault = str | int | None


class TestALineThatBreaks:
    """Between the client and the service: cuts connections before or after the service has the request, or answers as proxies do."""

    @pytest.fixture
    def line(self) -> Iterator[tuple[Server, list[Fault]]]:
        faults: list[Fault] = []

        def forward(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
            fault = faults.pop(0) if faults else None
            if fault == "cut before":
                handler.close_connection = True
                return
            if isinstance(fault, int):
                reply(handler, fault, b"<html>", {"retry-after": "0"})
                return
            headers = {name: value for name, value in asked.headers.items() if name not in {"host", "connection"}}
            url = SERVICE["url"] + asked.path
            answer = httpx.request(asked.method, url, headers=headers, content=asked.body, timeout=120)
            if fault == "cut after":
                handler.close_connection = True
                return
            kept = {name: value for name, value in answer.headers.items() if name not in {"connection", "keep-alive"}}
            kept.pop("transfer-encoding", None)
            size = {"content-length": str(len(answer.content))}
            reply(handler, answer.status_code, answer.content, {**kept, **size})

        with serving(forward) as server:
            yield server, faults

    @pytest.mark.parametrize(
        "sequence",
        [["cut before"], ["cut after"], ["cut after", "cut after", "cut before"], [502, 503], [504, 429, "cut after"]],
    )
    def test_costs_no_second_render(
        self, line: tuple[Server, list[Fault]], connect: Connect, sequence: Sequence[Fault]
    ) -> None:
        server, faults = line
        faults.extend(sequence)
        client = connect(server.url, SERVICE["acme"])
        reference = str(uuid4())
        result = client.render("invoice", invoice(1), reference=reference)
        assert result.is_replayed == ("cut after" in sequence)
        assert len(server.asked) == len(sequence) + 1
        assert len({asked.headers["idempotency-key"] for asked in server.asked}) == 1
        # A sync caller has its PDF before the render is recorded.
        client.wait_for_render(result.render_id)
        assert [each["render_id"] for each in client.all_renders(reference=reference)] == [result.render_id]

    def test_in_every_step_of_a_wait_is_passed(self, line: tuple[Server, list[Fault]], connect: Connect) -> None:
        server, faults = line
        faults.extend(["cut after", None, 502, None])
        result = connect(server.url, SERVICE["acme"]).render_and_wait("invoice", invoice(1))
        assert (result.pdf[:5], result.is_replayed, faults) == (b"%PDF-", True, [])
        assert server.asked[-2].path == f"/api/v1/render/{result.render_id}?wait=10"

    def test_again_and_again_is_told_as_what_it_is(self, line: tuple[Server, list[Fault]], connect: Connect) -> None:
        server, faults = line
        faults.extend(["cut before", "cut before"])
        error = error_of(connect(server.url, SERVICE["acme"], retries=1).get_usage)
        assert (error.code, error.status, len(server.asked)) == ("NETWORK_ERROR", None, 2)
        faults.extend([502, 502])
        error = error_of(connect(server.url, SERVICE["acme"], retries=1).get_usage)
        assert (error.code, error.status, len(server.asked)) == ("INVALID_ANSWER", 502, 4)

    def test_never_asks_for_a_delivery_twice(self, line: tuple[Server, list[Fault]], connect: Connect) -> None:
        server, faults = line
        faults.append("cut before")
        assert error_of(connect(server.url, SERVICE["acme"]).redeliver, str(uuid4())).code == "NETWORK_ERROR"
        assert len(server.asked) == 1


class TestAReceiver:
    @pytest.mark.parametrize(("template", "event"), [("invoice", "render.succeeded"), ("broken", "render.failed")])
    def test_verifies_what_the_service_sends(self, client: Any, template: str, event: str) -> None:
        received: Queue[WebhookEvent] = Queue()

        def receive(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
            event = verify_webhook(asked.body, asked.headers, SERVICE["secret"], scheme="standard")
            assert verify_webhook(asked.body, asked.headers, SERVICE["secret"], scheme="service") == event
            # As its framework has them, too.
            assert verify_webhook(asked.body, handler.headers, ["another", SERVICE["secret"]]) == event
            reply(handler, 204)
            received.put(event)

        data = invoice(1) if template == "invoice" else {}
        with serving(receive) as receiver:
            accepted = client.render_async(template, data, webhook_url=f"{receiver.url}/hook", reference="o-1")
            first = received.get(timeout=120)
            assert isinstance(first, RenderEnded)
            assert (first.type, first.render_id, first.data["template"]) == (event, accepted.render_id, template)
            (delivery,) = client.list_deliveries(accepted.render_id)
            assert (delivery["id"], delivery["event"]) == (first.delivery_id, event)
            assert client.redeliver(delivery["id"])["id"] == delivery["id"]
            second = received.get(timeout=120)
            assert (second.delivery_id, second.data) == (first.delivery_id, first.data)

    def test_is_told_once_of_a_batch(self, client: Any) -> None:
        received: Queue[WebhookEvent] = Queue()

        def receive(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
            received.put(verify_webhook(asked.body, asked.headers, SERVICE["secret"]))
            reply(handler, 204)

        with serving(receive) as receiver:
            items = [{"data": invoice(1)}, {"data": invoice(2)}]
            batch = client.create_batch("invoice", items, webhook_url=f"{receiver.url}/hook")
            event = received.get(timeout=120)
            assert isinstance(event, BatchEnded)
            assert (event.batch_id, event.data["total"], event.data["failed"]) == (batch.batch_id, 2, 0)
            delivery = client.get_delivery(event.delivery_id)
            assert (delivery["event"], delivery["batch_id"]) == ("batch.ended", batch.batch_id)
        assert received.empty()

    def test_is_tested_without_a_render(self, client: Any) -> None:
        received: Queue[WebhookEvent] = Queue()

        def receive(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
            received.put(verify_webhook(asked.body, asked.headers, SERVICE["secret"], scheme="standard"))
            reply(handler, 204 if asked.path == "/hook" else 401)

        with serving(receive) as receiver:
            delivery = client.test_webhook(f"{receiver.url}/hook")
            event = received.get(timeout=120)
            assert isinstance(event, WebhookTest)
            assert (event.type, event.delivery_id, event.data["id"]) == ("webhook.test", delivery["id"], delivery["id"])
            assert (delivery["status"], delivery["attempts"][0]["status_code"]) == ("delivered", 204)
            assert client.get_delivery(delivery["id"]) == delivery
            refused = client.test_webhook(f"{receiver.url}/other")
            assert (refused["status"], refused["attempts"][0]["status_code"]) == ("exhausted", 401)
        assert error_of(client.test_webhook, "ftp://example.com").code == "INVALID_PAYLOAD"

    def test_finds_what_did_not_arrive(self, client: Any) -> None:
        def gone(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
            reply(handler, 410)
            answered.put(asked)

        answered: Queue[Asked] = Queue()
        reference = f"order {uuid4()}/é"
        since = datetime.now(timezone.utc)
        with serving(gone) as receiver:
            asked = {"webhook_url": f"{receiver.url}/hook", "reference": reference}
            ids = [client.render("invoice", invoice(1), **asked).render_id for _ in range(3)][::-1]
            for _ in ids:
                answered.get(timeout=120)
        filters = {"status": "gone", "reference": reference, "created_after": since}
        # An answer is recorded shortly after it came.
        eventually(lambda: len(list(client.all_deliveries(**filters))) == len(ids))
        page = client.list_all_deliveries(limit=2, **filters)
        rest = client.list_all_deliveries(limit=2, cursor=page.next_cursor, **filters)
        assert [each["render_id"] for each in page.deliveries + rest.deliveries] == ids
        assert rest.next_cursor is None
        assert [each["render_id"] for each in client.all_deliveries(limit=1, **filters)] == ids
        assert list(client.all_deliveries(**{**filters, "status": "delivered"})) == []
        found = client.get_delivery(rest.deliveries[0]["id"])
        assert (found["render_id"], found["url"], found["status"]) == (ids[2], asked["webhook_url"], "gone")
        assert error_of(client.get_delivery, str(uuid4())).code == "DELIVERY_NOT_FOUND"
        assert error_of(client.list_all_deliveries, cursor="x").code == "INVALID_PAYLOAD"
