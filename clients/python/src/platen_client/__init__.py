"""A typed client of the Platen PDF rendering service, and the verifier of its webhooks."""

from . import wire
from ._async_client import AsyncPlaten
from ._client import Platen
from ._driver import __version__
from ._error import PlatenError
from .operation import (
    AcceptedBatch,
    AcceptedRender,
    AwaitedPdf,
    DeliveryPage,
    Quota,
    Rate,
    RenderedPdf,
    RenderPage,
    TemplatePage,
)
from .webhook.event import BatchEnded, RenderEnded, WebhookEvent, WebhookTest
from .webhook.sign import SignedEvent, sign_test_event
from .webhook.verify import WebhookVerificationError, verify_webhook

__all__ = [
    "AcceptedBatch",
    "AcceptedRender",
    "AsyncPlaten",
    "AwaitedPdf",
    "BatchEnded",
    "DeliveryPage",
    "Platen",
    "PlatenError",
    "Quota",
    "Rate",
    "RenderEnded",
    "RenderPage",
    "RenderedPdf",
    "SignedEvent",
    "TemplatePage",
    "WebhookEvent",
    "WebhookTest",
    "WebhookVerificationError",
    "__version__",
    "sign_test_event",
    "verify_webhook",
    "wire",
]
