"""What a person sees who types the name of a module, an op or a block: its `repr`, one line where that says it.

Text that can be read again is what `transload.text.print_module` writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from numbers import Number
from typing import TYPE_CHECKING, Any

from ..errors import TransloadError
from ..escapes import escaped
from .borders import input_names, input_types, output_names, output_types
from .types import Type

if TYPE_CHECKING:
    from .build import Builder
    from .core import Block, Op, Value
    from .module import Module

__all__ = ["block_text", "called_text", "builder_text", "function_text", "module_html", "module_text", "op_text", "value_text"]

_LINES = 12
"""How many ops, or functions, are shown."""
_LONGEST = 48
"""Letters of a name or an attribute."""
_ITEMS = 8
"""Operands, results or attributes that are shown."""


def value_text(value: Value) -> str:
    """`conv1: tensor<1x8x8x16xf32>`; one without a name has that of its op and its number there, as `add#0`."""
    return f"{_name(value)}: {value.type!r}"


def called_text(op: Op) -> str:
    """What an error calls an op: `acme.add at 'y'`, or `acme.add` where no name of it is known."""
    return f"{op.name} at {op.origin!r}" if op.origin else op.name


def op_text(op: Op) -> str:
    """`acme.conv2d(image, const, const, pad=(1, 1, 1, 1)) -> conv1: tensor<1x8x8x16xi32>`."""
    named = (f"{name}={_attribute(value)}" for name, value in op.attributes.items() if _is_simple(value))
    given = _listed([*map(_name, op.operands), *named])
    made = _listed([value_text(result) for result in op.results])
    inside = f", {len(op.regions)} regions" if len(op.regions) > 1 else ", 1 region" if op.regions else ""
    return f"{op.name}({given}){inside}{f' -> {made}' if made else ''}"


def function_text(function: Op) -> str:
    """`main(image: tensor<1x8x8x1xf32>) -> (scores: tensor<1x10xf32>)`, with the types that users see."""
    name = str(function.attributes.get("sym_name", "?"))
    if not function.regions or not function.regions[0].blocks:
        return f"{name}: declared only"
    try:
        inputs, outputs = (_listed([f"{escaped(each)}: {type_!r}" for each, type_ in side]) for side in _sides(function))
    except (AttributeError, TypeError, ValueError, TransloadError):  # attributes that are none, a block that does not end
        return f"{name}: {block_text(function.regions[0].blocks[0])}"
    return f"{name}({inputs}) -> ({outputs})"


def _sides(function: Op) -> tuple[list[tuple[str, Type]], list[tuple[str, Type]]]:
    """Names and types of a function's inputs, and of its outputs."""
    return (
        list(zip(input_names(function), input_types(function), strict=True)),
        list(zip(output_names(function), output_types(function), strict=True)))


def block_text(block: Block) -> str:
    """The arguments of a block, and its ops, a line each: the first of them where there are many."""
    ops = list(block)
    head = f"block ({_listed([value_text(argument) for argument in block.arguments])}), {_count(len(ops), 'op')}"
    return "\n".join([head, *(f"  {line}" for line in _first(map(op_text, ops), len(ops)))])


def builder_text(builder: Builder) -> str:
    """Its class, the function it builds in, the op before which it puts ops, and whether it folds."""
    owner = builder.block.parent_op
    inside = "a block of its own" if owner is None else str(owner.attributes.get("sym_name", owner.name))
    place = "at the end" if builder.before is None else f"before {op_text(builder.before)}"
    return f"{type(builder).__name__} in {inside}, {place}{', folding' if builder.fold else ''}"


def module_text(module: Module) -> str:
    """A module's file, its functions and how many ops it has of which dialect."""
    functions = list(module.functions.values())
    head = f"module{f' {module.source.name}' if module.source is not None else ''}, {_ops(module)}"
    return "\n".join([head, *(f"  {line}" for line in _first(map(function_text, functions), len(functions)))])


def module_html(module: Module) -> str:
    """The same as tables, for notebooks: inputs and outputs of each function, and its ops by kind."""
    parts = [f"<p><b>{escape(module.source.name if module.source is not None else 'module')}</b>: {escape(_ops(module))}</p>"]
    functions = [function for function in module.functions.values() if function.regions and function.regions[0].blocks]
    for function in functions[:_LINES]:
        parts.append(_function_html(function))
    if len(functions) > _LINES:
        parts.append(f"<p>… and {len(functions) - _LINES} more functions</p>")
    return "".join(parts)


def _function_html(function: Op) -> str:
    try:
        sides = _sides(function)
    except (AttributeError, TypeError, ValueError, TransloadError):
        return f"<p>{escape(function_text(function))}</p>"
    rows = [(what, *each) for what, side in zip(("input", "output"), sides, strict=True) for each in side]
    counts = Counter(op.name for op in function.walk() if op is not function and op.name != "func.return")
    kinds = ", ".join(f"{count} {name}" for name, count in counts.most_common(_LINES)) + (", …" if len(counts) > _LINES else "")
    return (
        f"<table><caption>{escape(str(function.attributes.get('sym_name', '')))}: {escape(kinds)}</caption>"
        "<tr><th></th><th>name</th><th>type</th></tr>"
        + "".join(f"<tr><td>{what}</td><td>{escape(name)}</td><td>{escape(repr(type_))}</td></tr>" for what, name, type_ in rows)
        + "</table>")


def _ops(module: Module) -> str:
    counts = Counter(op.dialect for op in module.walk() if op.dialect not in ("builtin", "func"))
    return " and ".join(f"{_count(count, 'op')} of {dialect}" for dialect, count in counts.most_common()) or "no ops"


def _name(value: Value) -> str:
    if value.name:
        return _short(value.name)
    owner = value.op
    if owner is None:
        return f"arg{value.index}"
    return owner.name.partition(".")[2] + (f"#{value.index}" if len(owner.results) > 1 else "")


def _is_simple(value: Any) -> bool:
    """Whether an attribute says something in a few letters."""
    return isinstance(value, str | Number | Type) or (
        isinstance(value, tuple | list) and len(value) <= _ITEMS and all(isinstance(each, Number) for each in value))


def _attribute(value: Any) -> str:
    return _short(repr(value))


def _short(text: str) -> str:
    text = escaped(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _listed(items: list[str]) -> str:
    return ", ".join(items if len(items) <= _ITEMS else [*items[: _ITEMS - 1], f"… {len(items) - _ITEMS + 1} more"])


def _first(lines: Iterable[str], total: int) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number == _LINES and total > _LINES:
            yield f"… and {total - _LINES} more"
            return
        yield line


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
