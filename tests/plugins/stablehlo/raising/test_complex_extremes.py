"""Complex numbers that are huge, tiny or infinite: the hub's formulas do not overflow where the number itself does not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import transload
from transload.text import parse_module

from .raising import load

NUMBERS = (0.0, 1.0, -1.0, 0.5, -2.0, 1e-20, 1e-30, 1e20, -1e20, 3e38, -3e38)
POINTS = np.array([complex(a, b) for a in NUMBERS for b in NUMBERS], np.complex64)
UNARY = (
    "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine", "cosine", "sqrt", "tan", "tanh",
    "sign")


def _parts(op: str, *operands: np.ndarray) -> list[list[np.ndarray]]:
    """Real and imaginary parts by the dialect's own kernels, in double precision, and by the hub in single."""
    count = len(operands[0])
    real, whole = f"tensor<{count}xf32>", f"tensor<{count}xcomplex<f32>>"
    parts = [f"%a{index}" for index in range(2 * len(operands))]
    lines = [f'%c{index} = "stablehlo.complex"({parts[2 * index]}, {parts[2 * index + 1]}) : ({real}, {real}) -> {whole}'
             for index in range(len(operands))]
    numbers = ", ".join(f"%c{index}" for index in range(len(operands)))
    types = ", ".join([real] * len(parts))
    lines += [f'%r = "stablehlo.{op}"({numbers}) : ({", ".join([whole] * len(operands))}) -> {whole}',
              f'%x = "stablehlo.real"(%r) : ({whole}) -> {real}', f'%y = "stablehlo.imag"(%r) : ({whole}) -> {real}']
    module = parse_module(
        f'"func.func"() <{{function_type = ({types}) -> ({real}, {real}), sym_name = "main"}}> ({{\n'
        f'^bb0({", ".join(f"{name}: {real}" for name in parts)}):\n' + "\n".join(lines)
        + f'\n"func.return"(%x, %y) : ({real}, {real}) -> ()\n}}) : () -> ()\n')
    given = {f"arg{index}": array for index, array in enumerate(part for z in operands for part in (z.real, z.imag))}
    hub = transload.lower(module.clone(), to="top")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [list(transload.run(each, given, engine="reference").values()) for each in (module, hub)]


def _both(op: str, *operands: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    exact, made = _parts(op, *operands)
    return exact[0] + 1j * np.where(np.isinf(exact[1]), 0, exact[1]), made[0] + 1j * np.where(np.isinf(made[1]), 0, made[1])


def _agree(exact: np.ndarray, made: np.ndarray) -> np.ndarray:
    finite = np.isfinite(exact.real) & np.isfinite(exact.imag)
    made, exact = np.where(finite, made, 0), np.where(finite, exact, 0)
    near = np.abs(made - exact) <= 2e-5 * np.abs(exact) + 1e-37
    return near | ~finite


@pytest.mark.parametrize("op", UNARY)
def test_what_is_finite_is_computed(op: str) -> None:
    points = POINTS[POINTS.imag != 0] if op in ("sqrt", "rsqrt", "log") else POINTS  # on the cut, a zero's sign would count
    exact, made = _both(op, points)
    assert np.isfinite(exact).mean() > 0.4
    wrong = ~_agree(exact, made)
    assert not wrong.any(), list(zip(points[wrong], exact[wrong], made[wrong], strict=True))[:5]


def test_division() -> None:
    order = np.random.default_rng(0).permutation(len(POINTS))
    divisors = POINTS[order]
    exact, made = _both("divide", POINTS, divisors)
    inside = np.abs(np.log10(np.maximum(np.abs(POINTS), 1e-30)) - np.log10(np.maximum(np.abs(divisors), 1e-30))) < 37
    wrong = ~_agree(exact, made) & inside & (divisors != 0)
    assert not wrong.any(), list(zip(POINTS[wrong], divisors[wrong], exact[wrong], made[wrong], strict=True))[:5]


@pytest.mark.parametrize(("op", "point", "wanted"), [
    ("exponential", complex(-np.inf, -np.inf), 0), ("exponential", complex(-np.inf, np.inf), 0),
    ("exponential_minus_one", complex(-np.inf, 1), -1), ("logistic", complex(-1e30, 0), 0), ("rsqrt", complex(1, np.inf), 0),
    ("log_plus_one", complex(3e38, 3e38), complex(np.log(np.hypot(3e38, 3e38)), np.pi / 4)), ("tanh", complex(1e30, 1), 1)])
def test_limits(op: str, point: complex, wanted: complex) -> None:
    exact, made = _both(op, np.array([point], np.complex64))
    np.testing.assert_allclose(exact, wanted, rtol=1e-6, atol=1e-30)
    np.testing.assert_allclose(made, wanted, rtol=1e-6, atol=1e-30)


@pytest.mark.parametrize("over", [complex(np.inf, np.inf), complex(-np.inf, np.inf), complex(1, -np.inf)])
def test_over_what_is_infinite(over: complex) -> None:
    """Infinite over infinite parts was NaN: so was a sigmoid far to the left."""
    for each in _both("divide", np.array([1 + 2j, 0, -3], np.complex64), np.array([over] * 3, np.complex64)):
        assert not each.any(), (over, each)


@pytest.mark.parametrize("op", ["divide", "power"])
def test_at_the_ends(op: str) -> None:
    """What is infinite over what is finite, and anything over zero or over infinity and NaN, was NaN; so was `z^0` there."""
    ends = np.array([0, 1, -2, np.inf, -np.inf, np.nan], np.float32)
    points = np.empty((6, 6), np.complex64)
    points.real, points.imag = ends[:, None], ends
    exact, made = _both(op, np.repeat(points.ravel(), 36), np.tile(points.ravel(), 36))
    known = ~np.isnan(exact)
    assert known.sum() > 100
    np.testing.assert_allclose(made[known], exact[known], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("op", "point", "real", "imag"), [
    ("sign", complex(1, np.inf), 0.0, np.nan), ("sign", complex(-np.inf, -2), np.nan, -0.0),
    ("tanh", complex(np.inf, np.inf), 1.0, 0.0),
    ("tanh", complex(-np.inf, np.nan), -1.0, 0.0), ("tanh", complex(1e30, np.inf), np.nan, np.nan),
    ("tanh", complex(np.nan, -0.0), np.nan, -0.0), ("tan", complex(1, np.inf), 0.0, 1.0),
    ("tan", complex(np.nan, -np.inf), 0.0, -1.0),
    ("rsqrt", complex(-1, -0.0), 0.0, 1.0), ("rsqrt", complex(-4, 0.0), 0.0, -0.5), ("rsqrt", complex(np.inf, np.nan), 0.0, 0.0)])
def test_parts_of_what_is_special(op: str, point: complex, real: float, imag: float) -> None:
    """What XLA gives (jaxlib 0.10)."""
    for parts in _parts(op, np.array([point], np.complex64)):
        np.testing.assert_allclose(np.ravel(parts), [real, imag], rtol=1e-6, atol=1e-30)


def test_a_power_turns_by_no_angle_that_is_infinite() -> None:
    """XLA has NaN, as the dialect's kernel, though the size is 0; the hub had 0."""
    for parts in _parts("power", np.array([1j], np.complex64), np.array([complex(0, np.inf)], np.complex64)):
        assert np.isnan(parts).all()


def test_real_numbers_have_no_imaginary_part() -> None:
    """A product with 0 is -0 of a negative number, where the logarithm has -pi, and NaN of what is infinite."""
    module = load("""
        func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
          %z = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
          %i = stablehlo.imag %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
          %l = stablehlo.log %z : tensor<4xcomplex<f32>>
          %a = stablehlo.imag %l : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
          return %i, %a : tensor<4xf32>, tensor<4xf32>
        }""")
    x = np.array([-2, np.inf, -np.inf, np.nan], np.float32)
    for stage in (module, transload.lower(module.clone(), to="top"), transload.lower(module.clone(), to="tosa")):
        imag, angle = transload.run(stage, {next(iter(stage.inputs)): x}, engine="reference").values()
        np.testing.assert_array_equal(imag, np.zeros(4))
        assert not np.signbit(imag).any()
        np.testing.assert_allclose(angle, [np.pi, 0, np.pi, np.nan], rtol=1e-6)


def test_a_composite_takes_complex_numbers() -> None:
    """`jax.numpy.sinh` is one: what it means is no border of the program, and was refused as one."""
    module = load("""
        func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
          %z = stablehlo.complex %x, %x : tensor<2xcomplex<f32>>
          %w = stablehlo.composite "chlo.own" %z {decomposition = @own, version = 1 : i32} :
            (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
          %r = stablehlo.imag %w : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
          return %r : tensor<2xf32>
        }
        func.func private @own(%z: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
          %w = stablehlo.multiply %z, %z : tensor<2xcomplex<f32>>
          return %w : tensor<2xcomplex<f32>>
        }""")
    given = {next(iter(module.inputs)): np.array([1, -3], np.float32)}
    (result,) = transload.run(transload.lower(module, to="tosa"), given).values()
    np.testing.assert_array_equal(result, [2, 18])
