"""Recurrent layers: the hub's are ONNX's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transload.ir import I32, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import cast, transposed

if TYPE_CHECKING:
    from transload_hub.ops.recurrent import GRU, LSTM, RNN

__all__ = ["TABLE"]

TABLE = RewriteTable()

TIME_SECOND = (1, 0, 2)
HIDDEN_TIME_SECOND = (2, 0, 1, 3)
"""[T, D, N, H] as [N, T, D, H]."""


@TABLE("top.LSTM", "top.GRU", "top.RNN")
def recurrent(op: LSTM | GRU | RNN, rw: Rewriter) -> Sequence[Value]:
    """LSTM, GRU and RNN with time first: runtimes know no other layout."""
    name = op.name.partition(".")[2]
    first = op.batch_first
    lengths = op.operand("sequence_lens")
    operands: list[Value | None] = [
        transposed(rw, op.input, TIME_SECOND) if first else op.input, op.filter, op.recurrence, op.bias,
        None if lengths is None else cast(rw, lengths, I32)]
    for state in ("initial_h", "initial_c") if name == "LSTM" else ("initial_h",):
        value = op.operand(state)
        operands.append(transposed(rw, value, TIME_SECOND) if first and value is not None else value)
    if name == "LSTM":
        operands.append(op.operand("peephole"))
    types = [result.type for result in op.results]
    if first:
        n, t, d, h = op.results[0].shape
        shapes = [(t, d, n, h), *((d, n, h) for _ in op.results[1:])]
        types = [result.tensor_type.with_shape(shape) for result, shape in zip(op.results, shapes, strict=True)]
    made = rw.emit(f"onnx.{name}", *operands, types=types, **_attributes(op, name))
    values = (made,) if isinstance(made, Value) else made
    if not first:
        return values
    return [transposed(rw, values[0], HIDDEN_TIME_SECOND), *(transposed(rw, state, TIME_SECOND) for state in values[1:])]


def _attributes(op: LSTM | GRU | RNN, name: str) -> dict[str, Any]:
    own = {"LSTM": "input_forget", "GRU": "linear_before_reset"}.get(name)
    return {
        "hidden_size": op.hidden_size, "direction": op.direction, "clip": op.clip,
        "activations": None if op.activations is None else list(op.activations),
        "activation_alpha": op.activation_alpha, "activation_beta": op.activation_beta,
        **({own: int(op.attribute(own))} if own else {}),
    }
