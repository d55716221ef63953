"""Quantization."""

from __future__ import annotations

from .spec import Tensor, cases, each, ints, scalar, values, x

_WIDE = {"low": -3.0, "high": 3.0}
_LOW, _HIGH = scalar(-1.3, "float32"), scalar(2.1, "float32")
_TYPES = each("qint8", "quint8")
_I32 = {"quantization_min_val": -2147483648, "quantization_max_val": 2147483647}


def _steps(*scales: float) -> tuple[Tensor, Tensor]:
    """Constant scales, and zero points that are 0; of one scale scalars."""
    return (scalar(scales[0], "float32"), scalar(0)) if len(scales) == 1 else (
        values(list(scales), "float32").const, ints(*[0] * len(scales)))


def _between(side: str, kind: str) -> dict[str, int]:
    """The attributes that say the least and the greatest number of an operand or result: those of its type."""
    least, most = (-128, 127) if kind == "qint8" else (-2147483648, 2147483647)
    return {f"{side}_quantization_min_val": least, f"{side}_quantization_max_val": most}


CASES = [
    *cases("FakeQuantWithMinMaxArgs", x(3, 7, **_WIDE), ways=[
        {"min": -1.3, "max": 2.1}, {"min": 0.0, "max": 6.0}, {"min": -6.0, "max": 6.0}], num_bits=each(8, 4, 16),
        narrow_range=each(False, True)),
    *cases("FakeQuantWithMinMaxVars", x(3, 7, **_WIDE), _LOW, _HIGH, num_bits=each(8, 5), narrow_range=each(False, True)),
    *cases("FakeQuantWithMinMaxVarsPerChannel", each(x(4, 3, **_WIDE), x(2, 2, 3, **_WIDE).const),
           values([-1.0, -2.0, 0.0], "float32").const, values([1.0, 0.5, 3.0], "float32").const, num_bits=each(8, 4),
           narrow_range=each(False, True)),
    *cases("QuantizeAndDequantizeV2 QuantizeAndDequantizeV4", x(3, 7, **_WIDE), _LOW, _HIGH, range_given=each(True, False),
           signed_input=each(True, False), round_mode=each("HALF_TO_EVEN", "HALF_UP")),
    *cases("QuantizeAndDequantizeV2", x(3, 7, **_WIDE), _LOW, _HIGH, num_bits=each(4, 6), narrow_range=each(False, True)),
    *cases("QuantizeAndDequantizeV3", x(3, 7, **_WIDE), _LOW, _HIGH, scalar(8), range_given=each(True, False)),
    *cases("QuantizeV2", x(3, 7, **_WIDE), _LOW, _HIGH, T=_TYPES, mode=each("MIN_COMBINED", "MIN_FIRST", "SCALED")),
    *cases("QuantizeV2", x(3, 7, **_WIDE), _LOW, _HIGH, T="qint8", mode="SCALED", round_mode="HALF_TO_EVEN",
           narrow_range=each(False, True)),
    *cases("Dequantize", each(x(3, 7, dtype="qint8", low=-128, high=128), x(3, 7, dtype="quint8", low=0, high=256)), _LOW, _HIGH,
           mode=each("MIN_COMBINED", "MIN_FIRST", "SCALED")),
    *cases("UniformQuantize", x(3, 7, **_WIDE), scalar(0.02, "float32"), scalar(3), Tout="qint8", quantization_min_val=-128,
           quantization_max_val=127),
    *cases("UniformDequantize", x(3, 7, dtype="qint8", low=-128, high=128), scalar(0.02, "float32"), scalar(3), Tout="float32",
           quantization_min_val=-128, quantization_max_val=127),
    *cases("UniformQuantizedDotHybrid", x(3, 4), x(4, 5, dtype="qint8", low=-128, high=128), scalar(0.02, "float32"), scalar(3),
           Tout="float32", rhs_quantization_min_val=-128, rhs_quantization_max_val=127),
    *cases("UniformQuantizedDot", x(3, 4, dtype="qint8", low=-128, high=128), x(4, 5, dtype="qint8", low=-128, high=128),
           scalar(0.02, "float32"), scalar(3), scalar(0.05, "float32"), scalar(-2), each(scalar(0.001, "float32"),
               scalar(0.0037, "float32")),
           scalar(0), Tout="qint32", lhs_quantization_min_val=-128, lhs_quantization_max_val=127, rhs_quantization_min_val=-128,
           rhs_quantization_max_val=127, output_quantization_min_val=-2147483648, output_quantization_max_val=2147483647),
    *cases("UniformRequantize", x(3, 7, dtype="qint8", low=-128, high=128), scalar(0.02, "float32"), scalar(3),
           scalar(0.035, "float32"), scalar(-5), Tout="qint8", input_quantization_min_val=-128, input_quantization_max_val=127,
           output_quantization_min_val=-128, output_quantization_max_val=127),
    *cases("UniformQuantize", values([[-1.25, -0.75, -0.25, 0.25, 0.75, 60.0, -70.0]]), scalar(0.5, "float32"), scalar(1),
           Tout="qint8", quantization_min_val=-128, quantization_max_val=127),
    *cases("UniformQuantize", values([[-1.25, -0.75, 0.3], [0.75, 1.25, -1.5]]), values([0.5, 0.25, 0.3]).const, ints(1, 0, -3),
           Tout="qint8", quantization_axis=1, quantization_min_val=-128, quantization_max_val=127),
    *cases("UniformQuantize", values([[-1.25, -0.75, -0.25, 0.25, 40000.0]]), scalar(0.5, "float32"), scalar(70), Tout="qint32",
           **_I32),
    *cases("UniformDequantize", values([[-5, 3, 70]], "qint32"), scalar(0.02, "float32"), scalar(3), Tout="float32", **_I32),
    *cases("UniformRequantize", values([[-3, -1, 1, 3]], "qint8"), *_steps(0.3), *_steps(0.2), Tout="qint8",
           note="almost halves", **_between("input", "qint8"), **_between("output", "qint8")),
    *cases("UniformRequantize", values([[-3, -1, 1, 3]], "qint8"), *_steps(0.3), *_steps(0.2, 0.2, 0.6, 0.2), Tout="qint8",
           output_quantization_axis=1, **_between("input", "qint8"), **_between("output", "qint8")),
    *[case for kind in ("qint8", "qint32") for case in cases(
        "UniformRequantize", values([list(range(-16, 17))], kind), *_steps(0.1), each(
            scalar(0.2, "float32"), scalar(0.23, "float32"), scalar(0.0667, "float32")), scalar(0), Tout="qint8",
        **_between("input", kind), **_between("output", "qint8"))],
    *[case for kind in ("qint8", "qint32") for case in cases(
        "UniformRequantize", values([[-9, -5, 1], [3, 5, 7]], kind), *_steps(0.1), values([0.2, 0.23, 0.3]).const, ints(3, 0, -3),
        Tout="qint8", output_quantization_axis=1, **_between("input", kind), **_between("output", "qint8"))],
    *cases("UniformQuantizedDot", values([[-5, 1, 2], [3, 5, 7]], "qint8"), values([[-1, 1], [3, 2], [3, 5]], "qint8"),
           *_steps(0.5), *_steps(0.5), *_steps(0.5), Tout="qint32", note="halves", **_between("lhs", "qint8"),
           **_between("rhs", "qint8"), **_between("output", "qint32")),
    *cases("UniformQuantizedClipByValue", x(2, 3, dtype="qint32"), values(-3, "qint32"), values(2, "qint32"), *_steps(0.2),
           **_I32),
    *cases("UniformQuantizedClipByValue", x(3, 3, dtype="qint32"), values([-3, -2, -1], "qint32"), values([1, 2, 3], "qint32"),
           *_steps(0.1, 0.2, 0.3), quantization_axis=each(0, 1), **_I32),
]
