"""Checking an op: declaration, text, inference, kernel, lowerings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api import lower, run
from ..ir import Module, QuantType, TensorType, Type, dtype_of, input_names
from ..ir.verify import check
from .models import build_op

__all__ = ["check_op"]


def check_op(
    name: str, *inputs: np.ndarray | None, reference: Callable[..., Any] | None = None, lowers_to: Sequence[str] = (),
    rtol: float = 1e-5, atol: float = 1e-6, steps: int = 0, element: Type | None = None, types: Sequence[Type] | None = None,
    input_elements: Sequence[Type | None] = (), constant: Sequence[int] = (), **attributes: Any,
) -> Module:
    """Check an op on these inputs and attributes, in all the ways the package's docstring lists.

    `reference(*inputs)` gives the expected result (or a tuple of them). Floats must agree within
    `rtol` and `atol`, integers within `steps`. Returns the one-op module for further checks.
    """
    module = build_op(
        name, *inputs, element=element, types=types, input_elements=input_elements, constant=constant, **attributes)
    findings = check(module)
    assert not findings, f"{name} does not verify:\n" + "\n".join(map(str, findings))
    _check_text(module, name)
    arguments = [array for index, array in enumerate(inputs) if array is not None and index not in constant]
    given = dict(zip(input_names(module.main), arguments, strict=True))
    made = run(module, given)
    _check_inference(module, made, name)
    if reference is not None:
        expected = reference(*[array for array in inputs if array is not None])
        expected = expected if isinstance(expected, tuple | list) else (expected,)
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


def _check_near(want: Any, have: np.ndarray, rtol: float, atol: float, steps: int, message: str) -> None:
    want = np.asarray(want)
    if have.dtype.kind in "iub":
        worst = int(np.abs(want.astype(np.int64) - have.astype(np.int64)).max(initial=0))
        assert worst <= steps, f"{message} by {worst} steps"
    else:
        np.testing.assert_allclose(have.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol, err_msg=message)
