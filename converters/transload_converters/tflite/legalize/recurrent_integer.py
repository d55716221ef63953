"""An LSTM of integers, written out step by step as LiteRT's integer kernel computes it.

Activations and weights are int8, the cell state and what is inside a step int16: gates before their function in
steps of 2^-12, after it in steps of 2^-15, the cell state in steps of a power of two. Each op here stands for one
rounding of that kernel.

Source: `tensorflow/lite/kernels/lstm_eval.cc`, LstmStepInteger8x8_16; TFLite's 8-bit quantization specification.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I16, I32, Op, QuantType, Value, dtype_of
from transload.ir.core import is_absent
from transload.rewrite import Rewriter
from transload_hub import tables

from ..choices import chosen
from .common import quant_per_tensor, scalar, static_shape, typed_bias
from .fixed_point import table_of
from .recurrent_steps import Layer, Lstm, input_sums, packed
from .state import n_states

__all__ = ["GATE", "GATE_SUM", "gate_function", "integer_lstm"]

GATE_SUM = QuantType(I16, F32, (2.0**-12,), (0,))
GATE = QuantType(I16, F32, (2.0**-15,), (0,))


@dataclasses.dataclass(frozen=True)
class _Types:
    """Element types of the state: hidden (before a projection), output, and cell."""

    hidden: QuantType
    output: QuantType
    cell: QuantType


def integer_lstm(op: Op, rw: Rewriter, lstm: Lstm) -> Layer:
    """The layer, step by step."""
    if any(lstm.norms):
        raise Unsupported("layer normalization in an LSTM of integers is not supported")
    if lstm.activation not in ("TANH",):
        raise Unsupported(f"an LSTM of integers has the activation TANH, not {lstm.activation}")
    types = _types(op, lstm)
    batch = static_shape(lstm.value, "the input", 3)[1 - lstm.time_axis]
    inputs = input_sums(rw, lstm, [
        _product(rw, lstm.value, weights, bias, GATE_SUM) for weights, bias in zip(lstm.weights, lstm.biases, strict=True)])
    n_cells = static_shape(lstm.weights[3], "the weights", 2)[0]
    n_outputs = static_shape(lstm.recurrent[3], "the recurrent weights", 2)[1]
    state = lstm.state or _zeros(rw, (batch, n_outputs), types.output)
    cell = lstm.cell or _zeros(rw, (batch, n_cells), types.cell)
    outputs = []
    for sums in inputs:
        state, cell = _step(rw, lstm, types, sums, state, cell)
        outputs.append(state)
    made, element = packed(rw, lstm, outputs, element=types.output), op.results[-1 - n_states(op)].element
    return Layer(made if element == types.output else rw.emit("top.Bitcast", made, element=element), state, cell)


def _types(op: Op, lstm: Lstm) -> _Types:
    """The types of the state, from the operator's operands and what it notes of its inner values.

    Without a projection the kernel counts in the steps that are noted for the hidden state, keeps these numbers as they are
    stored, and gives them so, in whichever steps the state and the result are: where two directions are concatenated, the result
    has those of both.
    """
    output = quant_per_tensor(op.results[-1 - n_states(op)], "the output of an LSTM of integers")
    if len(op.operands) < 20:
        raise Unsupported(f"an LSTM of integers has 20 operands or more, and here are {len(op.operands)}")
    kept = output if is_absent(op.operands[18]) else quant_per_tensor(op.operands[18], "the state of an LSTM of integers")
    given = quant_per_tensor(lstm.value, "the input of an LSTM of integers")
    if not given.storage == kept.storage == output.storage:  # LiteRT writes those of the input, whatever the file says
        raise Unsupported(
            f"an LSTM of integers takes, keeps and gives numbers of one width; here they are {given.storage}, {kept.storage} "
            f"and {output.storage}")
    output = kept
    cell = quant_per_tensor(op.operands[19], "the cell state of an LSTM of integers")
    if cell.storage != I16 or cell.scale <= 0 or not math.log2(cell.scale).is_integer():
        raise Unsupported(f"the cell state is {cell}, and should be int16 with a power of two as scale")
    hidden = getattr(op.attribute("effective_hidden_scale_intermediate"), "element", None)
    if lstm.projection is not None:
        if not isinstance(hidden, QuantType):
            raise Unsupported("the file does not note how the hidden state before the projection is quantized")
        return _Types(hidden, output, cell)
    as_noted = isinstance(hidden, QuantType) and hidden.storage == output.storage and not (
        hidden.zero_point == output.zero_point and math.isclose(hidden.scale, output.scale, rel_tol=1e-5))
    return _Types(hidden if as_noted else output, output, cell)  # type: ignore[arg-type]


def _zeros(rw: Rewriter, shape: tuple[int, ...], element: QuantType) -> Value:
    return rw.constant(tables.full(shape, element.zero_point, dtype_of(element)), element=element)


def _product(rw: Rewriter, value: Value, weights: Value | None, bias: Value | None, element: QuantType) -> Value | None:
    """A matrix product with a bias, rounded to `element`; None for an absent gate."""
    if weights is None:
        return None
    return rw.emit(
        "top.MatMul", value, weights, _bias(rw, bias, value, weights), right_transpose=True, element=element, rounding="double")


def _step(
    rw: Rewriter, lstm: Lstm, types: _Types, inputs: Sequence[Value | None], state: Value, cell: Value,
) -> tuple[Value, Value]:
    """One step: the next output state and cell."""
    def gate(index: int, peephole: Value | None, seen: Value, function: str = "top.Sigmoid") -> Value:
        again = _product(rw, state, lstm.recurrent[index], None, GATE_SUM)
        sums = rw.emit("top.Add", inputs[index], again, element=GATE_SUM)
        if peephole is not None:
            sums = rw.emit("top.Add", sums, rw.emit("top.Mul", seen, peephole, element=GATE_SUM), element=GATE_SUM)
        return gate_function(rw, function, sums)

    peephole_i, peephole_f, peephole_o = lstm.peepholes
    forget = gate(1, peephole_f, cell)
    new = gate(2, None, cell, "top.Tanh")
    if lstm.weights[0] is None:
        one = rw.constant(np.asarray(dtype_of(GATE).type(32767)), element=GATE)
        admit = rw.emit("top.Sub", one, forget, element=GATE)
    else:
        admit = gate(0, peephole_i, cell)
    rounding = "exact" if chosen(rw, "gates") == "exact" else None
    kept = rw.emit("top.Mul", forget, cell, element=types.cell, rounding=rounding)
    added = rw.emit("top.Mul", admit, new, element=types.cell, rounding=rounding)
    cell = rw.emit("top.Add", kept, added, element=types.cell)
    cell = _clipped(rw, cell, lstm.cell_clip, types.cell)
    out = gate(3, peephole_o, cell)
    hidden: Value = rw.emit("top.Mul", out, gate_function(rw, "top.Tanh", cell), element=types.hidden)
    if lstm.projection is None:
        return hidden if types.hidden == types.output else rw.emit("top.Bitcast", hidden, element=types.output), cell
    projected: Any = _product(rw, hidden, lstm.projection, lstm.projection_bias, types.output)
    return _clipped(rw, projected, lstm.projection_clip, types.output), cell


def _clipped(rw: Rewriter, value: Value, limit: float, type_: QuantType) -> Value:
    """Stored numbers cut to whole steps of a limit on both sides of 0, as LiteRT cuts them; a limit below a step is none."""
    if math.isnan(limit):
        raise Unsupported("its state is cut at NaN, which is no number of steps")
    steps = int(max(min(float(np.float32(limit) / np.float32(type_.scale)), type_.storage.range[1]), 0))
    if steps <= 0:
        return value
    low, high = ((end - type_.zero_point) * type_.scale for end in (-steps, steps))
    cut: Value = rw.emit("top.Clip", value, min=low, max=high, element=type_)
    return cut


def gate_function(rw: Rewriter, name: str, value: Value, exact: bool = False) -> Value:
    """Sigmoid or tanh of 16-bit numbers; where `exact`, or with the option `gates=exact`, each number's result is looked up."""
    if chosen(rw, "gates") == "table" and not exact:
        return rw.emit(name, value, element=GATE)
    element: QuantType = value.element  # type: ignore[assignment]
    integer_bits = 15 + round(math.log2(element.scale))
    if not 0 <= integer_bits <= 6:
        raise Unsupported(f"LiteRT has no {name.removeprefix('top.').lower()} of numbers with {integer_bits} bits of integer")
    table = rw.constant(table_of(name.removeprefix("top.").lower(), integer_bits))
    stored = rw.emit("top.Cast", rw.emit("top.Bitcast", value, element=I16), element=I32)
    place = rw.emit("top.Add", stored, scalar(rw, 1 << 15, I32))
    return rw.emit("top.Bitcast", rw.emit("top.Gather", table, place, axis=0), element=GATE)


def _bias(rw: Rewriter, bias: Value | None, value: Value, weights: Value | None) -> Value | None:
    """A bias as integers in units of the accumulator, whether or not the file says so."""
    if bias is None or weights is None:
        return None
    if not isinstance(bias.element, QuantType) and bias.element != I32:
        raise Unsupported(f"a bias of {bias.element} does not fit an LSTM of integers")
    return typed_bias(rw, bias, value, weights)
