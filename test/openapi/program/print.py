"""Prints the sample of a template by the client that openapi-python-client made, and shows how a refusal is read."""

import sys
from pathlib import Path

from platen import AuthenticatedClient
from platen.api.render import create_render
from platen.api.template import get_template
from platen.models import ErrorBody, PageSizeName, RenderOptions, RenderRequest, RenderRequestData, TemplateDetail
from platen.types import File, Unset

url, key, file = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key)

template = get_template.sync("invoice", client=client)
assert isinstance(template, TemplateDetail) and not isinstance(template.sample, Unset)

request = RenderRequest(
    template=template.code,
    data=RenderRequestData.from_dict(template.sample.to_dict()),
    options=RenderOptions(page_size=PageSizeName.A5, margin="18mm"),
)
printed = create_render.sync(client=client, body=request)
assert isinstance(printed, File), printed
Path(file).write_bytes(printed.payload.read())

request.template = "nothing"
refused = create_render.sync(client=client, body=request)
assert isinstance(refused, ErrorBody)
print(refused.error.code)
