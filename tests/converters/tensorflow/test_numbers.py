"""Ops whose numbers TensorFlow computes in their own type, or to its ends; what it gives is written down here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload

from tests.support.tensorflow_graphs import T, const, graph, node, placeholder, read_graph

INF = np.inf


def computed(op: str, x: np.ndarray, *operands: Any, **attributes: Any) -> np.ndarray:
    """What the hub makes of an op of one input and constants."""
    constants = [const(f"c{place}", np.asarray(value)) for place, value in enumerate(operands)]
    made = node("y", op, "x", *(f"c{place}" for place in range(len(operands))), T=T(x.dtype.name), **attributes)
    module = read_graph(graph(placeholder("x", x.shape, x.dtype.name), *constants, made))
    (found,) = transload.run(transload.legalize(module), {"x": x}).values()
    assert isinstance(found, np.ndarray) and found.dtype == x.dtype
    return found


def test_selu_of_f64_has_its_constants_in_full() -> None:
    x = np.array([0.3, -0.7, 2.5])
    wanted = [0.31521029620664415, -0.8850530455772053, 2.626752468388701]
    np.testing.assert_allclose(computed("Selu", x), wanted, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("row", "ways", "wanted"), [
    ([-INF, 1, 2], {}, [-INF, 1, 2.3132617]), ([-INF, 1, 2], {"exclusive": True}, [-INF, -INF, 1]),
    ([-INF, -INF, 1], {}, [-INF, -INF, 1]), ([1, 2, -INF], {"reverse": True}, [2.3132617, 2, -INF]),
    ([1, INF, 2, -INF], {}, [1, INF, INF, INF]), ([1, INF, 2, -INF], {"reverse": True}, [INF, INF, 2, -INF]),
])
def test_running_logarithms_of_sums_to_the_ends(dtype: str, row: list[float], ways: dict[str, bool], wanted: list[float]) -> None:
    """What is infinitely little stays so where it is the first, where it was the least finite number."""
    found = computed("CumulativeLogsumexp", np.array(row, dtype), np.int32(0), **ways)
    np.testing.assert_allclose(found, np.array(wanted), rtol=2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_running_logarithms_of_sums_are_finite_on_the_way(reverse: bool) -> None:
    """What is infinite has no range to quantize, and a model of finite numbers has to be quantized."""
    x = np.random.default_rng(0).normal(size=(2, 6)).astype(np.float32)
    made = node("y", "CumulativeLogsumexp", "x", "axis", T=T("float32"), Tidx=T("int32"), reverse=reverse)
    hub = transload.legalize(read_graph(graph(placeholder("x", x.shape), const("axis", np.int32(1)), made)))
    (found,) = transload.run(transload.quantize(hub, "int8", [{"x": x}]), {"x": x}).values()
    ways = x[:, ::-1] if reverse else x
    wanted = np.log(np.cumsum(np.exp(ways), axis=1))
    np.testing.assert_allclose(found, wanted[:, ::-1] if reverse else wanted, atol=0.1)


@pytest.mark.parametrize(("dtype", "row", "wanted"), [
    ("uint8", [3, 4, 100], 6), ("int8", [3, 4, 100], 6), ("uint16", [200, 100, 3], 223), ("int32", [60000, 40000, 3], 30083),
    ("int64", [60000, 40000, 3], 72111),
])
def test_euclidean_norms_of_integers_are_of_squares_in_their_type(dtype: str, row: list[int], wanted: int) -> None:
    assert computed("EuclideanNorm", np.array(row, dtype), np.array([0], np.int32)).item() == wanted


def test_a_euclidean_norm_over_nothing_is_of_squares_too() -> None:
    assert computed("EuclideanNorm", np.array([3, 17, 100, 255], np.uint8), np.zeros(0, np.int32)).tolist() == [3, 5, 4, 1]


@pytest.mark.parametrize("policy", ["", "IGNORE"])
def test_subscripts_of_no_columns_mean_the_whole(policy: str) -> None:
    """None of them is outside, and what they write is the tensor."""
    updates, indices, ground = np.ones((3, 2, 6), np.float32), np.zeros((3, 0), np.int32), np.full((2, 6), 0.5, np.float32)
    module = read_graph(graph(
        placeholder("x", updates.shape), const("i", indices), const("g", ground),
        node("y", "TensorScatterAdd", "g", "i", "x", T=T("float32"), Tindices=T("int32"), bad_indices_policy=policy),
        node("z", "GatherNd", "x", "i", Tparams=T("float32"), Tindices=T("int32"), bad_indices_policy=policy)))
    found = transload.run(transload.legalize(module), {"x": updates})
    np.testing.assert_array_equal(found["y"], ground + 3)
    np.testing.assert_array_equal(found["z"], np.ones((3, 3, 2, 6), np.float32))


def test_the_bits_of_one_constant_number_are_a_row() -> None:
    """A single number became a row of one when its bits were read as narrower numbers: [1, 2] for [2]."""
    held, made = const("n", np.int64((3 << 32) + 5)), node("y", "Bitcast", "n", T=T("int64"), type=T("int32"))
    x = np.ones(2, np.int32)
    total = node("z", "Mul", "x", "y", T=T("int32"))
    hub = transload.legalize(read_graph(graph(placeholder("x", x.shape, "int32"), held, made, total)))
    (found,) = transload.run(hub, {"x": x}).values()
    assert found.tolist() == [5, 3]


@pytest.mark.parametrize("first", ["Maximum", "Minimum"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_size_of_which_the_least_is_the_greatest_is_known(first: str, turned: bool) -> None:
    """As `tf.math.bincount` writes it, of `minlength` and `maxlength`, and as its mirror; not where one leaves room."""
    def network(inner: int, outer: int) -> transload.Module:
        second = "Minimum" if first == "Maximum" else "Maximum"
        ends = [("c0", "longest"), ("c1", "within")]
        return read_graph(graph(
            placeholder("x", (4,), "int32"), const("axis", np.array([0], np.int32)),
            const("c0", np.int32(inner)), const("c1", np.int32(outer)), const("weights", np.zeros(0, np.float32)),
            node("longest", "Max", "x", "axis", T=T("int32"), Tidx=T("int32")),
            node("within", first, *ends[0][:: -1 if turned else 1], T=T("int32")),
            node("size", second, *ends[1][:: -1 if turned else 1], T=T("int32")),
            node("y", "DenseBincount", "x", "size", "weights", T=T("float32"), Tidx=T("int32"))))

    x = np.array([1, 1, 5, 0], np.int32)
    beyond = 8 if first == "Maximum" else 4
    for inner in (6, beyond):
        (found,) = transload.run(transload.legalize(network(inner, 6)), {"x": x}).values()
        assert found.tolist() == [1, 2, 0, 0, 0, 1]
    with pytest.raises(transload.TransloadError, match="the number of bins must be a constant"):
        transload.legalize(network(12 - beyond, 6))
