"""A typed client of the Platen PDF rendering service, and the verifier of its webhooks."""

from . import wire
from ._async_client import AsyncPlaten
from ._client import Platen
from ._driver import __version__
from ._error import PlatenError
from ._operation import AcceptedRender, Quota, RenderedPdf, RenderPage, TemplatePage
from ._webhook import SignedEvent, WebhookEvent, WebhookVerificationError, sign_test_event, verify_webhook

__all__ = [
    "AcceptedRender",
    "AsyncPlaten",
    "Platen",
    "PlatenError",
    "Quota",
    "RenderPage",
    "RenderedPdf",
    "SignedEvent",
    "TemplatePage",
    "WebhookEvent",
    "WebhookVerificationError",
    "__version__",
    "sign_test_event",
    "verify_webhook",
    "wire",
]
