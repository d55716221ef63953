"""Which dialects and op declarations exist: those of the context that is bound (`transload.context`).

A dialect's declarations are loaded when the first op of it is looked up. A program may declare dialects of its own, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..classes import is_a
from ..context import current, lookup
from ..errors import Unfit
from ..guard import FOREIGN, goes_through, process_kept, shape_rule_failed
from .types import Type

if TYPE_CHECKING:
    from .core import Op
    from .declare import Dialect

__all__ = ["absent", "declare_dialect", "dialect", "dialect_names", "lookup", "result_types", "shape_rule"]


def declare_dialect(name: str, load: Callable[[], Dialect]) -> None:
    """Make dialect `name` known in the context that is bound; `load()` gives it when it is first needed."""
    current().declarations.declare(name, load)


def absent() -> str:
    """What to add where a dialect is not there: which plugins failed, and which were left out; or nothing."""
    return current().host.absent()


def dialect_names() -> list[str]:
    """All dialects, sorted."""
    return current().declarations.names()


def dialect(name: str) -> Dialect | None:
    """The dialect's declarations, or None where nobody registered it."""
    return current().declarations.dialect(name)


def shape_rule(op_name: str) -> Callable[[Any], Any] | None:
    """How the result types of an op follow: by its declaration, else by a fact of kind "shape"; None where nobody says."""
    declaration = lookup(op_name)
    if declaration is not None and declaration.infer is not None:
        return declaration.infer
    return current().host.fact("shape", op_name)


def result_types(op: Op, infer: Callable[[Any], Any], count: int | None = None) -> Sequence[Type]:
    """What a shape rule says of an op: a type a result, `count` in all where that is known. `PluginFailure` for anything else."""
    owner = current().host.owner("dialects", op.dialect)
    try:
        with nullcontext() if owner is None or owner.is_ours else process_kept():
            given = infer(op)
    except FOREIGN as error:
        if is_a(error, (Unfit, OverflowError)) or goes_through(error, owner):
            raise
        if owner is None or owner.is_ours:  # whose callers know what a rule of ours raises of a model that contradicts itself
            raise
        raise shape_rule_failed(infer, op, error) from error
    types = (given,) if isinstance(given, Type) else given
    if not isinstance(types, tuple | list) or not all(isinstance(each, Type) for each in types):
        wrong = TypeError(f"gives {type(given).__name__}, where a type, or a list of types, is wanted")
        raise shape_rule_failed(infer, op, wrong)
    if count is not None and len(types) != count:
        wrong = TypeError(f"gives {len(types)} types, where the op has {count} result{'s' * (count != 1)}")
        raise shape_rule_failed(infer, op, wrong)
    return types
