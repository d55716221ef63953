"""What is wrong with the parts that an op is to be built of, said so that who wrote the code can mend it.

`Builder` asks here once something does not fit; nothing here is called for an op that is built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ..errors import BuildError
from ..suggest import nearest
from . import registry
from .attributes import Attribute
from .core import Block, Op, Value
from .declare import OpDeclaration
from .given import calling_line, shown
from .types import TYPES
from .verify import broken_rules

__all__ = ["no_constants", "no_name", "no_place", "no_types", "not_a_type", "refusal", "unknown_op"]


def refusal(name: str, operands: Sequence[Any], attributes: Mapping[str, Attribute]) -> BuildError:
    """The error for operands and attributes that an op cannot be built of."""
    declaration = registry.lookup(name)
    faults = [_no_value(declaration, index, operand) for index, operand in enumerate(operands)
              if not isinstance(operand, Value) and operand is not None]
    if not faults and declaration is not None:
        faults = _misfits(name, operands, attributes, declaration)
    if not faults and declaration is None and isinstance(name, str):
        return unknown_op(name)
    return _error(name, "; ".join(faults) or "its operands and attributes do not fit", _form_of(declaration))


def no_name(given: Any) -> NoReturn:
    """Raise the error for an op that is called by something else than text."""
    raise _error("an op", f"its name is {_shown(given)}, and must be text", "as 'dialect.Op'")


def no_place(block: Any, before: Any) -> BuildError:
    """The error for a builder that is to put ops where there is no place for any."""
    if not isinstance(block, Block):
        return _error("nothing", f"a builder is given {_shown(block)}, and takes a block", "as op.parent, or module.body_of_main")
    if not isinstance(before, Op):
        return _error("nothing", f"a builder is given {_shown(before)} as before=, and takes an op")
    why = f"a builder is to put ops before {before.name}, which is not in its block"
    return _error("nothing", why, "Builder(op.parent, before=op)")


def no_constants(dialect: Any) -> BuildError:
    """The error for a constant of what declares no op for constants."""
    named = isinstance(dialect, str)
    found = registry.dialect(dialect) if named else None
    if found is not None:
        return _error("a constant", f"dialect {dialect!r} declares no op for constants")
    return _error("a constant", f"there is no dialect {dialect!r:.100}" + (_instead_of(dialect) if named else ""))


def unknown_op(name: str) -> BuildError:
    """The error for an op that no dialect declares, and of which no result types are given."""
    prefix, _, rest = name.partition(".")
    dialect = registry.dialect(prefix) if rest else None
    if not rest:
        why = f"an op is called by its dialect and its own name{_homonyms(name)}"
    elif dialect is None:
        why = f"there is no dialect {prefix!r}{_instead_of(prefix)}"
    else:
        why = f"dialect {prefix!r} declares no such op{_nearest(nearest(name, dialect.ops))}"
    return _error(name, why, "an op that no dialect declares needs its result types: types=[...]")


def _homonyms(name: str) -> str:
    """The ops of that name, or the nearest, in all dialects."""
    found: dict[str, list[str]] = {}
    for prefix in registry.dialect_names():
        dialect = registry.dialect(prefix)
        for op in dialect.ops if dialect is not None else ():
            found.setdefault(op.partition(".")[2], []).append(op)
    near = nearest(name, found)
    return f"; there is {' and '.join(map(repr, found[near]))}" if near is not None else ""


def no_types(name: str) -> BuildError:
    """The error for a declared op that does not say how its result types follow."""
    return _error(name, "its declaration infers no result types", "give them: types=[...]")


def not_a_type(name: str, what: str, given: Any) -> BuildError:
    """The error for an element type that is none."""
    return _error(
        name, f"{what} is {_shown(given)}, and must be a type", TYPES)


def _misfits(name: str, operands: Sequence[Any], attributes: Mapping[str, Attribute], declaration: OpDeclaration) -> list[str]:
    """What the declaration says of operands that are values, or absent, and of attributes."""
    given = zip(declaration.operands, operands, strict=False)
    absent = [slot.name for slot, operand in given if operand is None and not slot.optional]
    if absent:
        return [f"operand {each!r} is None, and must be a value" for each in absent]
    op = Op(name, [operand for operand in operands if operand is not None], (), dict(attributes))
    try:
        return broken_rules(op)
    finally:
        op.drop_references()


def _no_value(declaration: OpDeclaration | None, index: int, given: Any) -> str:
    """Why something is no operand, and what would be."""
    slots = declaration.operands if declaration is not None else []
    slot = slots[min(index, len(slots) - 1)] if slots and (index < len(slots) or slots[-1].variadic) else None
    which = f"operand {slot.name!r}" if slot is not None and not slot.variadic else f"operand {index}"
    instead = "`constant(...)` of the builder makes one of it" if isinstance(given, np.ndarray | np.generic | int | float) else ""
    if isinstance(given, Op):
        instead = "that is its `result`" if len(given.results) == 1 else "its `results` are values"
    elif isinstance(given, list | tuple) and any(isinstance(each, Value) for each in given):
        instead = "give each value by itself: `*values`"
    elif isinstance(given, list | tuple):
        instead = "`constant(...)` of the builder makes one of numbers"
    return f"{which} is {_shown(given)}, and must be a value{': ' + instead if instead else ''}"


def _shown(given: Any) -> str:
    if isinstance(given, Op):
        return f"the op {given.name}"
    if isinstance(given, list | tuple):
        return f"a {type(given).__name__} of {len(given)}"
    return shown(given)


def _form_of(declaration: OpDeclaration | None) -> str:
    """What an op takes."""
    if declaration is None:
        return ""
    operands = [f"*{slot.name}" if slot.variadic else f"{slot.name}=None" if slot.optional else slot.name
                for slot in declaration.operands]
    attributes = [key if key in declaration.required else f"{key}=..." for key in declaration.attributes]
    return f"it is {declaration.name}({', '.join([*operands, *attributes])})"


def _instead_of(dialect: str) -> str:
    """What there is in place of a dialect that nobody registered, and who may have failed to."""
    return _nearest(nearest(dialect, registry.dialect_names())) + registry.absent()


def _nearest(name: str | None) -> str:
    return f"; the nearest is {name!r}" if name is not None else ""


def _error(name: str, why: str, hint: str = "") -> BuildError:
    return BuildError(f"{name} cannot be built: {why}", hint, calling_line())
