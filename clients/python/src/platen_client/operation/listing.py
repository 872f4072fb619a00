"""Lists and records that are read: renders, templates, usage."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict, cast

from .. import wire
from .._call import Flow, Settings, call
from .exchange import cursor_in, get, list_in, number_of, object_of, part, require_known


@dataclass(frozen=True)
class RenderPage:
    """One page of renders. It may have fewer than the limit, also if there are more."""

    renders: list[wire.ListedRender]
    next_cursor: str | None
    """None on the last page."""


@dataclass(frozen=True)
class TemplatePage:
    """One page of templates."""

    templates: list[wire.Template]
    total: int
    """Number of templates on all pages."""
    next_page: int | None
    """None on the last page."""


class RenderFilters(TypedDict, total=False):
    """Which renders to list. The filters apply together."""

    status: wire.RenderStatus
    template: str
    engine: wire.Engine
    reference: str
    # The renders of this batch.
    batch: str
    # Accepted at this time or later.
    created_after: datetime
    # Accepted before this time.
    created_before: datetime


def list_renders(
    settings: Settings, filters: RenderFilters, limit: int | None, cursor: str | None, timeout: float | None
) -> Flow[RenderPage]:
    require_known(filters, RenderFilters)
    request = get(settings, "renders", {**filters, "limit": limit, "cursor": cursor})
    answer = yield from call(settings, request, timeout)
    page = object_of(answer)
    return RenderPage(list_in(page, "renders", answer), cursor_in(page, answer))


def list_templates(settings: Settings, page: int, per_page: int | None, timeout: float | None) -> Flow[TemplatePage]:
    answer = yield from call(settings, get(settings, "templates", {"page": page, "per_page": per_page}), timeout)
    has_next = re.search(r';\s*rel="next"', answer.headers.get("link", ""))
    return TemplatePage(
        templates=list_in(object_of(answer), "templates", answer),
        total=number_of(answer, "x-total-count") or 0,
        next_page=page + 1 if has_next else None,
    )


def get_template(settings: Settings, code: str, timeout: float | None) -> Flow[wire.TemplateDetail]:
    answer = yield from call(settings, get(settings, f"templates/{part(code)}"), timeout)
    return cast("wire.TemplateDetail", object_of(answer, code=str, version=int))


def get_usage(settings: Settings, timeout: float | None) -> Flow[wire.Usage]:
    answer = yield from call(settings, get(settings, "usage"), timeout)
    usage = object_of(answer, month=str, used=int)
    list_in(usage, "rates", answer)
    return cast("wire.Usage", usage)
