"""Which dialects and op declarations exist in this process.

A dialect is registered under its name with a function that loads its declarations, called when the
first op of that dialect is looked up. Who registers them is the plugin host; core's own dialects
(`builtin`, `func`, `top`) come through the same door.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["declare_dialect", "dialect", "dialect_names", "lookup", "set_discovery"]

_loaders: dict[str, Callable[[], Any]] = {}
_dialects: dict[str, Any] = {}
_ops: dict[str, Any] = {}
_discover: Callable[[], None] | None = None


def declare_dialect(name: str, load: Callable[[], Any]) -> None:
    """Make dialect `name` known; `load()` gives its `Dialect` when it is first needed."""
    _loaders[name] = load
    _dialects.pop(name, None)
    for op in [op for op in _ops if op.partition(".")[0] == name]:
        del _ops[op]


def set_discovery(discover: Callable[[], None] | None) -> None:
    """Set what to call once, before the first look-up: the plugin host registering all dialects."""
    global _discover
    _discover = discover


def _ready() -> None:
    global _discover
    importlib.import_module(".plugin_host", __package__)  # sets the discovery, where nothing imported it so far
    if _discover is not None:
        discover, _discover = _discover, None
        discover()


def dialect_names() -> list[str]:
    """All registered dialects, sorted."""
    _ready()
    return sorted(_loaders)


def dialect(name: str) -> Any:
    """The dialect's declarations (`transload.ir.declare.Dialect`), or None where nobody registered it."""
    found = _dialects.get(name)
    if found is None:
        _ready()
        load = _loaders.get(name)
        if load is None:
            return None
        found = _dialects[name] = load()
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
