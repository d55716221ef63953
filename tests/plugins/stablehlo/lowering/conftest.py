"""`top` ops, lowered to StableHLO: our kernels of both, and XLA, must compute the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.errors import ConversionError
from transload.ir import Module, QuantType, TensorType, Type, Value, element_type_of
from transload.ir.build import Builder
from transload.testing import build_module

from tests.support.hub_ops import evaluate as evaluate_op
from tests.support.hub_ops import make_op, near, onnx_op, rng  # noqa: F401 - fixtures

TOLERANCE = {"f8E4M3FN": 0.13, "f8E5M2": 0.26, "f16": 2e-3, "bf16": 1.6e-2, "f32": 2e-5, "f64": 1e-7}
"""Relative to a number, and half of it relative to the greatest, where sums cancel."""


def assert_same(mine: Any, wanted: Any, element: Type, tolerance: float | None = None, absolute: float = 0) -> None:
    """Floats within a tolerance, all else equal."""
    assert mine.shape == wanted.shape and mine.dtype == wanted.dtype, (mine.shape, mine.dtype, wanted.shape, wanted.dtype)
    name = getattr(element, "name", None)
    if name is None:
        np.testing.assert_array_equal(mine, wanted)
        return
    bound = tolerance if tolerance is not None else TOLERANCE[name]
    mine, wanted = np.asarray(mine, np.float64), np.asarray(wanted, np.float64)
    greatest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
    np.testing.assert_allclose(mine, wanted, rtol=bound, atol=max(0.5 * bound * greatest, absolute))


def check(
    module: Module, arrays: Sequence[Any], tolerance: float | None = None, engines: Sequence[str] = ("reference", "xla"),
    absolute: float = 0,
) -> Module:
    """The lowered module, which computes what `module` does; of a quantized one, what its lowering to TOSA does."""
    given = {f"x{i}": array for i, array in enumerate(arrays)}
    quantized = any(isinstance(getattr(value.type, "element", None), QuantType) for op in module.walk() for value in op.results)
    quantized |= any(isinstance(value.type.element, QuantType) for value in module.body_of_main.arguments)
    wanted = list(run(lower(module, "tosa") if quantized else module, given).values())
    lowered = lower(module, "stablehlo")
    elements = [value.type.element for value in lowered.body_of_main.terminator.operands]
    for engine in engines:
        mine = list(run(lowered, given, engine=engine).values())
        if quantized:  # TOSA has no unsigned types, and 32 bits where a model has 64
            pairs = zip(wanted, mine, strict=True)
            wanted = [w.view(m.dtype) if w.itemsize == m.itemsize else w.astype(m.dtype) for w, m in pairs]
        for result, expected, element in zip(mine, wanted, elements, strict=True):
            try:
                assert_same(result, expected, element, tolerance, absolute)
            except AssertionError as error:
                raise AssertionError(f"{engine}: {error}") from None
    return lowered


def check_op(
    name: str, *operands: Any, constants: Sequence[int] = (), element: Any = None, tolerance: float | None = None,
    engines: Sequence[str] = ("reference", "xla"), absolute: float = 0, **attributes: Any,
) -> Module:
    """One op on arrays (None: absent; a pair: stored integers and their quantized type)."""
    elements = [o[1] if isinstance(o, tuple) else None if o is None else element_type_of(o.dtype) for o in operands]
    arrays = [o[0] if isinstance(o, tuple) else o for o in operands]
    given = [i for i, array in enumerate(arrays) if array is not None and i not in constants]

    def make(builder: Builder, *arguments: Value) -> Any:
        places = dict(zip(given, arguments, strict=True))
        values = [
            None if array is None else places[i] if i in places else builder.constant(array, elements[i])
            for i, array in enumerate(arrays)]
        return builder.emit(f"top.{name}", *values, element=element, **attributes)

    module = build_module([TensorType(arrays[i].shape, elements[i]) for i in given], make)
    return check(module, [arrays[i] for i in given], tolerance, engines, absolute)


@pytest.fixture(scope="session")
def xla() -> None:
    """Skips where XLA is not installed."""
    pytest.importorskip("jaxlib", reason="jaxlib is not installed")


@pytest.fixture
def same(xla: None) -> Callable[..., Module]:
    """`same(make, *arrays, types=None)`: what `make(builder, *arguments)` builds is lowered rightly."""

    def compare(make: Callable[..., Any], *arrays: Any, types: Sequence[Type] | None = None, **how: Any) -> Module:
        types = types or [TensorType(array.shape, element_type_of(array.dtype)) for array in arrays]
        return check(build_module(types, make), arrays, **how)

    return compare


@pytest.fixture
def same_op(xla: None) -> Callable[..., Module]:
    return check_op


# --- the tests of the hub's ops, run again

NORMS = ("LayerNorm", "InstanceNorm", "GroupNorm")
REFUSED = ("has no type i48", "known only at run time", "quantized per axis cannot be padded")
"""What is refused, with these reasons: sizes that depend on numbers, 48-bit integers, and what TOSA refuses."""

_number = count()


@pytest.fixture(params=[48, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def run_op(request: pytest.FixtureRequest, xla: None) -> Callable[..., Any]:
    """`run_op` of the tests of `top`, which lowers the op, too; one in so many cases is run by XLA."""

    def evaluate(name: str, *operands: Any, **attributes: Any) -> Any:
        wanted = evaluate_op(name, *operands, **attributes)
        engines = ("reference", "xla") if next(_number) % request.param == 0 else ("reference",)
        # the mean of large numbers is known to a unit in their last place, and what is centred moves with it
        absolute = 0.0
        if name in NORMS and operands[0].dtype == np.float32:
            absolute = 1.1 * float(np.spacing(np.abs(operands[0]).max(initial=0)))
        try:
            check_op(name, *operands, engines=engines, absolute=absolute, **attributes)
        except ConversionError as error:
            if not any(reason in str(error) for reason in REFUSED):
                raise
        return wanted

    return evaluate
