"""The client for asyncio. ``_client`` is made from this module: CONTRIBUTING.md names the command."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx

from . import operation, wire
from ._call import Request, Settings, checked_headers, checked_retries, checked_timeout
from ._driver import AsyncDriver
from ._error import edge_fault_of
from .operation import (
    AcceptedBatch,
    AcceptedRender,
    AwaitedPdf,
    DeliveryFilters,
    DeliveryPage,
    RenderedPdf,
    RenderFilters,
    RenderPage,
    TemplatePage,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The largest PDF that the service makes.
PDF_BYTES_MAX = 100 * 1024 * 1024


class AsyncPlaten:
    """
    A client of one tenant. Close it, or use it in ``async with``.

    ``base_url`` is the address of the service: ``https://pdf.example.com``, with or without ``/api/v1`` at the end.
    ``retries`` is how often a call is sent again when the service cannot be reached or answers 429, 502, 503 or 504.
    ``timeout`` is how many seconds a call may take with all its attempts; the default is longer than a sync render of any plan.
    ``pdf_bytes_max`` is the largest PDF that is taken.
    ``brand`` is the word in the service's header names; the operator of the service may have set another.
    ``http_client`` is a client of yours, with proxies or certificates of your own; you close it.

    Every method raises ``PlatenError``. Its ``timeout`` and ``retries`` replace the client's. Its ``headers`` go with each of its requests,
    those to the host of a ``pdf_url`` too; those that the client sets itself, such as ``authorization``, are refused.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        retries: int = 4,
        timeout: float = 150.0,
        pdf_bytes_max: int = PDF_BYTES_MAX,
        brand: str = "service",
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9-]+", brand):
            raise ValueError("brand must be a word")
        if not pdf_bytes_max > 0:
            raise ValueError("pdf_bytes_max must be a number of bytes")
        self._settings = Settings(
            root=_root_of(base_url),
            api_key=_checked_key(api_key),
            brand=brand.lower(),
            retries=checked_retries(retries),
            timeout=checked_timeout(timeout),
            pdf_bytes_max=pdf_bytes_max,
        )
        self._driver = AsyncDriver(self._settings, http_client)

    async def close(self) -> None:
        """Closes the connections."""
        await self._driver.close()

    async def __aenter__(self) -> AsyncPlaten:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def render(
        self,
        template: str,
        data: Mapping[str, object],
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Unpack[wire.RenderFields],
    ) -> RenderedPdf:
        """
        Renders a PDF and waits for it.

        ``data`` must fit the template's ``variables_schema``. ``fields`` are ``engine``, ``options``, ``webhook_url``, ``reference`` and
        ``metadata``. ``idempotency_key`` names this render: a second call with the same key within 24 hours gets the same render. Without
        one, each call has a key of its own.
        """
        request = self._request("sync", template, data, fields, idempotency_key)
        return await self._driver.run(operation.render(self._of(retries, headers), request, timeout))

    async def render_to_file(
        self,
        template: str,
        data: Mapping[str, object],
        path: str | os.PathLike[str],
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Unpack[wire.RenderFields],
    ) -> RenderedPdf:
        """Renders a PDF into a file. The file is there as a whole or not at all; one that exists is replaced."""
        request = self._request("sync", template, data, fields, idempotency_key)
        return await self._driver.run(operation.render_to_file(self._of(retries, headers), request, path, timeout))

    async def render_async(
        self,
        template: str,
        data: Mapping[str, object],
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Unpack[wire.RenderFields],
    ) -> AcceptedRender:
        """Starts a render and does not wait for it. Returns when the service has accepted the render."""
        request = self._request("async", template, data, fields, idempotency_key)
        return await self._driver.run(operation.render_async(self._of(retries, headers), request, timeout))

    async def render_and_wait(
        self,
        template: str,
        data: Mapping[str, object],
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Unpack[wire.RenderFields],
    ) -> AwaitedPdf:
        """
        Starts a render, waits for its end and downloads the PDF: for documents that take longer than one request may.

        ``timeout`` limits all of it; the default is ten minutes.
        """
        request = self._request("async", template, data, fields, idempotency_key)
        return await self._driver.run(operation.render_and_wait(self._of(retries, headers), request, timeout))

    async def get_render(
        self,
        render_id: str,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> wire.RenderRecord:
        """Reads the status record of a render."""
        return await self._driver.run(operation.get_render(self._of(retries, headers), render_id, timeout))

    async def wait_for_render(
        self,
        render_id: str,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> wire.RenderRecord:
        """
        Waits until the render has succeeded, and returns its record. Raises the failure code of a failed render.

        The service is asked to answer when the render has ended. ``timeout`` limits the whole wait; the default is ten minutes.
        """
        return await self._driver.run(operation.wait_for_render(self._of(retries, headers), render_id, timeout))

    async def delete_render(
        self,
        render_id: str,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> wire.RenderRecord | None:
        """
        Cancels a render that waits or runs, and removes the PDF of one that has ended.

        Returns the record of the canceled render, or None if the render is removed, now or before.
        """
        return await self._driver.run(operation.delete_render(self._of(retries, headers), render_id, timeout))

    async def get_pdf(
        self,
        render_id: str,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Downloads the PDF of a render that succeeded, however long ago its record was read."""
        return await self._driver.run(operation.get_pdf(self._of(retries, headers), render_id, timeout))

    async def download_pdf(
        self,
        record: wire.RenderRecord,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Downloads from the ``pdf_url`` of a record, which is valid for ten minutes. The API key is not sent there."""
        return await self._driver.run(operation.download_pdf(self._of(retries, headers), record, timeout))

    async def list_renders(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **filters: Unpack[RenderFilters],
    ) -> RenderPage:
        """
        Reads one page of the renders that are still kept, the newest first.

        ``filters`` are ``status``, ``template``, ``engine``, ``reference``, ``batch``, ``created_after`` and ``created_before``; they apply
        together. ``limit`` is 1 to 100, and 20 by default. ``cursor`` is the ``next_cursor`` of the page before, which had the same
        filters.
        """
        return await self._driver.run(
            operation.list_renders(self._of(retries, headers), filters, limit, cursor, timeout)
        )

    async def all_renders(
        self,
        *,
        limit: int | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **filters: Unpack[RenderFilters],
    ) -> AsyncIterator[wire.ListedRender]:
        """Iterates over all these renders. It requests the next page when it is needed; ``limit`` and ``timeout`` are of a page."""
        cursor: str | None = None
        while True:
            page = await self.list_renders(
                limit=limit, cursor=cursor, timeout=timeout, retries=retries, headers=headers, **filters
            )
            for render in page.renders:
                yield render
            cursor = page.next_cursor
            if cursor is None:
                return

    async def create_batch(
        self,
        template: str,
        items: Sequence[wire.BatchItem],
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Unpack[wire.BatchFields],
    ) -> AcceptedBatch:
        """
        Starts many renders from one template, and does not wait for them. All items are accepted or none.

        There are 1 to 1000 ``items``: each has ``data``, and may have ``filename``, ``reference`` and ``metadata``. ``fields`` are of the
        batch: ``engine``, ``options``, ``webhook_url``, ``reference`` and ``metadata``. ``idempotency_key`` names this batch: a second call
        with the same key within 24 hours gets the same batch. Without one, each call has a key of its own.
        """
        request = operation.batch_request(self._settings, template, items, fields, idempotency_key)
        return await self._driver.run(operation.create_batch(self._of(retries, headers), request, timeout))

    async def get_batch(
        self,
        batch_id: str,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> wire.BatchRecord:
        """Reads how many renders of a batch are in which state. ``list_renders`` lists them by ``batch``."""
        return await self._driver.run(operation.get_batch(self._of(retries, headers), batch_id, timeout))

    async def wait_for_batch(
        self,
        batch_id: str,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> wire.BatchRecord:
        """
        Polls until each render of the batch has succeeded or failed, and returns the record of the batch.

        ``timeout`` limits the whole wait; the default is ten minutes.
        """
        return await self._driver.run(operation.wait_for_batch(self._of(retries, headers), batch_id, timeout))

    async def list_templates(
        self,
        *,
        page: int = 1,
        per_page: int | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> TemplatePage:
        """Reads one page of the templates, ordered by code. ``per_page`` is 1 to 100, and 20 by default."""
        return await self._driver.run(operation.list_templates(self._of(retries, headers), page, per_page, timeout))

    async def all_templates(
        self,
        *,
        per_page: int | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[wire.Template]:
        """Iterates over all templates. It requests the next page when it is needed."""
        number: int | None = 1
        while number is not None:
            page = await self.list_templates(
                page=number, per_page=per_page, timeout=timeout, retries=retries, headers=headers
            )
            for template in page.templates:
                yield template
            number = page.next_page

    async def get_template(
        self,
        code: str,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> wire.TemplateDetail:
        """Reads a template, with its engines and what they cost, its default options and its sample data."""
        return await self._driver.run(operation.get_template(self._of(retries, headers), code, timeout))

    async def get_usage(
        self, *, timeout: float | None = None, retries: int | None = None, headers: Mapping[str, str] | None = None
    ) -> wire.Usage:
        """Reads what is used of the month's quota, and what is left of each rate."""
        return await self._driver.run(operation.get_usage(self._of(retries, headers), timeout))

    async def list_deliveries(
        self,
        render_id: str,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> list[wire.Delivery]:
        """Lists the webhook deliveries of a render, with their attempts."""
        return await self._driver.run(operation.list_deliveries(self._of(retries, headers), render_id, timeout))

    async def list_all_deliveries(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **filters: Unpack[DeliveryFilters],
    ) -> DeliveryPage:
        """
        Reads one page of the webhook deliveries of all renders, the newest render first.

        ``filters`` are ``status``, ``template``, ``reference``, ``created_after`` and ``created_before``; they apply together, and all but
        ``status`` are of the render. ``limit`` is 1 to 100, and 20 by default. ``cursor`` is the ``next_cursor`` of the page before, which
        had the same filters.
        """
        return await self._driver.run(
            operation.list_all_deliveries(self._of(retries, headers), filters, limit, cursor, timeout)
        )

    async def all_deliveries(
        self,
        *,
        limit: int | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **filters: Unpack[DeliveryFilters],
    ) -> AsyncIterator[wire.ListedDelivery]:
        """Iterates over all these deliveries. It requests the next page when it is needed; ``limit`` and ``timeout`` are of a page."""
        cursor: str | None = None
        while True:
            page = await self.list_all_deliveries(
                limit=limit, cursor=cursor, timeout=timeout, retries=retries, headers=headers, **filters
            )
            for delivery in page.deliveries:
                yield delivery
            cursor = page.next_cursor
            if cursor is None:
                return

    async def get_delivery(
        self,
        delivery_id: str,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> wire.DeliveryDetail:
        """Reads a delivery, with its attempts: what the receiver answered, and why it was not reached."""
        return await self._driver.run(operation.get_delivery(self._of(retries, headers), delivery_id, timeout))

    async def redeliver(
        self,
        delivery_id: str,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> wire.Redelivery:
        """Asks for one more attempt at a delivery. The request is never repeated, because each one would add an attempt."""
        return await self._driver.run(operation.redeliver(self._of(retries, headers), delivery_id, timeout))

    async def test_webhook(
        self,
        url: str,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> wire.DeliveryDetail:
        """
        Sends one signed event ``webhook.test`` to a URL, and returns its delivery with what the receiver answered.

        ``status`` is ``scheduled`` if the attempt is not made within fifteen seconds; ``get_delivery`` reads it later. The request is never
        repeated, because each one would send an event.
        """
        return await self._driver.run(operation.test_webhook(self._of(retries, headers), url, timeout))

    def _of(self, retries: int | None, headers: Mapping[str, str] | None) -> Settings:
        """The settings of one call."""
        retries = self._settings.retries if retries is None else checked_retries(retries)
        return replace(self._settings, retries=retries, headers=checked_headers(headers or {}))

    def _request(
        self, mode: str, template: str, data: Mapping[str, object], fields: wire.RenderFields, key: str | None
    ) -> Request:
        return operation.render_request(self._settings, {"template": template, "data": data, "mode": mode}, fields, key)


def _checked_key(api_key: object) -> str:
    """Says what is wrong with a key, and never what it is."""
    if api_key is None or api_key == "":
        raise ValueError('api_key is missing: pass the API key, such as os.environ["PLATEN_API_KEY"]')
    if not isinstance(api_key, str):
        raise ValueError("api_key must be a text")
    fault = edge_fault_of(api_key)
    if fault is not None:
        raise ValueError(f"api_key has {fault}")
    if re.search(r"\s", api_key):
        raise ValueError("api_key has white space inside")
    if not re.fullmatch(r"[\x21-\x7e]+", api_key):
        raise ValueError("api_key has a character that no API key has")
    return api_key


def _root_of(base_url: object) -> str:
    if base_url is None or base_url == "":
        raise ValueError("base_url is missing: pass the address of the service, such as https://pdf.example.com")
    if not isinstance(base_url, (str, httpx.URL)):
        raise ValueError("base_url must be a text, such as https://pdf.example.com")
    text = str(base_url).strip()
    if not re.match(r"https?://", text, re.IGNORECASE):
        raise ValueError("base_url must begin with https:// or http://, such as https://pdf.example.com")
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as fault:
        raise ValueError(f"base_url is not a URL: {fault}") from None
    if not url.host:
        raise ValueError("base_url has no host: write it such as https://pdf.example.com")
    path = url.path.rstrip("/").removesuffix("/api/v1")
    return f"{url.scheme}://{url.netloc.decode()}{quote(path)}/api/v1"
