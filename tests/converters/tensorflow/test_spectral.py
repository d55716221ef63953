"""Complex numbers of TensorFlow, as numpy computes them."""

from __future__ import annotations

import numpy as np
import pytest

from transload.api import legalize, lower, run
from transload.errors import ConversionError

from tests.support.tensorflow_graphs import T, const, graph, node, placeholder, read_graph

FLOAT = T("float32")


def made_of(real: tuple[int, ...], imaginary: np.ndarray) -> object:
    """Complex of an argument and a constant, and what is left of it: its length and both parts of its square."""
    return graph(
        placeholder("x", real), const("b", imaginary), node("z", "Complex", "x", "b", T=FLOAT, Tout=T("complex64")),
        node("w", "Mul", "z", "z", T=T("complex64")), node("abs", "ComplexAbs", "z", T=T("complex64"), Tout=FLOAT),
        *(node(name, name.capitalize(), "w", T=T("complex64"), Tout=FLOAT) for name in ("real", "imag")))


@pytest.mark.parametrize(("real", "imaginary"), [((2, 3), ()), ((3,), (2, 1)), ((2, 1), (1, 4)), ((), (3,)), ((2, 3), (2, 3))])
def test_the_parts_of_complex_numbers_are_broadcast(real: tuple[int, ...], imaginary: tuple[int, ...]) -> None:
    random = np.random.default_rng(3)
    x, b = (random.uniform(-2, 2, shape).astype(np.float32) for shape in (real, imaginary))
    z = x + 1j * b
    wanted = {"abs": np.abs(z), "real": (z * z).real, "imag": (z * z).imag}
    module = read_graph(made_of(real, np.asarray(b)))
    for form in (legalize(module), lower(module, "tosa"), lower(module, "stablehlo")):
        results = run(form, {"x": x})
        for name, result in wanted.items():
            assert results[name].shape == result.shape
            np.testing.assert_allclose(results[name], result, rtol=1e-5, atol=1e-6)


def test_parts_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(ConversionError, match=r"\[2, 3\] and \[2\] do not broadcast"):
        legalize(read_graph(made_of((2, 3), np.zeros(2, np.float32))))


def test_real_numbers_have_no_imaginary_part() -> None:
    """Of what is infinite or NaN neither a difference with itself nor a product with 0 is 0."""
    complex_ = T("complex64")
    module = read_graph(graph(
        placeholder("x", (5,)), node("z", "Cast", "x", SrcT=FLOAT, DstT=complex_),
        node("imag", "Imag", "z", T=complex_, Tout=FLOAT),
        node("angle", "Angle", "z", T=complex_, Tout=FLOAT)))
    for form in (legalize(module), lower(module, "tosa")):
        results = run(form, {"x": np.array([-2, 0, np.inf, -np.inf, np.nan], np.float32)})
        np.testing.assert_array_equal(results["imag"], np.zeros(5))
        assert not np.signbit(results["imag"]).any()
        np.testing.assert_allclose(results["angle"], [np.pi, 0, 0, np.pi, np.nan], rtol=1e-6)


def test_a_quantizer_of_no_range_gives_zeros_of_what_is_infinite() -> None:
    module = read_graph(graph(placeholder("x", (3,)), node("y", "FakeQuantWithMinMaxArgs", "x", min=0.0, max=0.0)))
    results = run(legalize(module), {"x": np.array([-1, np.inf, np.nan], np.float32)})
    np.testing.assert_array_equal(results["y"], np.zeros(3))


def test_the_next_number_of_what_is_infinite() -> None:
    x, y = np.array([[np.inf, 1, -np.inf, np.nan, 1]], np.float32), np.array([[0], [np.inf]], np.float32)
    module = read_graph(graph(placeholder("x", x.shape), placeholder("y", y.shape), node("z", "NextAfter", "x", "y", T=FLOAT)))
    np.testing.assert_array_equal(run(legalize(module), {"x": x, "y": y})["z"], np.nextafter(x, y))
