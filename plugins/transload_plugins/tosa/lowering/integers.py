"""Quantized ops of the hub, executed: the integers that an op stands for are those that its lowering to TOSA computes.

TOSA says of each operator which integers it gives, to the last bit, and the lowering of a quantized op says in these what
the framework computes whose `rounding` it carries. So each op is lowered by itself, once, and the reference engine runs that;
in a whole model it becomes the same operators. Between floats and integers the hub's own kernel stays: it divides by the
scale as frameworks do, where TOSA, which has no division, multiplies by the reciprocal (`ops.cast.quantize`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from transload.analysis.movement import moves_of
from transload.context import new_run
from transload.conversion import apply_conversion
from transload.engine.integers import kernel_on_reals
from transload.engine.run import Plan
from transload.errors import TransloadError
from transload.facts import FactTable
from transload.ir import Dense, Module, NoneType, Op, QuantType, TensorType, Type, Value, dtype_of, set_results
from transload.ir.build import constant_of
from transload.plugin_host import host
from transload.rewrite import RewriteTable

from .arithmetic.rescaling import quant

__all__ = ["INTEGERS", "integer_kernel"]

INTEGERS = FactTable("top")

CONVERSION = "top-to-tosa"
Kernel = Callable[..., Any]


@INTEGERS("*")
def integer_kernel(op: Op) -> Kernel | None:
    """The kernel of a quantized op on stored numbers; None where TOSA has no lowering of it (or of sizes that are not known)."""
    if op.name in ("top.Bitcast", "top.Custom") or _is_between_floats_and_integers(op):
        return None  # their kernels read the types themselves
    if any(not isinstance(value.type, TensorType | NoneType) for value in (*op.operands, *op.results)):
        return None
    if _only_moves(op):
        return kernel_on_reals(op)
    lowered = _lowered(op)
    return None if lowered is None else lowered.run


def _is_between_floats_and_integers(op: Op) -> bool:
    return op.name == "top.Cast" and None in (quant(op.operands[0]), quant(op.results[0]))


def _only_moves(op: Op) -> bool:
    """Whether the results hold numbers of the operands, all of one type, so that the way through reals loses nothing."""
    moves = moves_of(op)
    types = {quant(value) for value in (*op.operands, *op.results)} - {None}
    return moves is not None and not moves.constants and len(types) == 1 and types.pop().per_tensor  # type: ignore[union-attr]


class _Lowered:
    """An op as a plan of TOSA's operators: its operands are cast to what these take, their results to its own types."""

    def __init__(self, op: Op, moving: Sequence[int], module: Module, plan: Plan) -> None:
        self.plan, self.table = plan, _table()
        arguments = module.body_of_main.arguments
        self.takes = [(index, _stored(argument.type)) for index, argument in zip(moving, arguments, strict=True)]
        self.gives = [_stored(result.type) for result in op.results]
        self.constants = [constant_of(value) for value in op.operands]
        """Those of the op: `_kept` knows them, and the table, by identity, so they live as long as this does."""

    def run(self, op: Op, *arrays: Any) -> Any:
        """The op's results, of stored numbers."""
        outputs = self.plan.execute([_as(arrays[index], dtype) for index, dtype in self.takes])
        made = tuple(_as(array, dtype) for array, dtype in zip(outputs, self.gives, strict=True))
        return made if len(made) != 1 else made[0]


def _table() -> RewriteTable:
    """The rewrites of the lowering: another object where the host is another, or has got more plugins."""
    return host().table(CONVERSION)


_kept: WeakValueDictionary[tuple[Any, ...], _Lowered] = WeakValueDictionary()
"""Ops that are lowered and in use somewhere: the steps of an unrolled network are alike."""


def _lowered(op: Op) -> _Lowered | None:
    key = _key(op)
    found = _kept.get(key)
    if found is None:
        module, moving = _alone(op)
        try:
            with new_run():  # what a conversion that folds is noting down meanwhile is not of this one
                apply_conversion(host().conversions[CONVERSION], module)
        except (TransloadError, MemoryError):  # what it refuses, what its rules find wrong with the op, and tables too large
            return None
        plan = Plan(module.main.regions[0], module)
        if plan.missing:
            return None
        found = _kept[key] = _Lowered(op, moving, module, plan)
    return found


def _key(op: Op) -> tuple[Any, ...]:
    """What the lowering of an op depends on: its name, attributes, types, and constants, these by identity."""
    places: dict[Value, int] = {}
    operands = [
        (value.type, id(constant_of(value)) if constant_of(value) is not None else places.setdefault(value, len(places)))
        for value in op.operands]
    attributes = sorted((name, id(value) if isinstance(value, Dense) else repr(value)) for name, value in op.attributes.items())
    return id(_table()), op.name, *operands, *(result.type for result in op.results), *attributes


def _alone(op: Op) -> tuple[Module, list[int]]:
    """A module whose function is this op, with its constants; and which operands, by number, are the arguments."""
    moving: dict[Value, int] = {}
    for index, value in enumerate(op.operands):
        if constant_of(value) is None and not isinstance(value.type, NoneType):
            moving.setdefault(value, index)
    module = Module()
    function = module.add_function("main", [value.type for value in moving])
    block = function.regions[0].block
    mapping: dict[Value, Value] = dict(zip(moving, block.arguments, strict=True))
    for value in op.operands:
        if value not in mapping and value.op is not None:
            block.append(value.op.clone(mapping))
    set_results(function, block.append(op.clone(mapping)).results)
    return module, list(moving.values())


def _stored(type_: Type) -> np.dtype:
    """The dtype of what a tensor holds."""
    element = type_.element if isinstance(type_, TensorType) else type_
    return dtype_of(element.storage if isinstance(element, QuantType) else element)


def _as(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An array in another dtype: integers of the same width by their bits, for TOSA's have no sign, others by their numbers."""
    if array.dtype == dtype:
        return array
    alike = array.dtype.kind in "iu" and dtype.kind in "iu" and array.dtype.itemsize == dtype.itemsize
    return array.view(dtype) if alike else array.astype(dtype)
