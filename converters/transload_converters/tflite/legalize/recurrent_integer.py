"""Recurrent layers of integers."""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter

from .recurrent_steps import Lstm

__all__ = ["integer_lstm"]


def integer_lstm(op: Op, rw: Rewriter, lstm: Lstm) -> Value:
    raise Unsupported("an LSTM of integers is not supported")
