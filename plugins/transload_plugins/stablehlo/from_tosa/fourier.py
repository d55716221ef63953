"""Fourier transforms (2.3.6, 2.3.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.ir import F32, TensorType, Value
from transload.ir.types import ComplexType
from transload.rewrite import Rewriter, RewriteTable

from .. import build
from .common import static

if TYPE_CHECKING:
    from ...tosa.dialect.product import Fft2d, Rfft2d

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _parts(rw: Rewriter, x: Value) -> list[Value]:
    return [rw.emit(f"stablehlo.{name}", x) for name in ("real", "imag")]


@TABLE("tosa.fft2d")
def fft2d(op: Fft2d, rw: Rewriter) -> list[Value]:
    """Both directions unscaled, where the inverse one of StableHLO is divided by the number of elements."""
    _, height, width = static(op.input_real)
    whole = rw.emit("stablehlo.complex", op.input_real, op.input_imag)
    kind = "IFFT" if op.inverse else "FFT"
    parts = _parts(rw, rw.emit("stablehlo.fft", whole, fft_type=kind, fft_length=(height, width)))
    if op.inverse:
        parts = [build.binary(rw, "multiply", part, height * width) for part in parts]
    return parts


@TABLE("tosa.rfft2d")
def rfft2d(op: Rfft2d, rw: Rewriter) -> list[Value]:
    """The half of the spectrum that real input leaves free."""
    batch, height, width = static(op.input_real)
    type_ = TensorType((batch, height, width // 2 + 1), ComplexType(F32))
    return _parts(rw, rw.emit("stablehlo.fft", op.input_real, types=[type_], fft_type="RFFT", fft_length=(height, width)))
