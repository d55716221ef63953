"""The `tf` dialect: TensorFlow's ops under their own names. It is open: what nobody declares is legal."""

from __future__ import annotations

from transload.ir.declare import ANY, CONSTANT, LIST, Dialect, attribute, result

from .dialect_control import CONTROL

__all__ = ["TF"]

TF = Dialect("tf", "TensorFlow's ops, by their own names and attributes.", constant="tf.Const")
TF.extend(CONTROL.ops.values())


@TF.op("Const")
class Const:
    """A tensor that the model holds: numbers, or texts."""

    output = result("the tensor", ANY)
    value = attribute(CONSTANT, "the numbers", optional=True)
    value_strings = attribute(LIST, "the texts of a tensor of strings, in row-major order", optional=True)
    traits = ("constant",)
