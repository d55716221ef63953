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
    *cases("UniformQuantizedClipByValue", x(2, 3, dtype="qint32"), values(-3, "qint32"), values(2, "qint32"), *_steps(0.2),
           **_I32),
    *cases("UniformQuantizedClipByValue", x(3, 3, dtype="qint32"), values([-3, -2, -1], "qint32"), values([1, 2, 3], "qint32"),
           *_steps(0.1, 0.2, 0.3), quantization_axis=each(0, 1), **_I32),
]
