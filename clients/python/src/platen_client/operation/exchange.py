"""What all operations have in common: how a request is built, and how an answer is read."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote, urlencode

from .._call import Answer, Request, Settings, invalid_answer, json_of
from .._error import PlatenError

# Answers of the service are far smaller; a page of 100 renders with full metadata has the most.
JSON_BYTES_MAX = 32 * 1024 * 1024


@dataclass(frozen=True)
class Quota:
    """The quota of the month, after the render was reserved."""

    limit: int
    """Units that the plan allows in a month."""
    remaining: int


@dataclass(frozen=True)
class Rate:
    """The rate with the fewest renders left."""

    limit: int
    remaining: int
    resets_at: str
    """RFC 3339, UTC."""


def get(settings: Settings, path: str, query: Mapping[str, object] | None = None) -> Request:
    given = {name: _query_text(value) for name, value in (query or {}).items() if value is not None}
    return Request("GET", f"{settings.root}/{path}{'?' if given else ''}{urlencode(given)}", JSON_BYTES_MAX)


def _query_text(value: object) -> str:
    if not isinstance(value, datetime):
        return str(value)
    if value.tzinfo is None:
        raise ValueError("a time must have a time zone, such as datetime.now(timezone.utc)")
    return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def part(text: str) -> str:
    """Escapes a part of a path. Servers and proxies take the part `..` away, even if it is escaped."""
    if text in {"", ".", ".."}:
        raise ValueError("this is not an id or a code")
    return quote(text, safe="")


def require_known(fields: Mapping[str, object], known: type) -> None:
    """Type checkers know the names; this is for callers without one."""
    unknown = sorted(fields.keys() - known.__annotations__.keys())
    if unknown:
        raise TypeError(f"unexpected keyword arguments: {', '.join(unknown)}")


def json_body(value: Mapping[str, object]) -> bytes:
    """Raises ``TypeError`` or ``ValueError`` for what JSON cannot say."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def json_headers(key: str | None) -> dict[str, str]:
    """The headers of a request that is accepted once, however often it arrives with this key."""
    key = str(uuid.uuid4()) if key is None else key
    if not re.fullmatch(r"[\x20-\x7e]{1,255}", key):
        raise ValueError("idempotency_key must have 1 to 255 printable characters of ASCII")
    return {"idempotency-key": key, "content-type": "application/json"}


def object_of(answer: Answer, **kinds: type) -> dict[str, Any]:
    """Reads a JSON object that has fields of these kinds: they tell an answer of the service from JSON of somebody else."""
    # The service's tests check its answers against the same schemas that the types are made from.
    body = json_of(answer.body)
    if not isinstance(body, dict):
        raise invalid_answer("the answer is not a JSON object", answer)
    for name, kind in kinds.items():
        if not isinstance(body.get(name), kind) or isinstance(body[name], bool):
            raise _foreign(name, answer)
    return body


def list_in(body: dict[str, Any], name: str, answer: Answer) -> list[Any]:
    items = body.get(name)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _foreign(name, answer)
    return items


def cursor_in(body: dict[str, Any], answer: Answer) -> str | None:
    cursor = body.get("next_cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise _foreign("next_cursor", answer)
    return cursor


def _foreign(name: str, answer: Answer) -> PlatenError:
    message = f"the answer is not from the service: its field {name} is missing or of another type"
    return invalid_answer(message, answer)


def pdf_of(answer: Answer) -> bytes:
    """Returns the PDF. Raises ``PlatenError`` for what is none, such as the page of a proxy."""
    kind = answer.headers.get("content-type", "")
    if not re.match(r"application/pdf\s*(;|$)", kind, re.IGNORECASE) or not answer.body.startswith(b"%PDF-"):
        raise not_pdf(answer)
    return answer.body


def not_pdf(answer: Answer) -> PlatenError:
    return invalid_answer("the answer is not a PDF from the service", answer)


def request_id_of(answer: Answer) -> str | None:
    return answer.headers.get("x-request-id")


def number_of(answer: Answer, name: str) -> int | None:
    text = answer.headers.get(name, "")
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) else None


def is_replayed(answer: Answer) -> bool:
    return answer.headers.get("idempotent-replayed") == "true"


def quota_of(answer: Answer, settings: Settings) -> Quota | None:
    limit, remaining = (number_of(answer, f"x-{settings.brand}-quota-{name}") for name in ("limit", "remaining"))
    return None if limit is None or remaining is None else Quota(limit, remaining)


def rate_of(answer: Answer) -> Rate | None:
    limit, remaining, reset = (number_of(answer, f"x-ratelimit-{name}") for name in ("limit", "remaining", "reset"))
    # Other servers have headers of this name, too.
    if limit is None or remaining is None or reset is None or reset > RESET_SECONDS_MAX:
        return None
    resets_at = datetime.fromtimestamp(reset, timezone.utc).isoformat(timespec="milliseconds")
    return Rate(limit, remaining, resets_at.replace("+00:00", "Z"))


# The end of the year 9999, which is the last one of Python.
RESET_SECONDS_MAX = 253_402_300_799
