"""Integers of 32 and 64 bits are numbers of their own: LiteRT's kernels look at no scale of theirs, whatever a file notes.

Those that do are biases, whose operators know what they are in steps of, and what is quantized to and from them. Measured with
LiteRT 2.3, for the operators that take such integers at all: sums of scales 0.5 and 0.25 are those of the stored numbers.
"""

from __future__ import annotations

__all__ = ["LOOKING", "WIDE"]

LOOKING = frozenset(f"tfl.{name}" for name in (
    "quantize", "dequantize", "conv_2d", "conv_3d", "conv_3d_transpose", "depthwise_conv_2d", "fully_connected", "transpose_conv",
    "lstm", "unidirectional_sequence_lstm", "bidirectional_sequence_lstm", "rnn", "unidirectional_sequence_rnn",
    "bidirectional_sequence_rnn", "svdf", "custom"))
"""Operators that take biases, or go by scales of such integers; of custom ones nobody knows."""
WIDE = 32
"""The bits from which on integers are plain to all others."""
