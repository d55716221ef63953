"""Activation functions, softmax and normalization."""

from __future__ import annotations

from transload.ir import Op, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import emit_like, layout, need_no_activation

TABLE = RewriteTable()


@TABLE("tfl.relu")
def relu(op: Op, rw: Rewriter) -> Value:
    """RELU."""
    return emit_like(rw, op, "top.Relu", op.operands[0])


@TABLE("tfl.relu6")
def relu6(op: Op, rw: Rewriter) -> Value:
    """RELU6."""
    return emit_like(rw, op, "top.Relu", op.operands[0], relu_limit=6.0)


@TABLE("tfl.relu_0_to_1")
def relu_0_to_1(op: Op, rw: Rewriter) -> Value:
    """RELU_0_TO_1."""
    return emit_like(rw, op, "top.Relu", op.operands[0], relu_limit=1.0)


@TABLE("tfl.relu_n1_to_1")
def relu_n1_to_1(op: Op, rw: Rewriter) -> Value:
    """RELU_N1_TO_1."""
    return emit_like(rw, op, "top.Clip", op.operands[0], min=-1.0, max=1.0)


@TABLE("tfl.leaky_relu")
def leaky_relu(op: Op, rw: Rewriter) -> Value:
    """LEAKY_RELU."""
    return emit_like(rw, op, "top.LeakyRelu", op.operands[0], alpha=op.attribute("alpha"))


@TABLE("tfl.prelu")
def prelu(op: Op, rw: Rewriter) -> Value:
    """PRELU: alpha broadcasts to the input."""
    return emit_like(rw, op, "top.PRelu", op.operands[0], op.operands[1])


@TABLE("tfl.elu")
def elu(op: Op, rw: Rewriter) -> Value:
    """ELU."""
    return emit_like(rw, op, "top.Elu", op.operands[0])


@TABLE("tfl.gelu")
def gelu(op: Op, rw: Rewriter) -> Value:
    """GELU, exact or by the approximation with tanh."""
    return emit_like(rw, op, "top.GELU", op.operands[0], approx=op.attribute("approximate"))


@TABLE("tfl.hard_swish")
def hard_swish(op: Op, rw: Rewriter) -> Value:
    """HARD_SWISH."""
    return emit_like(rw, op, "top.HardSwish", op.operands[0])


@TABLE("tfl.logistic")
def logistic(op: Op, rw: Rewriter) -> Value:
    """LOGISTIC."""
    return emit_like(rw, op, "top.Sigmoid", op.operands[0])


@TABLE("tfl.tanh")
def tanh(op: Op, rw: Rewriter) -> Value:
    """TANH."""
    return emit_like(rw, op, "top.Tanh", op.operands[0])


@TABLE("tfl.softmax")
def softmax(op: Op, rw: Rewriter) -> Value:
    """SOFTMAX along the last dimension."""
    return emit_like(rw, op, "top.Softmax", op.operands[0], axis=-1, beta=op.attribute("beta"))


@TABLE("tfl.log_softmax")
def log_softmax(op: Op, rw: Rewriter) -> Value:
    """LOG_SOFTMAX along the last dimension."""
    return emit_like(rw, op, "top.Softmax", op.operands[0], axis=-1, log=True)


@TABLE("tfl.l2_normalization")
def l2_normalization(op: Op, rw: Rewriter) -> Value:
    """L2_NORMALIZATION: the length is at least 1e-6, so its square at least 1e-12."""
    need_no_activation(op)
    return emit_like(rw, op, "top.Normalize", op.operands[0], axes=(-1,), eps=1e-12)


@TABLE("tfl.local_response_normalization")
def local_response_normalization(op: Op, rw: Rewriter) -> Value:
    """LOCAL_RESPONSE_NORMALIZATION: TFLite's alpha is a factor of the sum, the hub's of the mean."""
    size = 2 * op.attribute("radius") + 1
    return emit_like(
        rw, op, "top.LRN", op.operands[0], size=size, alpha=op.attribute("alpha") * size, beta=op.attribute("beta"),
        bias=op.attribute("bias"), layout=layout)
