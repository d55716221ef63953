"""Products with what comes behind them in one op, as TensorFlow's graph optimizer makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter
from transload_hub.build import reshape

from .conv import convolution, depthwise
from .matmul import matmul
from .table import TfTable, attr, channels_last, shape_of

__all__ = ["TABLE"]

TABLE = TfTable()

_PRODUCTS: dict[str, Callable[[Op, Rewriter], Value]] = {
    "tf._FusedConv2D": convolution, "tf._FusedDepthwiseConv2dNative": depthwise, "tf._FusedMatMul": matmul}
_ACTIVATIONS = {"Relu": "Relu", "Elu": "Elu", "Tanh": "Tanh", "Sigmoid": "Sigmoid"}


@TABLE("_FusedConv2D", "_FusedDepthwiseConv2dNative", "_FusedMatMul")
def fused(op: Op, rw: Rewriter) -> Value:
    """_FusedConv2D, _FusedDepthwiseConv2dNative, _FusedMatMul: a bias or a normalization, then an activation."""
    if (order := attr(op, "filter_format", "HWIO")) != "HWIO":
        raise Unsupported(f"has the filter_format {order!r}, and HWIO alone is known")
    value = _PRODUCTS[op.name](op, rw)
    last = op.name == "tf._FusedMatMul" or channels_last(op)
    rest = list(op.operands[2:])
    for what in attr(op, "fused_ops", ()):
        if what == "BiasAdd" and rest:
            value = rw.emit("top.Add", value, _over_channels(rw, rest.pop(0), value, last))
        elif what == "FusedBatchNorm" and len(rest) >= 4:
            scale, offset, mean, variance = rest[:4]
            value = rw.emit("top.BatchNorm", value, mean, variance, scale, offset, epsilon=float(attr(op, "epsilon", 1e-4)),
                            layout="NHWC" if last else "NCHW")
            del rest[:4]
        elif what == "Add" and rest:
            value = rw.emit("top.Add", value, rest.pop(0))
        elif what == "LeakyRelu":
            value = rw.emit("top.LeakyRelu", value, alpha=float(attr(op, "leakyrelu_alpha", 0.2)))
        elif what == "Relu6":
            value = rw.emit("top.Clip", value, min=0.0, max=6.0)
        elif what in _ACTIVATIONS:
            value = rw.emit(f"top.{_ACTIVATIONS[what]}", value)
        else:
            raise Unsupported(f"computes {_listed(attr(op, 'fused_ops', ()))} behind its product")
    return value


def _over_channels(rw: Rewriter, numbers: Value, value: Value, last: bool) -> Value:
    rank = len(shape_of(value))
    return numbers if last else reshape(rw, numbers, (*shape_of(numbers, 1), *(1,) * (rank - 2)))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
