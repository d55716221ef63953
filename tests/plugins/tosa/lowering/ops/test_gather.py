"""Reading and writing by subscripts, ordering, and tensors made of little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.ir import F32, I8, I32, QuantType

Same = Callable[..., Any]

QUANTIZED = QuantType(I8, F32, (0.1,), (3,))
KINDS = {"f32": (np.float32, None), "i32": (np.int32, None), "i8": (np.int8, QUANTIZED), "i1": (bool, None)}
RNG = np.random.default_rng(0)


def _indices(low: int, high: int, *shape: int) -> np.ndarray:
    return RNG.integers(low, high, shape).astype(np.int32)


@pytest.fixture(params=list(KINDS))
def case(request: Any, same_op: Same, sample: Any) -> Callable[..., Any]:
    dtype, element = KINDS[request.param]
    quantized = {"element": element, "result": element} if element is not None else {}

    def run(name: str, *operands: Any, **attributes: Any) -> Any:
        """Shapes become samples of the kind; arrays are taken as they are."""
        arrays = [sample(dtype, *operand) if isinstance(operand, tuple) else operand for operand in operands]
        return same_op(name, *arrays, **quantized, **attributes)

    run.kind = request.param  # type: ignore[attr-defined]
    return run


@pytest.mark.parametrize("constants", [(), (1,)])
def test_gather(case: Any, constants: Any) -> None:
    for axis in (0, 1, -1):
        case("Gather", (4, 4, 4), _indices(-4, 4, 3, 2), axis=axis, constants=constants)
    case("Gather", (2, 4, 3), _indices(-3, 3, 2, 5), axis=2, batch_dims=1, constants=constants)
    case("Gather", (2, 4, 3), _indices(-4, 4, 2, 5), axis=1, batch_dims=1, constants=constants)
    case("Gather", (4, 5), np.array(-1, np.int32), axis=1, constants=constants)
    case("Gather", (300, 40), _indices(0, 40, 100), axis=1, constants=constants)  # the other dimensions move


def test_subscripts_in_a_row_are_a_slice(case: Any) -> None:
    names = {op.name for op in case("Gather", (4, 5), np.array([1, 2, 3], np.int32), axis=1, constants=[1]).ops()}
    assert "tosa.gather" not in names and "tosa.slice" in names


@pytest.mark.parametrize("constants", [(), (1,)])
def test_gather_by_several_subscripts(case: Any, constants: Any) -> None:
    case("GatherND", (4, 5, 3), _indices(-4, 4, 2, 3, 2), constants=constants)
    case("GatherND", (2, 5, 3), _indices(0, 5, 2, 3, 1), batch_dims=1, constants=constants)
    case("GatherND", (4, 5, 3), _indices(-3, 3, 7, 3), constants=constants)
    case("GatherElements", (4, 5, 3), _indices(-4, 4, 2, 5, 3), axis=0, constants=constants)
    case("GatherElements", (4, 5, 3), _indices(-3, 3, 4, 2, 5), axis=-1, constants=constants)


def test_one_number_is_written_to_a_row_however_often(case: Any, sample: Any) -> None:
    """Six updates of run time into four rows: which of them is last does not matter, as all are the same."""
    number = np.ones((6, 3), bool if case.kind == "i1" else np.int8 if case.kind == "i8" else KINDS[case.kind][0])
    case("ScatterND", (4, 3), _indices(-2, 2, 6, 1), number, constants=(2,))
    case("ScatterElements", (4, 3), _indices(1, 3, 6, 3), number, axis=0, constants=(2,))


def test_zeros_of_either_sign_are_written_to_the_bit(same_op: Same, sample: Any) -> None:
    """They are equal, and not one number."""
    places, number = RNG.permutation(4).astype(np.int32).reshape(4, 1), np.zeros((4, 3), np.float32)
    number[:, 1] = -0.0
    made = same_op("ScatterND", sample(np.float32, 4, 3), places, number, constants=(2,))
    assert "tosa.scatter" in {op.name for op in made.ops()}


@pytest.mark.parametrize("constants", [(), (1,)])
def test_scatter(case: Any, constants: Any) -> None:
    places = np.stack([[0, 3, 2], [4, 1, 1]], -1).astype(np.int32)
    case("ScatterND", (4, 5, 3), places, (3, 3), constants=constants)
    columns = np.stack([RNG.permutation(4)[:2] for _ in range(5)], 1).astype(np.int32)
    case("ScatterElements", (4, 5), columns, (2, 5), axis=0, constants=constants)
    if constants:  # of updates of one row the last stays
        case("ScatterND", (4, 5), _indices(-2, 2, 6, 1), (6, 5), constants=constants)


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("constants", [(), (1,)])
def test_scatter_with_reduction(case: Any, reduction: str, constants: Any) -> None:
    if case.kind == "i1" or (case.kind == "i8" and reduction in ("add", "mul")):
        pytest.skip("not of truth values; of quantized numbers only extremes")
    case("ScatterND", (4, 5), _indices(-2, 2, 6, 1), (6, 5), reduction=reduction, constants=constants)
    case("ScatterElements", (4, 5), _indices(0, 5, 4, 7), (4, 7), axis=1, reduction=reduction, constants=constants)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [1, 3, 9])
def test_greatest_elements(same_op: Same, k: int, largest: bool) -> None:
    for dtype in (np.float32, np.int32, np.int8):
        x = RNG.integers(-4, 5, (3, 11, 2)).astype(dtype)  # with many equal elements
        same_op("TopK", x, axis=1, k=k, largest=largest)
    same_op("TopK", np.array([[-np.inf, 1, -np.inf, 2]], np.float32), k=4, largest=largest)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_sums(same_op: Same, sample: Any, exclusive: bool, reverse: bool) -> None:
    for dtype in (np.float32, np.int32):
        same_op("CumSum", sample(dtype, 3, 7, 2), axis=1, exclusive=exclusive, reverse=reverse)
        same_op("CumSum", sample(dtype, 1), axis=-1, exclusive=exclusive, reverse=reverse)


def test_one_hot(same_op: Same) -> None:
    on, off = np.array(5, np.float32), np.array(-1, np.float32)
    same_op("OneHot", _indices(-3, 6, 2, 3), on, off, depth=4, axis=1)
    same_op("OneHot", _indices(-3, 6, 2, 3), on.astype(np.int32), off.astype(np.int32), depth=4, constants=[1, 2])


def test_triangles_and_constants(same_op: Same, sample: Any) -> None:
    same_op("Trilu", sample(np.float32, 2, 3, 4), k=1)
    same_op("Trilu", sample(np.int8, 3, 4), k=-1, upper=False, element=QUANTIZED, result=QUANTIZED)
    same_op("Fill", np.array(2.5, np.float32), shape=(2, 3))
    same_op("Fill", np.array(7, np.int32), shape=(2, 3), constants=[0])
    same_op("EyeLike", sample(np.float32, 3, 4), k=1)
    same_op("Shape", sample(np.float32, 3, 4), result=I32)
