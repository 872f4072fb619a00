"""What the package may import: the standard library and httpx, and httpx only where the I/O is."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import platen_client

MODULES = sorted(Path(platen_client.__file__).parent.rglob("*.py"))
WITH_HTTPX = {"_driver", "_client", "_async_client"}
# For type checkers, which bring it with them.
TYPES_ONLY = {"typing_extensions"}


def imported_by(module: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(module.read_text(encoding="utf-8"))))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    origins = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0]
    return {name.split(".")[0] for name in [*plain, *origins]}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_a_module_imports_the_standard_library_and_httpx_where_the_io_is(module: Path) -> None:
    beyond = imported_by(module) - sys.stdlib_module_names - TYPES_ONLY
    assert beyond == ({"httpx"} if module.stem in WITH_HTTPX else set())


def test_what_is_for_types_only_is_not_imported_at_run_time() -> None:
    for module in MODULES:
        text = module.read_text(encoding="utf-8")
        for name in TYPES_ONLY & imported_by(module):
            assert f"if TYPE_CHECKING:\n    from {name} import" in text
