"""Checking an op: declaration, text, inference, kernel, lowerings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ..api import lower, run
from ..ir import Module, QuantType, TensorType, Type, dtype_of, input_names
from ..ir.verify import check
from ..lending import copied
from .models import build_op

__all__ = ["check_op"]

_GREATEST = float(np.finfo(np.float64).max)


def check_op(
    name: str, *inputs: np.ndarray | None, reference: Callable[..., Any] | None = None, lowers_to: Sequence[str] = (),
    rtol: float = 1e-5, atol: float | None = None, steps: int = 0, element: Type | None = None,
    types: Sequence[Type] | None = None, input_elements: Sequence[Type | None] = (), constant: Sequence[int] = (),
    **attributes: Any,
) -> Module:
    """Check an op on these inputs and attributes, in all the ways the package's docstring lists.

    `reference(*inputs)` gives the expected result (or a tuple of them), of the kernel's shape; it is given copies of the inputs,
    and may compute in place. Floats must agree within
    `rtol` and `atol` (a millionth, and of results below one a millionth of the largest, where it is None), integers within
    `steps`. What compares nothing fails: results that are all empty, and zeros or NaN made of nothing but such; a lowering to the
    op's own dialect, which leaves it as it is. Returns the one-op module for further checks.
    """
    assert not isinstance(lowers_to, str), f"lowers_to is a tuple of dialects: ({lowers_to!r},), and is {lowers_to!r}"
    _need_limits(rtol, atol, steps)
    own = name.partition(".")[0]
    assert own not in lowers_to, f"{name} is of the dialect {own} already: lowering it to that compares the kernel with itself"
    module = build_op(
        name, *inputs, element=element, types=types, input_elements=input_elements, constant=constant, **attributes)
    findings = check(module)
    assert not findings, f"{name} does not verify:\n" + "\n".join(map(str, findings))
    _check_text(module, name)
    arguments = [array for index, array in enumerate(inputs) if array is not None and index not in constant]
    given = dict(zip(input_names(module.main), arguments, strict=True))
    made = run(module, given)
    _check_inference(module, made, name)
    if reference is not None or lowers_to:
        _check_telling(name, [array for array in inputs if array is not None], [*made.values()])
    if reference is not None:
        expected = reference(*[copied(array) for array in inputs if array is not None])
        expected = expected if isinstance(expected, tuple | list) else (expected,)
        assert len(expected) == len(made), f"{name}: the reference gives {len(expected)} results, and the op has {len(made)}"
        for index, (want, have) in enumerate(zip(expected, made.values(), strict=True)):
            _check_near(want, have, rtol, atol, steps, f"{name}: the kernel's result {index} differs from the reference")
    for dialect in lowers_to:
        lowered = lower(module, dialect)
        left = {op.name for op in lowered.ops() if op.dialect not in (dialect, "func", "builtin")}
        assert not left, f"{name}: the lowering to {dialect} leaves {', '.join(sorted(left))}"
        _check_text(lowered, f"{name} lowered to {dialect}")
        for (label, want), have in zip(made.items(), run(lowered, given).values(), strict=True):
            _check_near(want, have, rtol, atol, steps, f"{name}: lowered to {dialect}, {label} differs from the kernel")
    return module


def _need_limits(rtol: Any, atol: Any, steps: Any) -> None:
    """What results are to keep to: numbers from 0 on. Nothing keeps to less, and everything to what is infinite or NaN."""
    for name, limit in (("rtol", rtol), ("atol", 0.0 if atol is None else atol)):
        is_one = isinstance(limit, int | float | np.integer | np.floating)
        assert is_one and 0 <= limit <= _GREATEST, f"{name} is a number from 0 on, and is {limit!r:.100}"
    assert isinstance(steps, Integral) and int(steps) >= 0, f"steps is a whole number from 0 on, and is {steps!r:.100}"


def _check_text(module: Module, what: str) -> None:
    """Printed, parsed and printed again, a module is the same text."""
    from ..text import parse_module, print_module

    once = print_module(module, constants="inline")
    twice = print_module(parse_module(once), constants="inline")
    assert once == twice, f"{what} changes in text: {_first_difference(once, twice)}"


def _first_difference(one: str, other: str) -> str:
    for a, b in zip(one.splitlines(), other.splitlines(), strict=False):
        if a != b:
            return f"{a.strip()!r} becomes {b.strip()!r}"
    return "one is longer"


def _check_inference(module: Module, made: dict[str, np.ndarray], name: str) -> None:
    """What inference promises is what the kernel makes."""
    for value, array in zip(module.body_of_main.terminator.operands, made.values(), strict=True):
        type_ = value.type
        if not isinstance(type_, TensorType) or type_.shape is None:
            continue
        fits = len(type_.shape) == array.ndim and all(n in (None, m) for n, m in zip(type_.shape, array.shape, strict=True))
        assert fits, f"{name}: inference says {type_}, the kernel makes shape {array.shape}"
        stored = type_.element.storage if isinstance(type_.element, QuantType) else type_.element
        assert array.dtype == dtype_of(stored), f"{name}: inference says {type_}, the kernel makes {array.dtype}"


def _check_telling(name: str, inputs: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    """Results by which an op can be told from another: what all give of zeros, of NaN or of nothing is right of no op."""
    assert any(array.size for array in results), (
        f"{name}: nothing is compared, as all of its results are empty; check it on inputs of which it gives numbers")
    given = [array for array in map(np.asarray, inputs) if array.size]
    told = any(bool(((array != 0) & (array == array)).any()) for array in [*given, *results])
    assert told or not given, (
        f"{name}: nothing is compared, as inputs and results are zeros or NaN alone; check it on numbers that it tells apart")


def _wide(array: np.ndarray) -> np.ndarray:
    """Integers of fewer bits than numpy has in 8; all others as they are."""
    return array.astype(np.int8) if array.dtype.name in ("int2", "int4", "uint2", "uint4") else array


def _check_near(want: Any, have: np.ndarray, rtol: float, atol: float | None, steps: int, message: str) -> None:
    want, have = _wide(np.asarray(want)), _wide(have)
    assert want.shape == have.shape, f"{message}: it is of shape {have.shape}, where {want.shape} is wanted"
    if have.dtype.kind in "iub" and want.dtype.kind in "iub":
        differ = want != have
        worst = max((abs(int(a) - int(b)) for a, b in zip(want[differ], have[differ], strict=True)), default=0)
        assert worst <= steps, f"{message} by {worst} steps"
        return
    whole = have.dtype.kind in "iub"
    wide = np.complex128 if "c" in (want.dtype.kind, have.dtype.kind) else np.float64
    want, have = want.astype(wide), have.astype(wide)
    if whole:
        rtol, atol = 0.0, float(steps)
    elif atol is None:
        largest = np.abs(want[np.isfinite(want)]).max(initial=0)
        atol = 1e-6 * min(1, largest or 1)
    np.testing.assert_allclose(have, want, rtol=rtol, atol=atol, err_msg=message)
