"""What each operation sends, and what it makes of the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from conftest import BROKEN, KEY, RENDER_ID, Script, answer, refusal

from platen_client import AwaitedPdf, Platen, PlatenError, Quota, Rate, RenderedPdf, operation, wire
from platen_client._call import Answer, Flow, Request, Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

BATCH_ID = "01KAJHYV7NF3S8G9TWQ2MZXC4R"
PDF = answer(
    200,
    b"%PDF-1.7",
    content_type="application/pdf",
    x_service_render_id=RENDER_ID,
    x_service_render_ms="42",
    x_service_pages="3",
    x_service_warnings="0",
    x_service_quota_limit="100",
    x_service_quota_remaining="99",
    content_disposition="inline; filename=\"za____.pdf\"; filename*=UTF-8''za%C5%BC%C3%B3%C5%82%C4%87.pdf",
)
ACCEPTED = answer(202, {"render_id": RENDER_ID, "status": "queued", "poll_url": f"/api/v1/render/{RENDER_ID}"})
RENDER = {"template": "invoice", "data": {"number": "ż"}, "mode": "sync"}


def record(status: str, **fields: object) -> Answer:
    return answer(200, {"render_id": RENDER_ID, "status": status, "created_at": "now", **fields})


def rendered(script: Script, **fields: Unpack[wire.RenderFields]) -> RenderedPdf:
    request = operation.render_request(script.settings, RENDER, fields, None)
    return script.run(operation.render(script.settings, request, None))


class TestRender:
    def test_is_sent_as_the_service_takes_it_and_returns_all_that_is_said_of_it(self) -> None:
        script = Script([PDF])
        request = operation.render_request(script.settings, RENDER, {"reference": "o-1", "options": {}}, "order-1")
        assert script.run(operation.render(script.settings, request, None)) == RenderedPdf(
            b"%PDF-1.7", RENDER_ID, 42, "zażółć.pdf", False, Quota(100, 99), 3, 0
        )
        assert (request.method, request.url) == ("POST", "https://pdf.example.com/api/v1/render")
        assert json.loads(request.body or b"") == {**RENDER, "reference": "o-1", "options": {}}
        assert "ż".encode() in (request.body or b"")
        assert request.headers == {"idempotency-key": "order-1", "content-type": "application/json"}

    def test_has_a_key_of_its_own_in_all_its_attempts_and_another_one_the_next_time(self) -> None:
        script = Script([BROKEN, PDF])
        rendered(script)
        rendered(script)
        keys = [request.headers["idempotency-key"] for request in script.asked]
        assert keys[0] == keys[1] != keys[2]
        assert len(keys[0]) == 36

    def test_leaves_out_what_is_none(self) -> None:
        script = Script([PDF])
        rendered(script, engine=None, metadata={"a": "b"})  # type: ignore[arg-type]
        assert json.loads(script.asked[0].body or b"") == {**RENDER, "metadata": {"a": "b"}}

    def test_has_the_word_of_the_brand_in_its_headers(self) -> None:
        pdf = answer(200, b"%PDF-", content_type="application/pdf", x_acme_render_id=RENDER_ID)
        result = rendered(Script([pdf], brand="acme"))
        assert (result.render_id, result.render_ms, result.filename, result.quota) == (RENDER_ID, None, None, None)
        with pytest.raises(PlatenError, match="INVALID_ANSWER"):
            rendered(Script([pdf]))

    @pytest.mark.parametrize("key", ["", "x" * 256, "a\n", "ż"])
    def test_refuses_a_key_that_no_header_can_have(self, key: str) -> None:
        with pytest.raises(ValueError, match="idempotency_key"):
            operation.render_request(Script([]).settings, RENDER, {}, key)

    @pytest.mark.parametrize(
        ("data", "fault"),
        [
            ({"a": float("nan")}, ValueError),
            ({"a": datetime.now(timezone.utc)}, TypeError),
            ({"a": "\ud800"}, ValueError),
        ],
    )
    def test_refuses_data_that_is_no_json(self, data: object, fault: type[Exception]) -> None:
        with pytest.raises(fault):
            operation.render_request(Script([]).settings, {**RENDER, "data": data}, {}, None)

    def test_refuses_a_field_that_there_is_not(self) -> None:
        with pytest.raises(TypeError, match="colour, mode"):
            operation.render_request(Script([]).settings, RENDER, {"mode": "async", "colour": 1}, None)  # type: ignore[typeddict-unknown-key]

    def test_shows_its_bytes_in_no_repr(self) -> None:
        assert "%PDF" not in repr(rendered(Script([PDF])))

    def test_that_was_accepted_is_told_by_its_id(self) -> None:
        script = Script([ACCEPTED])
        request = operation.render_request(script.settings, RENDER, {}, None)
        accepted = script.run(operation.render_async(script.settings, request, None))
        assert accepted == operation.AcceptedRender(RENDER_ID, f"/api/v1/render/{RENDER_ID}", False, None)
        with pytest.raises(PlatenError, match="INVALID_ANSWER"):
            script = Script([answer(202, {"render_id": RENDER_ID})])
            script.run(operation.render_async(script.settings, request, None))


class TestRenderToFile:
    @staticmethod
    def write(script: Script, path: Path) -> RenderedPdf:
        request = operation.render_request(script.settings, RENDER, {}, None)
        return script.run(operation.render_to_file(script.settings, request, path, None))

    def test_replaces_the_file_as_a_whole(self, tmp_path: Path) -> None:
        path = tmp_path / "a.pdf"
        path.write_bytes(b"older and longer")
        assert self.write(Script([PDF]), path).render_id == RENDER_ID
        assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"a.pdf": b"%PDF-1.7"}
        (tmp_path / "usual").touch()
        assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode

    def test_leaves_everything_as_it_was_after_an_error(self, tmp_path: Path) -> None:
        path = tmp_path / "a.pdf"
        path.write_bytes(b"older")
        with pytest.raises(PlatenError):
            self.write(Script([refusal(422, "VALIDATION_FAILED")]), path)
        assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"a.pdf": b"older"}

    def test_leaves_nothing_behind_when_it_is_given_up(self, tmp_path: Path) -> None:
        script = Script([PDF])
        request = operation.render_request(script.settings, RENDER, {}, None)
        flow = operation.render_to_file(script.settings, request, tmp_path / "a.pdf", None)
        next(flow)
        assert len(list(tmp_path.iterdir())) == 1
        flow.close()
        assert list(tmp_path.iterdir()) == []

    def test_asks_for_nothing_that_it_cannot_write(self, tmp_path: Path) -> None:
        script = Script([PDF])
        for path in (tmp_path, tmp_path / "none" / "a.pdf"):
            with pytest.raises(OSError, match=r"folder|No such"):
                self.write(script, path)
        assert script.asked == []


def waited(request: Request) -> float:
    """How long the service is asked to wait before it answers."""
    return float(httpx.URL(request.url).params.get("wait", 0))


class TestWaiting:
    def test_polls_ever_more_slowly_until_it_has_succeeded(self) -> None:
        script = Script([*[record("queued")] * 10, record("running"), record("succeeded", pdf_url="https://x")])
        assert script.run(operation.wait_for_render(script.settings, RENDER_ID, None))["pdf_url"] == "https://x"
        assert script.waits[0] == 0.2
        assert script.waits == sorted(script.waits)
        assert script.waits[-1] == 5.0

    def test_asks_the_service_to_answer_at_the_end(self) -> None:
        script = Script([record("queued"), record("running"), record("succeeded")], answer_seconds=waited)
        assert script.run(operation.wait_for_render(script.settings, RENDER_ID, None))["status"] == "succeeded"
        assert [waited(request) for request in script.asked] == [10.0] * 3
        # It has waited there, so it asks again at once.
        assert script.waits == [0.0] * 2

    def test_leaves_the_service_time_to_answer_before_it_ends(self) -> None:
        script = Script([record("running")], answer_seconds=waited)
        with pytest.raises(PlatenError, match="TIMED_OUT"):
            script.run(operation.wait_for_render(script.settings, RENDER_ID, 15.5))
        assert [waited(request) for request in script.asked][:3] == [10.0, 4.0, 0.0]
        assert all(waited(each) < left for each, left in zip(script.asked, script.timeouts, strict=True))

    def test_raises_the_code_of_a_failure(self) -> None:
        error = {"code": "render_timeout", "reason": "render_timeout", "message": "too long"}
        script = Script([record("failed", error=error)])
        with pytest.raises(PlatenError, match="render_timeout: too long") as caught:
            script.run(operation.wait_for_render(script.settings, RENDER_ID, None))
        assert (caught.value.render_id, caught.value.status, caught.value.reason) == (RENDER_ID, None, "render_timeout")

    def test_ends_with_its_time(self) -> None:
        script = Script([record("running")])
        with pytest.raises(PlatenError, match="TIMED_OUT: the render is running after 3 seconds") as caught:
            script.run(operation.wait_for_render(script.settings, RENDER_ID, 3.0))
        assert caught.value.render_id == RENDER_ID
        assert sum(script.waits) < 3

    def test_of_a_new_render_is_one_call_with_one_time(self) -> None:
        pdf = answer(
            200, b"%PDF-", content_type="application/pdf", content_disposition='inline; filename="a \\"b\\".pdf"'
        )
        warnings = [{"code": "text_overflow", "message": "a text"}]
        ended = record("succeeded", pdf_url="https://x", pages=2, warnings=warnings, warnings_omitted=3)
        script = Script([BROKEN, ACCEPTED, record("queued"), BROKEN, ended, pdf])
        request = operation.render_request(script.settings, {**RENDER, "mode": "async"}, {}, None)
        result = script.run(operation.render_and_wait(script.settings, request, 60.0))
        about = RenderedPdf(b"%PDF-", RENDER_ID, None, 'a "b".pdf', False, None, 2, 4)
        assert result == AwaitedPdf(**vars(about), record=json.loads(ended.body))
        assert [request.url.removeprefix(script.settings.root) for request in script.asked] == [
            *["/render"] * 2,
            *[f"/render/{RENDER_ID}?wait=10"] * 3,
            f"/render/{RENDER_ID}/pdf",
        ]
        assert script.timeouts == sorted(script.timeouts, reverse=True)
        assert sum(script.waits) == pytest.approx(60 - script.timeouts[-1])


class TestABatch:
    @staticmethod
    def created(script: Script, items: Any, **fields: Unpack[wire.BatchFields]) -> operation.AcceptedBatch:
        request = operation.batch_request(script.settings, "invoice", items, fields, "batch-1")
        return script.run(operation.create_batch(script.settings, request, None))

    def test_is_sent_as_the_service_takes_it(self) -> None:
        accepted = {"batch_id": BATCH_ID, "status": "processing", "total": 2, "poll_url": f"/api/v1/batches/{BATCH_ID}"}
        script = Script([BROKEN, answer(202, accepted, x_service_quota_limit="9", x_service_quota_remaining="7")])
        items = tuple({"data": {"number": number}, "reference": "ż"} for number in ("1", "2"))
        result = self.created(script, items, engine=None, reference="b-1")  # type: ignore[arg-type]
        assert result == operation.AcceptedBatch(BATCH_ID, 2, f"/api/v1/batches/{BATCH_ID}", False, Quota(9, 7))
        # It has the key in all its attempts.
        first, second = script.asked
        assert first == second
        assert (first.method, first.url) == ("POST", "https://pdf.example.com/api/v1/batches")
        assert first.headers == {"idempotency-key": "batch-1", "content-type": "application/json"}
        sent = [{"data": {"number": number}, "reference": "ż"} for number in ("1", "2")]
        assert json.loads(first.body or b"") == {"template": "invoice", "reference": "b-1", "items": sent}

    @pytest.mark.parametrize("missing", ["batch_id", "total", "poll_url"])
    def test_that_nobody_accepted_is_told_apart(self, missing: str) -> None:
        accepted = {"batch_id": BATCH_ID, "total": 2, "poll_url": "/x", missing: None}
        with pytest.raises(PlatenError, match="INVALID_ANSWER"):
            self.created(Script([answer(202, accepted)]), [{"data": {}}])

    def test_has_no_field_that_there_is_not(self) -> None:
        with pytest.raises(TypeError, match="mode"):
            self.created(Script([]), [{"data": {}}], mode="async")  # type: ignore[call-arg]

    def test_is_polled_until_it_has_ended(self) -> None:
        waiting = answer(200, {"batch_id": BATCH_ID, "status": "processing"})
        script = Script([waiting, BROKEN, waiting, answer(200, {"batch_id": BATCH_ID, "status": "ended", "failed": 1})])
        assert script.run(operation.wait_for_batch(script.settings, BATCH_ID, None))["failed"] == 1
        assert {request.url for request in script.asked} == {f"{script.settings.root}/batches/{BATCH_ID}"}
        script = Script([waiting])
        with pytest.raises(PlatenError, match="TIMED_OUT: the batch is processing after 3 seconds"):
            script.run(operation.wait_for_batch(script.settings, BATCH_ID, 3.0))


def test_a_download_is_from_a_foreign_host() -> None:
    script = Script([answer(200, b"%PDF-", content_type="application/pdf")])
    succeeded: Any = {"pdf_url": "https://storage.example.com/x.pdf?signature=1"}
    assert script.run(operation.download_pdf(script.settings, succeeded, None)) == b"%PDF-"
    assert (script.asked[0].url, script.asked[0].is_foreign) == (succeeded["pdf_url"], True)
    waiting: Any = {"status": "queued"}
    with pytest.raises(ValueError, match="pdf_url"):
        script.run(operation.download_pdf(script.settings, waiting, None))


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        (answer(204, b""), None),
        (refusal(410, "RENDER_EXPIRED"), None),
        (answer(200, {"render_id": "r", "status": "failed"}), {"render_id": "r", "status": "failed"}),
    ],
)
def test_a_render_that_is_deleted_is_canceled_or_removed(reply: Answer, result: object) -> None:
    script = Script([BROKEN, reply])
    assert script.run(operation.delete_render(script.settings, RENDER_ID, None)) == result
    assert {request.method for request in script.asked} == {"DELETE"}
    with pytest.raises(PlatenError, match="RENDER_NOT_FOUND"):
        script = Script([refusal(404, "RENDER_NOT_FOUND")])
        script.run(operation.delete_render(script.settings, RENDER_ID, None))


def test_renders_are_listed_by_their_filters() -> None:
    script = Script([answer(200, {"renders": [{"render_id": RENDER_ID}], "next_cursor": "c"})])
    after = datetime(2026, 11, 25, 12, tzinfo=timezone(timedelta(hours=1)))
    filters: operation.RenderFilters = {"reference": "o 1/é", "created_after": after}
    page = script.run(operation.list_renders(script.settings, filters, 2, None, None))
    assert [render["render_id"] for render in page.renders] == [RENDER_ID]
    assert page.next_cursor == "c"
    query = "reference=o+1%2F%C3%A9&created_after=2026-11-25T11%3A00%3A00.000Z&limit=2"
    assert script.asked[0].url == f"https://pdf.example.com/api/v1/renders?{query}"
    naive: operation.RenderFilters = {"created_after": after.replace(tzinfo=None)}
    with pytest.raises(ValueError, match="time zone"):
        script.run(operation.list_renders(script.settings, naive, None, None, None))
    with pytest.raises(TypeError, match="colour"):
        script.run(operation.list_renders(script.settings, {"colour": 1}, None, None, None))  # type: ignore[typeddict-unknown-key]


def test_deliveries_of_all_renders_are_listed_by_their_filters() -> None:
    script = Script([answer(200, {"deliveries": [{"id": "d"}], "next_cursor": "c"})])
    filters: operation.DeliveryFilters = {"status": "exhausted", "reference": "o 1"}
    page = script.run(operation.list_all_deliveries(script.settings, filters, 2, "b", None))
    assert (page.deliveries, page.next_cursor) == ([{"id": "d"}], "c")
    query = "status=exhausted&reference=o+1&limit=2&cursor=b"
    assert script.asked[0].url == f"https://pdf.example.com/api/v1/deliveries?{query}"
    with pytest.raises(TypeError, match="engine"):
        script.run(operation.list_all_deliveries(script.settings, {"engine": "html"}, None, None, None))  # type: ignore[typeddict-unknown-key]


DOCUMENT = json.loads((Path(__file__).parents[3] / "api/openapi.json").read_text(encoding="utf-8"))


def test_there_is_a_method_for_each_operation_of_the_service() -> None:
    operations = [each for path, item in DOCUMENT["paths"].items() if "/api/v1/" in path for each in item.values()]
    names = {re.sub("(?=[A-Z])", "_", each["operationId"]).lower() for each in operations}
    # That one is `render` and `render_async`.
    assert names - set(dir(Platen)) == {"create_render"}


@pytest.mark.parametrize(
    ("path", "filters"), [("renders", operation.RenderFilters), ("deliveries", operation.DeliveryFilters)]
)
def test_the_filters_are_those_of_the_service(path: str, filters: type) -> None:
    parameters = DOCUMENT["paths"][f"/api/v1/{path}"]["get"]["parameters"]
    names = {parameter["name"] for parameter in parameters}
    assert names == {*filters.__annotations__, "limit", "cursor"}


@pytest.mark.parametrize(("link", "next_page"), [('</x?page=4>; rel="next"', 4), ('</x?page=2>; rel="prev"', None)])
def test_templates_are_listed_by_the_page(link: str, next_page: int | None) -> None:
    script = Script([answer(200, {"templates": [{"code": "a"}]}, x_total_count="7", link=link)])
    page = script.run(operation.list_templates(script.settings, 3, 2, None))
    assert [template["code"] for template in page.templates] == ["a"]
    assert (page.total, page.next_page) == (7, next_page)
    assert script.asked[0].url == "https://pdf.example.com/api/v1/templates?page=3&per_page=2"


Operation = Callable[[Settings, str, None], Flow[object]]
BY_ID: list[tuple[Operation, str]] = [
    (operation.get_render, "GET /render/{}"),
    (operation.get_pdf, "GET /render/{}/pdf"),
    (operation.get_template, "GET /templates/{}"),
    (operation.list_deliveries, "GET /render/{}/deliveries"),
    (operation.get_batch, "GET /batches/{}"),
    (operation.get_delivery, "GET /deliveries/{}"),
    (operation.redeliver, "POST /deliveries/{}/redeliver"),
]


@pytest.mark.parametrize(("by_id", "place"), BY_ID)
def test_an_id_is_a_part_of_a_path_and_nothing_else(by_id: Operation, place: str) -> None:
    ids = dict.fromkeys(("id", "render_id", "batch_id", "code", "status"), "x")
    record = answer(200, {**ids, "version": 1, "deliveries": []})
    script = Script([PDF if by_id is operation.get_pdf else record])
    script.run(by_id(script.settings, "../a?b=ż", None))
    sent = f"{script.asked[0].method} {script.asked[0].url.removeprefix(script.settings.root)}"
    assert sent == place.format("..%2Fa%3Fb%3D%C5%BC")
    for nothing in ("", ".", ".."):
        with pytest.raises(ValueError, match="not an id"):
            script.run(by_id(script.settings, nothing, None))


@pytest.mark.parametrize("once", [operation.redeliver, operation.test_webhook])
def test_a_delivery_is_never_asked_for_twice(once: Operation) -> None:
    script = Script([BROKEN])
    with pytest.raises(PlatenError, match="NETWORK_ERROR"):
        script.run(once(script.settings, RENDER_ID, None))
    assert len(script.asked) == 1


def test_a_receiver_is_tested_by_its_url() -> None:
    script = Script([answer(202, {"id": "d", "status": "scheduled"})])
    delivery = script.run(operation.test_webhook(script.settings, "https://example.com/ż", None))
    assert delivery["status"] == "scheduled"
    (request,) = script.asked
    assert (request.method, request.url) == ("POST", "https://pdf.example.com/api/v1/webhooks/test")
    assert json.loads(request.body or b"") == {"url": "https://example.com/ż"}


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}"])
def test_an_answer_of_somebody_else_is_told_apart(body: bytes) -> None:
    script = Script([answer(200, body)])
    with pytest.raises(PlatenError, match="INVALID_ANSWER"):
        script.run(operation.list_deliveries(script.settings, RENDER_ID, None))


def test_the_key_is_in_no_repr() -> None:
    script = Script([PDF])
    rendered(script)
    assert KEY not in repr([script.settings, script.asked])


def pdf_calls(settings: Settings) -> dict[str, Callable[[], Flow[Any]]]:
    """Every call that gives a PDF."""

    def request(mode: str) -> Request:
        return operation.render_request(settings, {**RENDER, "mode": mode}, {}, None)

    succeeded: Any = {"pdf_url": "https://storage.example.com/x.pdf"}
    return {
        "render": lambda: operation.render(settings, request("sync"), None),
        "render_and_wait": lambda: operation.render_and_wait(settings, request("async"), None),
        "get_pdf": lambda: operation.get_pdf(settings, RENDER_ID, None),
        "download_pdf": lambda: operation.download_pdf(settings, succeeded, None),
    }


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<html>log in</html>", "text/html"),
        (b"<html>log in</html>", "application/pdf"),
        (b"%PDF-1.7", "text/html; charset=utf-8"),
        (b"%PDF-1.7", "application/pdfx"),
        (b"%PDF-1.7", ""),
        (b"", "application/pdf"),
        (b"%PDF", "application/pdf"),
        (b" %PDF-1.7", "application/pdf"),
        (b"%pdf-1.7", "application/pdf"),
    ],
)
@pytest.mark.parametrize("name", ["render", "render_and_wait", "get_pdf", "download_pdf"])
def test_a_200_that_is_no_pdf_is_refused(name: str, body: bytes, kind: str) -> None:
    page = answer(200, body, content_type=kind, x_service_render_id=RENDER_ID, x_request_id="r-1")
    before = [ACCEPTED, record("succeeded", pdf_url="https://x")] if name == "render_and_wait" else []
    script = Script([*before, page])
    with pytest.raises(PlatenError, match="not a PDF") as caught:
        script.run(pdf_calls(script.settings)[name]())
    error = caught.value
    assert (error.code, error.status, error.request_id) == ("INVALID_ANSWER", 200, "r-1")
    assert len(script.asked) == len(before) + 1


def test_a_file_is_never_a_page_of_a_proxy(tmp_path: Path) -> None:
    page = answer(200, b"<html>", content_type="application/pdf", x_service_render_id=RENDER_ID)
    with pytest.raises(PlatenError, match="INVALID_ANSWER"):
        TestRenderToFile.write(Script([page]), tmp_path / "a.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "body", [{}, [], None, 1, "text", {"status": "ok"}, {"renders": {}, "templates": 1, "deliveries": [None]}]
)
def test_json_of_somebody_else_is_refused(body: object) -> None:
    script = Script([answer(200, body)])
    settings = script.settings
    render = operation.render_request(settings, {**RENDER, "mode": "async"}, {}, None)
    batch = operation.batch_request(settings, "invoice", [{"data": {}}], {}, None)
    flows: list[Flow[Any]] = [
        *(by_id(settings, "x", None) for by_id, place in BY_ID if not place.endswith("/pdf")),
        operation.render_async(settings, render, None),
        operation.render_and_wait(settings, render, None),
        operation.wait_for_render(settings, "x", 3.0),
        operation.delete_render(settings, "x", None),
        operation.create_batch(settings, batch, None),
        operation.wait_for_batch(settings, "x", 3.0),
        operation.list_renders(settings, {}, None, None, None),
        operation.list_all_deliveries(settings, {}, None, None, None),
        operation.list_templates(settings, 1, None, None),
        operation.get_usage(settings, None),
        operation.test_webhook(settings, "https://x.example", None),
    ]
    for flow in flows:
        with pytest.raises(PlatenError, match="INVALID_ANSWER"):
            script.run(flow)


def test_an_answer_has_its_rate_and_its_request_id() -> None:
    said = {"x_ratelimit_limit": "60", "x_ratelimit_remaining": "59", "x_request_id": "r-1"}
    rate = Rate(60, 59, "2026-11-21T12:01:00.000Z")
    for reset, expected in [("1795262460", rate), ("9" * 15, None), ("soon", None)]:
        headers = {**said, "x_ratelimit_reset": reset}
        started = {"render_id": RENDER_ID, "batch_id": BATCH_ID, "total": 1, "poll_url": "/x"}
        sync = Answer(200, {**PDF.headers, **{k.replace("_", "-"): v for k, v in headers.items()}}, PDF.body)
        script = Script([sync, *[answer(202, started, **headers)] * 3, record("succeeded", pdf_url="https://x"), PDF])
        request = operation.render_request(script.settings, RENDER, {}, None)
        batch = operation.batch_request(script.settings, "invoice", [{"data": {}}], {}, None)
        results: list[Any] = [
            script.run(operation.render(script.settings, request, None)),
            script.run(operation.render_async(script.settings, request, None)),
            script.run(operation.create_batch(script.settings, batch, None)),
            script.run(operation.render_and_wait(script.settings, request, None)),
        ]
        assert [(result.rate, result.request_id) for result in results] == [(expected, "r-1")] * 4
