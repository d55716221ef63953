"""Matrices of Fourier transforms: what is real of real signals is real, and phases have the sign that numpy gives them."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.ir import F32, ComplexType, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload_hub.spectral import basis, mirrored_basis, waves

LENGTHS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 31, 60, 256)


@pytest.mark.parametrize("length", LENGTHS)
def test_waves_are_exact_where_symmetry_says_so(length: int) -> None:
    cosine, sine = waves(length, length, length)
    turns = np.outer(np.arange(length), np.arange(length)) % length
    np.testing.assert_allclose(cosine, np.cos(2 * np.pi * turns / length), rtol=0, atol=2e-15)
    np.testing.assert_allclose(sine, np.sin(2 * np.pi * turns / length), rtol=0, atol=2e-15)
    quarters = 4 * turns % length == 0
    assert set(np.unique(np.abs(cosine[quarters]))) <= {0.0, 1.0} and set(np.unique(np.abs(sine[quarters]))) <= {0.0, 1.0}
    np.testing.assert_array_equal(cosine, cosine[:, -np.arange(length)])
    np.testing.assert_array_equal(sine, -sine[:, -np.arange(length)])
    for each in (cosine, sine, basis(length, length, 2), basis(length, length, 2, True), mirrored_basis(length)):
        assert not np.signbit(each[each == 0]).any()


@pytest.mark.parametrize("length", [2, 4, 6, 16, 60])
def test_a_real_signal_has_real_numbers_at_both_ends_of_its_spectrum(length: int) -> None:
    module = new_module()
    main = module.add_function("main", [TensorType((8, length), F32)], ["signal"])
    builder, spectrum = Builder(module.body_of_main), (8, length // 2 + 1)
    whole = builder.create(
        "stablehlo.fft", module.body_of_main.arguments, [TensorType(spectrum, ComplexType(F32))],
        {"fft_type": "RFFT", "fft_length": (length,)}).results[0]
    parts = [builder.create(f"stablehlo.{part}", (whole,), [TensorType(spectrum, F32)]).results[0] for part in ("real", "imag")]
    set_results(main, parts, ["real", "imaginary"])
    signal = np.random.default_rng(length).normal(size=(8, length)).astype(np.float32)
    signal[0], signal[1] = np.abs(signal[0]), -np.abs(signal[1])
    for dialect in ("top", "tosa"):
        lowered = transload.lower(module, dialect)
        for engine in ("reference", "auto"):
            real, imaginary = transload.run(lowered, {next(iter(lowered.inputs)): signal}, engine=engine).values()
            wanted = np.fft.rfft(signal)
            np.testing.assert_allclose(real + 1j * imaginary, wanted, atol=1e-4)
            ends = imaginary[:, [0, -1]]
            assert not ends.any() and not np.signbit(ends).any(), dialect
            np.testing.assert_allclose(np.arctan2(imaginary, real), np.angle(wanted), atol=1e-3)
