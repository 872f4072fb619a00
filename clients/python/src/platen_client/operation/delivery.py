"""Webhook deliveries: those of a render, those of all renders, and the test of a receiver."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict, cast

from .. import wire
from .._call import Flow, Request, Settings, call
from .exchange import JSON_BYTES_MAX, cursor_in, get, json_body, list_in, object_of, part, require_known


@dataclass(frozen=True)
class DeliveryPage:
    """One page of deliveries. It may have fewer than the limit, also if there are more."""

    deliveries: list[wire.ListedDelivery]
    next_cursor: str | None
    """None on the last page."""


class DeliveryFilters(TypedDict, total=False):
    """Which deliveries to list. The filters apply together."""

    status: wire.DeliveryStatus
    # Template and reference of the render.
    template: str
    reference: str
    # The render was accepted at this time or later.
    created_after: datetime
    # The render was accepted before this time.
    created_before: datetime


def list_deliveries(settings: Settings, render_id: str, timeout: float | None) -> Flow[list[wire.Delivery]]:
    answer = yield from call(settings, get(settings, f"render/{part(render_id)}/deliveries"), timeout)
    return list_in(object_of(answer), "deliveries", answer)


def list_all_deliveries(
    settings: Settings, filters: DeliveryFilters, limit: int | None, cursor: str | None, timeout: float | None
) -> Flow[DeliveryPage]:
    require_known(filters, DeliveryFilters)
    request = get(settings, "deliveries", {**filters, "limit": limit, "cursor": cursor})
    answer = yield from call(settings, request, timeout)
    page = object_of(answer)
    return DeliveryPage(list_in(page, "deliveries", answer), cursor_in(page, answer))


def get_delivery(settings: Settings, delivery_id: str, timeout: float | None) -> Flow[wire.DeliveryDetail]:
    answer = yield from call(settings, get(settings, f"deliveries/{part(delivery_id)}"), timeout)
    return cast("wire.DeliveryDetail", object_of(answer, id=str, status=str))


def redeliver(settings: Settings, delivery_id: str, timeout: float | None) -> Flow[wire.Redelivery]:
    url = f"{settings.root}/deliveries/{part(delivery_id)}/redeliver"
    # Each request would add an attempt.
    answer = yield from call(settings, Request("POST", url, JSON_BYTES_MAX, is_repeatable=False), timeout)
    return cast("wire.Redelivery", object_of(answer, id=str, status=str))


def test_webhook(settings: Settings, url: str, timeout: float | None) -> Flow[wire.DeliveryDetail]:
    request = Request(
        "POST",
        f"{settings.root}/webhooks/test",
        JSON_BYTES_MAX,
        headers={"content-type": "application/json"},
        body=json_body({"url": url}),
        # Each request would send an event.
        is_repeatable=False,
    )
    answer = yield from call(settings, request, timeout)
    return cast("wire.DeliveryDetail", object_of(answer, id=str, status=str))
