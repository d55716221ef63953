"""Attributes of the dialect `sdy` in bytecode: how a program is spread over devices.

They are texts, as MLIR writes them. Dictionaries leave them out, since they do not change what a program computes, but those by
which the inputs of `shard_map` are cut and its results joined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transload.ir.attributes import OpaqueAttr, Symbol

from .cursor import BytecodeError
from .entries import PASSED_OVER, EntryCursor

__all__ = ["is_passed_over", "read_attribute", "read_type"]

_HEAD = "#sdy."
_KEPT = frozenset(("mesh", "in_shardings", "out_shardings"))


def is_passed_over(name: str, value: Any) -> bool:
    """Whether a dictionary leaves an attribute out."""
    return isinstance(value, OpaqueAttr) and value.text.startswith(_HEAD) and (value is PASSED_OVER or name not in _KEPT)


def read_attribute(r: EntryCursor, code: int) -> Any:
    """An attribute of the dialect as text; one in a form that is not known says nothing."""
    try:
        text = _FORMS[code](r) if code in _FORMS else ""
    except BytecodeError:
        text = ""
    known = bool(text) and r.at_end
    r.take(r.left)
    return OpaqueAttr(_HEAD + text) if known else PASSED_OVER


def read_type(r: EntryCursor, code: int) -> Any:
    """The dialect has no types."""
    r.error("the dialect sdy has no types")


def _part(r: EntryCursor, kind: str) -> str:
    """What another attribute of the dialect says."""
    value = r.attribute()
    if not isinstance(value, OpaqueAttr) or not value.text.startswith(f"{_HEAD}{kind}<"):
        r.error(f"an attribute is no {kind}")
    return value.text[len(_HEAD) + len(kind) + 1 : -1]


def _parts(r: EntryCursor, kind: str) -> str:
    return ", ".join([_part(r, kind) for _ in range(r.count(kind))])


def _mesh(r: EntryCursor) -> str:
    axes, devices = _parts(r, "mesh_axis"), r.signed_list()
    return f"mesh<[{axes}]" + (f", device_ids={devices}" if devices else "") + ">"


def _axis(r: EntryCursor) -> str:
    name, parts = r.string(), r.varint()
    return f'axis_ref<"{name}">' if not parts else ""


def _dimension(r: EntryCursor) -> str:
    axes = _parts(r, "axis_ref")
    r.take(r.left)  # whether more may be added, and in which turn
    return f"dimension_sharding<{{{axes}}}>"


def _sharding(r: EntryCursor) -> str:
    mesh = r.attribute()
    if not isinstance(mesh, Symbol):
        r.error("a mesh that has no name")
    dimensions = _parts(r, "dimension_sharding")
    r.take(r.left)  # axes along which tensors are the same, or partial sums
    return f"sharding<@{mesh}, [{dimensions}]>"


def _of_values(r: EntryCursor) -> str:
    shardings = [f"<{_part(r, 'sharding')}>" for _ in range(r.count("shardings"))]
    return f"sharding_per_value<[{', '.join(shardings)}]>"


_FORMS: dict[int, Callable[[EntryCursor], str]] = {
    1: lambda r: f'mesh_axis<"{r.string()}"={r.signed()}>',
    2: _mesh,
    4: _axis,
    5: _dimension,
    6: _sharding,
    7: _of_values,
}
