"""Reductions to whose result it matters in which order a runtime combines, and where its initial value comes in.

StableHLO leaves both open: elements are combined by any tree that keeps their order, with any number of initial values in
between (`reduce`), updates are applied in any order (`scatter`). So results are determined where the function is associative and
the initial value its identity, up to rounding; JAX's `lax.reduce` takes any function. Whether one is so is tried, on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transload.api import run
from transload.errors import TransloadError
from transload.ir import Block, Module, Op, Region, Value
from transload.ir.constants import dtype_of
from transload.ir.types import FloatType, FunctionType, IntegerType, TensorType
from transload.trials import bring_functions

__all__ = ["combined", "depends_on_order", "reductions"]

Numbers = tuple[Any, ...]
Function = Callable[[Numbers, Numbers], Numbers]

_TRIALS = 6
_NEAR = 3e-2
"""How near two orders of a float function are where it is associative: rounding to bf16 comes between."""
_INITIAL = {"stablehlo.reduce", "stablehlo.select_and_scatter"}
"""With initial values that a runtime may leave out, or take more than once; padded windows are looked at by themselves."""
_WHERE = {
    "stablehlo.reduce": 0,
    "stablehlo.reduce_window": 0,
    "stablehlo.all_reduce": 0,
    "stablehlo.reduce_scatter": 0,
    "stablehlo.select_and_scatter": 1,
    "stablehlo.scatter": 0,
}
"""Ops that combine, and which of their regions does."""


def reductions(source: Module) -> list[Op]:
    """Ops that combine elements by a function of their own."""
    return [op for op in source.walk() if op.name in _WHERE and not _is_in_order(op)]


def _is_in_order(op: Op) -> bool:
    """Whether a scatter says that it meets each element once."""
    return op.name == "stablehlo.scatter" and op.attribute("unique_indices") is True


def combined(op: Op) -> Sequence[Value]:
    """The values whose elements are combined: those that it is applied to, and its updates where it has such."""
    count = len(op.results)
    if op.name == "stablehlo.scatter":
        return (*op.operands[:count], *op.operands[-count:])
    return op.operands[1:2] if op.name == "stablehlo.select_and_scatter" else op.operands[:count]


def depends_on_order(op: Op, initial: Sequence[Any] | None, with_nan: bool = False) -> bool:
    """Whether its function is not associative, or the initial values are none that it leaves things as they are with.

    `initial` is None where they are not known. `with_nan` says that there are NaNs among the elements: a function that is
    associative for numbers, as the larger by a comparison is, may drop them or not.
    """
    block = op.regions[_WHERE[op.name]].block
    arguments = block.arguments[:len(block.arguments) // 2]
    types = [value.type for value in arguments if isinstance(value.type, TensorType)]
    plain = all(type_.shape == () and isinstance(type_.element, FloatType | IntegerType) for type_ in types)
    if not plain or len(types) < len(arguments):
        return False  # of quantized numbers and tensors no trial is known
    trials = list(zip(*(_numbers(type_) for type_ in types), strict=True))
    try:
        function = _function(block, op)
        if initial is not None:
            initial = [np.array(number).astype(dtype_of(type_.element)) for number, type_ in zip(initial, types, strict=False)]
        each: list[tuple[Numbers, ...]] = [(trials[i], trials[i - 1], trials[i - 2]) for i in range(_TRIALS)]
        if with_nan:
            each += [tuple(_as_nan(of) if at == place else of for at, of in enumerate(three))
                     for three in each for place in range(3)]
        return any(_differs(op, function, initial, a, b, c) for a, b, c in each)
    except (TransloadError, ValueError):
        return False  # a function that cannot be tried alone


def _differs(op: Op, f: Function, initial: Sequence[Any] | None, a: Numbers, b: Numbers, c: Numbers) -> bool:
    """Whether two orders that are both allowed give different results for three elements."""
    if op.name == "stablehlo.scatter":
        return not _are_near(f(f(a, b), c), f(f(a, c), b))
    if op.name in _INITIAL and (
        initial is None or not (_are_near(f(tuple(initial), a), a) and _are_near(f(a, tuple(initial)), a))
    ):
        return True
    return not _are_near(f(f(a, b), c), f(a, f(b, c)))


def _as_nan(of: Numbers) -> Numbers:
    """With NaN for each float."""
    return tuple(number if np.issubdtype(number.dtype, np.integer) or number.dtype == np.bool_
                 else np.full_like(number, np.nan) for number in of)


def _are_near(left: Numbers, right: Numbers) -> bool:
    return all(
        np.allclose(np.asarray(one).astype(np.float64), np.asarray(other).astype(np.float64), _NEAR, _NEAR, equal_nan=True)
        for one, other in zip(left, right, strict=True)
    )


def _numbers(type_: TensorType) -> list[Any]:
    """Numbers of both signs where there are such, of which sums and products stay what they are."""
    dtype = dtype_of(type_.element)
    generator = np.random.default_rng(7)
    if dtype == np.bool_:
        return [np.array(place % 3 != 0) for place in range(_TRIALS)]
    if isinstance(type_.element, FloatType):
        return [np.array(number).astype(dtype) for number in generator.uniform(-2, 2, _TRIALS)]
    least = 0 if str(dtype).startswith("u") else -4
    return [np.array(number).astype(dtype) for number in generator.permutation(np.arange(least, least + _TRIALS + 2))[:_TRIALS]]


def _function(block: Block, op: Op) -> Function:
    """The body of a reduction as a function of two elements, with the functions of the model that it calls."""
    module, types = Module(), [value.type for value in block.arguments]
    made = module.body.append(
        Op(
            "func.func",
            (),
            (),
            {
                "sym_name": "main",
                "function_type": FunctionType(tuple(types), tuple(value.type for value in block.terminator.operands)),
            },
        )
    )
    inner, mapping = Block(types), dict[Value, Value]()
    made.add_region(Region([inner]))
    mapping.update(zip(block.arguments, inner.arguments, strict=True))
    *ops, end = block
    for op in ops:
        inner.append(op.clone(mapping))
    inner.append(Op("func.return", tuple(mapping.get(value, value) for value in end.operands)))
    bring_functions(op, module)

    def call(left: Numbers, right: Numbers) -> Numbers:
        given = dict(zip(module.inputs, (*left, *right), strict=True))
        outputs = run(module, given, engine="reference")
        return tuple(outputs.values())

    return call
