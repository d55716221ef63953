"""What hybrid operators find out about their activations before they quantize them."""

from __future__ import annotations

from transload.ir import F32, TensorType, Value
from transload.ir.build import Builder
from transload.testing.models import build_module
from transload_converters.tflite.legalize.hybrid import is_nonnegative


def rectified(b: Builder, x: Value) -> Value:
    """What a ReLU gives of much that goes before it, as the integer arithmetic of a hybrid convolution does."""
    for _ in range(50):
        x = b.emit("top.Add", x, x)
    return b.emit("top.Relu", x)  # type: ignore[no-any-return]


def test_what_goes_before_a_relu_does_not_matter_nor_how_many_of_them_are_joined():
    def shuffled(b: Builder, x: Value) -> Value:
        x = b.emit("top.Relu", x)
        for _ in range(6):
            x = b.emit("top.Concat", x, rectified(b, x), axis=1)
        return b.emit("top.Slice", x, offset=(0, 2), steps=(1, 1), ends=(1, 200))  # type: ignore[no-any-return]

    def last(build: object) -> Value:
        module = build_module([TensorType((1, 4), F32)], build)  # type: ignore[arg-type]
        return module.body_of_main.terminator.operands[0]

    assert is_nonnegative(last(shuffled))
    assert not is_nonnegative(last(lambda b, x: b.emit("top.Concat", rectified(b, x), x, axis=1)))
