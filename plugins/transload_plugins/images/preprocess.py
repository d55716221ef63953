"""The pass `fuse-preprocess`: an input takes uint8 pixels, and what makes numbers of them is a part of the graph.

Pixels come as a decoder gives them, rows x columns x channels, red first. A pixel p of channel c stands for the number
`(p - mean[c]) * scale[c]`. The input's type says as much of that as a quantized type can: with one whole mean and one scale
for all channels that is all of it. What it cannot say goes into the convolution that comes first: factors into its filter, and
the order of channels; shifts into its bias where it pads nothing, for what it pads with is the zero of the numbers, not of the
pixels. Where neither can take it, an op remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from transload.errors import UsageError
from transload.ir import (
    F32,
    UI8,
    FloatType,
    Module,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    dtype_of,
    input_names,
    update_function_type,
)
from transload.ir.borders import RANGE
from transload.ir.build import Builder, constant_of

if TYPE_CHECKING:
    from transload_hub.ops.conv import Conv

__all__ = ["fuse_preprocess"]

Numbers = NDArray[np.float64]

def fuse_preprocess(
    module: Module, input: str = "", mean: str = "0", scale: str = "1", pixel_format: str = "rgb", channel_format: str = "nchw",
) -> bool:
    """Have the input of this name, or the only one, take uint8 pixels, `1 x rows x columns x channels`; always changes something.

    `mean` and `scale` are numbers with commas between, one or one a channel, in the order of channels that the model takes:
    `pixel_format` is `bgr` where that is blue first. `channel_format` says where the model has its channels. Raises `UsageError`
    where there is no such input, or it takes no image.
    """
    names = input_names(module.main)
    if not input and len(names) == 1:
        input = names[0]
    if input not in names:
        raise UsageError(f"there is no input {input!r}", hint=f"inputs: {', '.join(names)}")
    index = names.index(input)
    argument = module.body_of_main.arguments[index]
    shape = _pixels_shape(input, argument.type, channel_format)
    factors, means = (_each(text, shape[-1]) for text in (scale, mean))
    if not factors.any():
        raise UsageError(f"a scale of {scale!r} leaves nothing of the pixels")
    _Fusing(module, index, shape, factors, means, pixel_format == "bgr", channel_format == "nchw").run()
    return True


def _pixels_shape(name: str, type_: Type, channel_format: str) -> tuple[int, ...]:
    """One image's sizes, channels last. Raises `UsageError` where the type is that of no image."""
    shape = type_.static_shape if isinstance(type_, TensorType) and type_.is_static else ()
    sizes = shape[1:] if len(shape) == 4 and shape[0] == 1 else shape
    if len(sizes) not in (2, 3):
        raise UsageError(f"input {name!r} takes {type_}, and no image")
    if len(sizes) == 2:
        return (1, *sizes, 1)
    return (1, *sizes) if channel_format == "nhwc" else (1, sizes[1], sizes[2], sizes[0])


def _each(text: str, channels: int) -> Numbers:
    """A number for each channel. Raises `UsageError` where there are as many neither as channels nor as one."""
    try:
        numbers = np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise UsageError(f"{text!r} is no number, nor several with commas between") from None
    if not np.isfinite(numbers).all():
        raise UsageError(f"{text!r} has what is no number")
    if len(numbers) not in (1, channels):
        raise UsageError(f"{text!r} has {len(numbers)} numbers, and pixels have {channels}")
    return np.broadcast_to(numbers, (channels,))


@dataclass
class _Step:
    """What is left to do to the numbers that the input's type stands for: `x * factor + shift`, of each channel."""

    factor: Numbers
    shift: Numbers

    @property
    def does_nothing(self) -> bool:
        return bool((self.factor == 1).all() and not self.shift.any())


def _pixel_type(scale: Numbers, mean: Numbers) -> tuple[QuantType, _Step]:
    """The quantized type of pixels that says most of `(p - mean) * scale`, and what is left."""
    largest = float(np.float32(np.abs(scale).max()))
    step = largest if largest > np.finfo(np.float32).tiny and (scale > 0).all() else 1.0
    zero = int(np.clip(np.rint(mean.mean()), 0, 255))
    factor = np.where(scale.astype(np.float32) == np.float32(step), 1.0, scale / step)
    return QuantType(UI8, F32, (step,), (zero,)), _Step(factor, (zero - mean) * scale)


class _Fusing:
    """The change of one input."""

    def __init__(
        self, module: Module, index: int, shape: tuple[int, ...], scale: Numbers, mean: Numbers, reversed: bool, first: bool,
    ) -> None:
        self.module, self.index, self.shape, self.scale, self.mean = module, index, shape, scale, mean
        self.reversed = reversed and shape[-1] > 1
        """Whether the model takes blue first."""
        self.first = first and shape[-1] > 1
        """Whether the model has its channels first."""
        block = module.body_of_main
        self.argument = block.arguments[index]
        self.taken = self.argument.tensor_type
        """What the input took."""
        self.build = Builder(block, block.first, location=f"{self.argument.name}/numbers" if self.argument.name else None)
        self.users = list(self.argument.uses)

    def run(self) -> None:
        pixels, left = _pixel_type(self.scale, self.mean)
        self.argument.type = TensorType(self.shape, pixels)
        numbers = self._numbers(self.taken.element, left)
        for user in self.users:
            user.operands = tuple(numbers if operand is self.argument else operand for operand in user.operands)
        self._forget_range()
        update_function_type(self.module.main)

    def _numbers(self, element: Type, left: _Step) -> Value:
        """What the model took before, made of the pixels."""
        build = self.build
        if isinstance(element, QuantType) and left.does_nothing and not self.reversed:  # from integers to integers
            return self._arranged(build.emit("top.Cast", self.argument, element=element))
        numbers = build.emit("top.Cast", self.argument, element=element if isinstance(element, FloatType) else F32)
        takers = self._convolutions() if isinstance(element, FloatType) else []
        if takers:
            left = self._folded(takers, left)
        elif self.reversed:
            numbers = build.emit("top.Reverse", numbers, axes=(3,))
        numbers = self._stepped(numbers, left, self.reversed and bool(takers))
        if not isinstance(element, FloatType):
            numbers = build.emit("top.Cast", numbers, element=element, **_rounded(element))
        return self._arranged(numbers)

    def _stepped(self, numbers: Value, left: _Step, reverse: bool) -> Value:
        """The step as ops, on pixels whose channels are in the model's order, or with `reverse` in the other."""
        order = slice(None, None, -1 if reverse else 1)
        dtype = dtype_of(numbers.element)
        for name, array, none in (("Mul", left.factor, 1), ("Add", left.shift, 0)):
            held = array[order].astype(dtype)
            if (held == none).all():
                continue
            if (held == held[0]).all():
                numbers = self.build.emit(f"top.{name}Const", numbers, const_val=float(held[0]))
            else:
                numbers = self.build.emit(f"top.{name}", numbers, self.build.constant(held))
        return numbers

    def _arranged(self, numbers: Value) -> Value:
        """Rows, columns and channels as the model has them."""
        if self.first:
            numbers = self.build.emit("top.Permute", numbers, order=(0, 3, 1, 2))
        shape = self.taken.static_shape
        return numbers if numbers.tensor_type.static_shape == shape else self.build.emit("top.Reshape", numbers, shape=shape)

    def _forget_range(self) -> None:
        """What the model's file says of the numbers holds for pixels no longer."""
        attributes = self.module.main.attributes.get("arg_attrs")
        if attributes:
            kept = [dict(each) for each in attributes]
            kept[self.index].pop(RANGE, None)
            self.module.main.attributes["arg_attrs"] = kept

    # --- into the first convolution

    def _convolutions(self) -> list[Conv]:
        """All that uses the input, where that is convolutions with constant filters and biases, of the input's layout."""
        found: list[Any] = [op for op in self.users if self._can_take(op)]
        return found if len(found) == len(self.users) else []

    def _can_take(self, op: Op) -> bool:
        if op.name != "top.Conv" or op.operands[0] is not self.argument or self.argument in op.operands[1:]:
            return False
        conv: Conv = op  # type: ignore[assignment]
        if op.parent is not self.module.body_of_main or len(conv.kernel_shape) != 2 or (self.reversed and conv.group > 1):
            return False
        arrays = [value for value in (conv.filter, conv.bias) if value is not None]
        constant = all(constant_of(value) is not None and isinstance(value.element, FloatType) for value in arrays)
        return constant and (self.shape[-1] == 1 or (conv.layout == "NCHW") == self.first)

    def _folded(self, takers: Sequence[Conv], left: _Step) -> _Step:
        """Have convolutions take what they can, all of them the same; what is left for ops before them."""
        padded = any(any(conv.pads) for conv in takers)
        factor = left.factor if (left.factor != 0).all() else np.ones_like(left.factor)
        shift = np.zeros_like(left.shift) if padded else left.shift
        for conv in takers:
            self._take(conv, factor, shift)
        return _Step(left.factor / factor, (left.shift - shift) / factor)

    def _take(self, conv: Conv, factor: Numbers, shift: Numbers) -> None:
        """A convolution of `x * factor + shift` becomes one of x, with channels in the order of the pixels."""
        if (factor == 1).all() and not shift.any() and not self.reversed:
            return
        axis = 1 if conv.layout == "NCHW" else -1
        dtype = dtype_of(conv.filter.element)
        dense, old = constant_of(conv.filter), constant_of(conv.bias)
        assert dense is not None
        weights = np.moveaxis(dense.numpy().astype(np.float64), axis, 1)  # [O, I / group, rows, columns]
        outputs, inputs = weights.shape[:2]
        channel = np.arange(outputs)[:, None] // (outputs // conv.group) * inputs + np.arange(inputs)
        bias = np.zeros(outputs) if old is None else old.numpy().astype(np.float64)
        bias = bias + (weights.sum(axis=(2, 3)) * shift[channel]).sum(axis=1)
        weights = weights * factor[channel][:, :, None, None]
        if self.reversed:
            weights = weights[:, ::-1]
        build = Builder(self.module.body_of_main, conv, location=conv.filter.name)
        filter = build.constant(np.ascontiguousarray(np.moveaxis(weights, 1, axis).astype(dtype)))
        if old is None and not shift.any():
            conv.set_operand(1, filter)
            return
        conv.operands = (conv.operands[0], filter, build.constant(bias.astype(dtype)))


def _rounded(element: Type) -> dict[str, Any]:
    """How numbers become plain integers, as images that were read do."""
    return {} if isinstance(element, QuantType) else {"round_mode": "HalfToEven", "saturate": True}
