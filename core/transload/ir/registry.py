"""Which dialects and op declarations exist in this process: those that the plugin host's plugins register.

A dialect's declarations are loaded when the first op of it is looked up. A program may declare dialects of its own, too.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["declare_dialect", "dialect", "dialect_names", "forget", "lookup"]

_declared: dict[str, Callable[[], Any]] = {}
_dialects: dict[str, Any] = {}
_ops: dict[str, Any] = {}


def declare_dialect(name: str, load: Callable[[], Any]) -> None:
    """Make dialect `name` known; `load()` gives its `Dialect` when it is first needed."""
    _declared[name] = load
    _dialects.pop(name, None)
    for op in [op for op in _ops if op.partition(".")[0] == name]:
        del _ops[op]


def forget() -> None:
    """Look everything up anew: another host has taken the place of the one there was."""
    _dialects.clear()
    _ops.clear()


def _plugins() -> Any:
    return importlib.import_module("transload.plugin")


def _registered() -> dict[str, Any]:
    return importlib.import_module("transload.plugin_host").host().dialects


def dialect_names() -> list[str]:
    """All dialects, sorted."""
    return sorted({*_declared, *_registered()})


def dialect(name: str) -> Any:
    """The dialect's declarations (`transload.ir.declare.Dialect`), or None where nobody registered it."""
    found = _dialects.get(name)
    if found is None:
        if name in _declared:
            found = _declared[name]()
        else:
            spec = _registered().get(name)
            if spec is None:
                return None
            found = _plugins().resolve(spec.load)
        _dialects[name] = found
    return found


def lookup(op_name: str) -> Any:
    """The op's declaration, or None where no dialect declares it."""
    try:
        return _ops[op_name]
    except KeyError:
        owner = dialect(op_name.partition(".")[0])
        declaration = owner.ops.get(op_name) if owner is not None else None
        _ops[op_name] = declaration
        return declaration
