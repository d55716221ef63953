"""Small dialects and plugins of a third party, on a host of their own."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from transload.context import Context
from transload.ir import Module
from transload.plugin import Conversion, DialectSpec, Pass
from transload.plugin_host import Host
from transload.text import parse_module


def module_of(*ops: str) -> Module:
    """A module whose main function holds these ops, without operands and results."""
    body = "\n".join(f'  "{op}"() : () -> () loc("{op}_{index}")' for index, op in enumerate(ops))
    return parse_module(f'''"func.func"() <{{sym_name = "main", function_type = () -> ()}}> ({{
{body}
  "func.return"() : () -> ()
}}) : () -> ()
''')


def names(module: Module) -> list[str]:
    return [op.name for op in module.ops() if op.name != "func.return"]


@pytest.fixture
def kit() -> Iterator[SimpleNamespace]:
    """A host with core and the hub alone, bound until the test ends: `kit.add` registers, `kit.module` and `kit.names` help."""
    host = Host(points=[])

    def add(*registered: Any) -> None:
        for one in registered:
            kind = {Conversion: "conversions", Pass: "passes", DialectSpec: "dialects"}.get(type(one), "targets")
            getattr(host, kind)[one.name] = one

    with Context(host).bind():
        yield SimpleNamespace(host=host, add=add, module=module_of, names=names)
