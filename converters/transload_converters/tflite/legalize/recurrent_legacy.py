"""One step of the LSTM of the uint8 days: activations and weights uint8, the state int16, gates in fixed point.

Source: `tensorflow/lite/kernels/internal/reference/legacy_reference_ops.h`, LstmCell with four bits of integer in the state.
Each op here stands for one rounding of that kernel. The functions of the gates are looked up number by number: the state of
such a network has few bits, and no chip is made for it.
"""

from __future__ import annotations

import math

from transload.errors import Unsupported
from transload.ir import F32, I16, I32, UI8, Op, QuantType, Value
from transload.rewrite import Rewriter

from .common import quant_per_tensor, scalar, static_shape, typed_bias
from .recurrent_integer import GATE, GATE_SUM, gate_function

__all__ = ["integer_step"]

_ACTIVATION, _STATE = (2.0**-7, 128), 2.0**-11


def integer_step(op: Op, rw: Rewriter) -> tuple[Value, Value, Value, Value]:
    """The next activations and state, what the product was of, and the sums of the gates: in, new, forget, out."""
    value, activations, weights, bias, state = op.operands
    output, cell = (quant_per_tensor(operand, "the state") for operand in (activations, state))
    if (output.storage, cell.storage) != (UI8, I16) or (output.scale, output.zero_point) != _ACTIVATION or cell.scale != _STATE:
        raise Unsupported(
            f"a basic LSTM step of integers has uint8 activations in steps of 2^-7 and an int16 state in steps of 2^-11; "
            f"here these are {output} and {cell}")
    given, held = quant_per_tensor(value, "the input"), quant_per_tensor(weights, "the weights")
    if (given.storage, given.scale, given.zero_point) != (output.storage, output.scale, output.zero_point):
        raise Unsupported(f"its input is {given}, and LiteRT reads it as its activations, {output}")
    summed, step = None if bias is None else bias.quant, given.scale * held.scale
    if summed is not None and not math.isclose(summed.scale, step, rel_tol=1e-3):
        raise Unsupported(f"its bias counts in steps of {summed.scale:g}, and the products that it is added to in {step:g}")
    joined = rw.emit("top.Concat", value, activations, axis=-1, element=output)
    sums = _sums(rw, joined, weights, typed_bias(rw, bias, joined, weights))
    size = static_shape(state, "the state", 2)[-1]
    gates = rw.emit("top.Split", sums, axis=-1, split_size=(size,) * 4)
    functions = ("top.Sigmoid", "top.Tanh", "top.Sigmoid", "top.Sigmoid")
    admit, new, forget, give = (gate_function(rw, name, gate, exact=True) for name, gate in zip(functions, gates, strict=True))
    added = _divided(rw, rw.emit("top.Mul", admit, new, element=GATE), 4)
    added = rw.emit("top.Bitcast", rw.emit("top.Cast", added, element=I16), element=cell)
    kept = rw.emit("top.Mul", forget, state, element=cell)
    after = rw.emit("top.Add", added, kept, element=cell)
    made = rw.emit("top.Mul", give, gate_function(rw, "top.Tanh", after, exact=True), element=GATE)
    inner = [result.element_or_none for result in op.results[2:]]
    if len(inner) < 2 or not isinstance(inner[0], QuantType) or not isinstance(inner[1], QuantType):
        raise Unsupported("the file does not note how the inner values of the step are quantized")
    stored = rw.emit("top.Add", _divided(rw, made, 8), scalar(rw, output.zero_point, I32))
    return rw.emit("top.Bitcast", rw.emit("top.Cast", stored, element=UI8, saturate=True), element=output), after, joined, sums


def _divided(rw: Rewriter, value: Value, places: int) -> Value:
    """Stored numbers divided by a power of two, halves away from zero."""
    whole = rw.emit("top.Cast", rw.emit("top.Bitcast", value, element=I16), element=I32)
    sign = rw.emit("top.ShiftRight", whole, scalar(rw, 31, I32))
    moved = rw.emit("top.Add", rw.emit("top.Add", whole, scalar(rw, 1 << (places - 1), I32)), sign)
    return rw.emit("top.ShiftRight", moved, scalar(rw, places, I32))


def _sums(rw: Rewriter, joined: Value, weights: Value, bias: Value | None) -> Value:
    """The sums of all gates: rounded once by a multiplier of 31 bits, then, halves up, by the power of two that is left."""
    scale = quant_per_tensor(joined, "the input").scale * quant_per_tensor(weights, "the weights").scale
    places = max(-math.frexp(scale / GATE_SUM.scale)[1], 0)
    fine = QuantType(I32, F32, (GATE_SUM.scale / 2**places,), (0,))
    made = rw.emit("top.MatMul", joined, weights, bias, right_transpose=True, element=fine)
    whole = rw.emit("top.Bitcast", made, element=I32)
    if places:
        whole = rw.emit("top.Add", whole, scalar(rw, 1 << (places - 1), I32))
        whole = rw.emit("top.ShiftRight", whole, scalar(rw, places, I32))
    narrow = rw.emit("top.Cast", whole, element=I16, saturate=True)
    return rw.emit("top.Bitcast", narrow, element=GATE_SUM)
