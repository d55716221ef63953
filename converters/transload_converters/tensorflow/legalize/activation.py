"""Activation functions, softmax, losses, and the gradients of functions, which are arithmetic like any other."""

from __future__ import annotations

from collections.abc import Callable

from transload.ir import Op, Value
from transload.rewrite import Rewriter
from transload_hub.build import scalar_like

from .table import TfTable, attr, shape_of

TABLE = TfTable()

_FUNCTIONS = {
    "Relu": "Relu", "Elu": "Elu", "Softplus": "Softplus", "Softsign": "Softsign", "Sigmoid": "Sigmoid",
}


def _function(name: str, hub: str) -> None:
    @TABLE(name)
    def rewrite(op: Op, rw: Rewriter) -> Value:
        return rw.emit(f"top.{hub}", op.operands[0])

    rewrite.__doc__ = f"{name}."


for _name, _hub in _FUNCTIONS.items():
    _function(_name, _hub)


@TABLE("Relu6")
def relu6(op: Op, rw: Rewriter) -> Value:
    """Relu6."""
    return rw.emit("top.Relu", op.operands[0], relu_limit=6.0)


_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_SCALE_ALPHA = 1.7580993408473768599402175208123


@TABLE("Selu")
def selu(op: Op, rw: Rewriter) -> Value:
    """Selu, by its constants in full: ONNX's, which are those of the hub, are rounded to f32."""
    return rw.emit("top.Selu", op.operands[0], alpha=_SELU_SCALE_ALPHA / _SELU_SCALE, gamma=_SELU_SCALE)


@TABLE("LeakyRelu")
def leaky_relu(op: Op, rw: Rewriter) -> Value:
    """LeakyRelu."""
    return rw.emit("top.LeakyRelu", op.operands[0], alpha=float(attr(op, "alpha", 0.2)))


@TABLE("Softmax", "LogSoftmax")
def softmax(op: Op, rw: Rewriter) -> Value:
    """Softmax, LogSoftmax, along the last dimension."""
    shape_of(op.operands[0], least=1, what="the logits")
    return rw.emit("top.Softmax", op.operands[0], axis=-1, log=True if op.name == "tf.LogSoftmax" else None)


# --- gradients: (what was computed or given, the gradient from behind)

def _times(rw: Rewriter, *factors: Value) -> Value:
    return rw.emit("top.Mul", *factors)


def _one_less(rw: Rewriter, value: Value) -> Value:
    return rw.emit("top.Sub", scalar_like(rw, value, 1), value)


_OF_RESULT: dict[str, Callable[[Rewriter, Value, Value], Value]] = {
    "SigmoidGrad": lambda rw, y, dy: _times(rw, dy, y, _one_less(rw, y)),
    "TanhGrad": lambda rw, y, dy: _times(rw, dy, _one_less(rw, rw.emit("top.Square", y))),
    "SqrtGrad": lambda rw, y, dy: rw.emit("top.Div", _times(rw, dy, scalar_like(rw, y, 0.5)), y),
    "RsqrtGrad": lambda rw, y, dy: _times(rw, dy, _times(rw, scalar_like(rw, y, -0.5), y, y, y)),
    "ReciprocalGrad": lambda rw, y, dy: rw.emit("top.Neg", _times(rw, dy, y, y)),
    "InvGrad": lambda rw, y, dy: rw.emit("top.Neg", _times(rw, dy, y, y)),
}
"""Gradients by a function's result, which is the first operand."""


def _of_result(name: str) -> None:
    @TABLE(name)
    def rewrite(op: Op, rw: Rewriter) -> Value:
        return _OF_RESULT[name](rw, *op.operands)

    rewrite.__doc__ = f"{name}: by the function's result."


for _name in _OF_RESULT:
    _of_result(_name)


def _where(rw: Rewriter, tested: Value, mode: str, limit: float, yes: Value, no: Value) -> Value:
    return rw.emit("top.Where", rw.emit("top.Compare", tested, scalar_like(rw, tested, limit), mode=mode), yes, no)


@TABLE("ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad")
def activation_grad(op: Op, rw: Rewriter) -> Value:
    """ReluGrad, Relu6Grad, LeakyReluGrad, EluGrad, SeluGrad, SoftplusGrad, SoftsignGrad.

    The gradient comes first, then the function's operand; of Elu and Selu its result.
    """
    dy, x = op.operands
    kind = op.name.removeprefix("tf.").removesuffix("Grad")
    if kind in ("Relu", "Relu6", "LeakyRelu"):
        slope = attr(op, "alpha", 0.2) if kind == "LeakyRelu" else None
        low = scalar_like(rw, dy, 0) if slope is None else _times(rw, dy, scalar_like(rw, dy, float(slope)))
        above = _where(rw, x, "Greater", 0, dy, low)
        return above if kind != "Relu6" else _where(rw, x, "Less", 6, above, scalar_like(rw, dy, 0))
    if kind == "Elu":  # by the result, exp(x) - 1 below 0
        return _where(rw, x, "Less", 0, _times(rw, dy, rw.emit("top.Add", x, scalar_like(rw, x, 1))), dy)
    if kind == "Selu":
        below = _times(rw, dy, rw.emit("top.Add", x, scalar_like(rw, x, _SELU_SCALE_ALPHA)))
        return _where(rw, x, "Less", 0, below, _times(rw, dy, scalar_like(rw, dy, _SELU_SCALE)))
    if kind == "Softplus":
        return _times(rw, dy, rw.emit("top.Sigmoid", x))
    one_more = rw.emit("top.Add", rw.emit("top.Abs", x), scalar_like(rw, x, 1))
    return rw.emit("top.Div", dy, rw.emit("top.Square", one_more))


# --- losses

@TABLE("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(op: Op, rw: Rewriter) -> tuple[Value, Value]:
    """SoftmaxCrossEntropyWithLogits: the loss of each row, and its gradient."""
    logits, labels = op.operands
    return _cross_entropy(rw, logits, labels)


@TABLE("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(op: Op, rw: Rewriter) -> tuple[Value, Value]:
    """SparseSoftmaxCrossEntropyWithLogits: the same with the number of each row's class."""
    logits, labels = op.operands
    depth = shape_of(logits, 2, what="the logits")[1]
    one_hot = rw.emit("top.OneHot", labels, scalar_like(rw, logits, 1), scalar_like(rw, logits, 0), depth=depth, axis=-1)
    return _cross_entropy(rw, logits, one_hot)


def _cross_entropy(rw: Rewriter, logits: Value, labels: Value) -> tuple[Value, Value]:
    logarithms = rw.emit("top.Softmax", logits, axis=-1, log=True)
    # A label of 0 counts for nothing, even where the logarithm is infinite.
    products = _times(rw, labels, logarithms)
    loss = rw.emit("top.Neg", rw.emit("top.Reduce", products, axes=(-1,), keepdims=False, mode="ReduceSum"))
    return loss, rw.emit("top.Sub", rw.emit("top.Softmax", logits, axis=-1), labels)


@TABLE("L2Loss")
def l2_loss(op: Op, rw: Rewriter) -> Value:
    """L2Loss: half the sum of squares."""
    value = op.operands[0]
    rank = len(shape_of(value))
    total = rw.emit("top.Reduce", value, axes=tuple(range(rank)), keepdims=False, mode="ReduceSumSquare")
    return _times(rw, total, scalar_like(rw, value, 0.5))
