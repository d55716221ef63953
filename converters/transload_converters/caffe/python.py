"""Layers in Python: their class's name says what they are, and a rewrite of that name what they compute; nothing of them is run.

A plugin adds to the conversion `caffe-to-top`, for a class `AbsAdd`:

    TABLE = RewriteTable()

    @TABLE("caffe.python.AbsAdd")
    def abs_add(op, rw):
        number = python_parameters(op, "b_val").get("b_val", 0)
        return rw.emit("top.AddConst", rw.emit("top.Abs", op.operands[0]), const_val=float(number))
"""

from __future__ import annotations

import ast
from typing import Any

from transload.errors import Unsupported
from transload.ir import Op

__all__ = ["python_parameters"]

_LONGEST = 1 << 16


def python_parameters(op: Op, *names: str) -> dict[str, Any]:
    """The `param_str` of a layer in Python as a dictionary: of Python's literals, or of lines `'name': value`, without braces.

    It is read by `ast.literal_eval`, which runs nothing. `names` are those that the layer has, where that is to be checked.
    Raises `Unsupported` for what is no such text, and for names that are not there.
    """
    text = str(op.attributes.get("param_str", "")).strip()
    if not text:
        return {}
    if len(text) > _LONGEST:
        raise Unsupported(f"its param_str has {len(text):,} characters")
    found = _literal(text)
    if not isinstance(found, dict):
        found = _literal("{" + ",".join(line for line in text.splitlines() if line.strip()) + "}")
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise Unsupported(f"its param_str is no dictionary of Python's literals: {text[:80]!r}")
    strange = [key for key in found if names and key not in names]
    if strange:
        raise Unsupported(f"its param_str has {', '.join(map(repr, strange))}, which means nothing here")
    return found


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
