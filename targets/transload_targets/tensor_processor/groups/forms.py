"""How ops of dialect `tpu` become instructions: which operation, what its inputs are, how they lie in the lanes.

A form is a fact of the kind `form`, a function of the op. An op without one is an instruction of its own name, its operands in
the aligned layout. What a form says holds for the whole op; slices of it have parts of the same operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from transload.errors import InternalError
from transload.facts import FactTable
from transload.ir import Op, Value, dtype_of
from transload.ir.build import constant_of

from ..dialect.kernels import attributes_of
from ..regions import Shape
from ..shapes import local_shape

__all__ = ["FORMS", "Form", "Held", "Input", "dtype_name", "form_of", "seen", "sizes_of", "steps_of"]

Steps = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Held:
    """A tensor as an instruction sees it: in four dimensions, `steps` elements of the row-major original between neighbours of
    each.

    `value` is what computes it, or `data` what it is: a constant that was made for the instruction.
    """

    value: Value | None
    shape: Shape
    steps: Steps
    dtype: str
    layout: str = "aligned"
    data: np.ndarray | None = None

    @property
    def key(self) -> Any:
        """Two with the same key are the same tensor."""
        return (self.value if self.data is None else id(self.data), self.shape, self.steps, self.layout)


@dataclass(frozen=True)
class Input:
    """An input of an instruction: which of the form's tensors, and which of its images where it has only that."""

    held: int
    image: int | None = None
    shape: str = "box"
    """Which shape the operation wants: that of the `box`, `channels` alone, or `flat`."""


@dataclass(frozen=True)
class Form:
    """An op as an instruction. Rules of regions and cycles are those of `rule`, an op's name; their operands are `tensors`."""

    operation: str
    rule: str
    tensors: tuple[Held, ...]
    inputs: tuple[Input | None, ...]
    attributes: Mapping[str, Any]


FORMS = FactTable("tpu")


def steps_of(shape: tuple[int, ...]) -> Steps:
    """Elements between neighbours of (n, c, h, w) in a row-major tensor of this shape, as `local_shape` sees it."""
    _, c, h, w = local_shape(shape)
    if len(shape) >= 4:
        return (c * h * w, h * w, w, 1)
    if len(shape) >= 2:
        return (c * h, 1, c, 1)
    return (c, 1, 1, 1)


def dtype_name(value: Value) -> str:
    """The name of the type that a tensor's elements are stored as."""
    element = value.stored_element
    if element is None:
        raise InternalError(f"{value.type} is no tensor")
    return str(dtype_of(element))


def sizes_of(value: Value) -> tuple[int, ...]:
    """The shape of a tensor, which `tpu` ops have checked to be known."""
    return tuple(size or 0 for size in value.shape)


def seen(value: Value, layout: str = "aligned") -> Held:
    """A tensor as it lies in the lanes."""
    shape = sizes_of(value)
    return Held(value, local_shape(shape), steps_of(shape), dtype_name(value), layout)


def form_of(op: Op, forms: Callable[[str], Any]) -> Form:
    """The form of an op; `forms` gives the fact by an op's name, or None."""
    fact = forms(op.name)
    return fact(op) if fact is not None else plain(op)


def plain(op: Op) -> Form:
    """An instruction of the op's name, of the same operands."""
    tensors: list[Held] = []
    inputs: list[Input | None] = []
    for value in op.operands:
        if value is None or not hasattr(value, "shape_or_none") or value.shape_or_none is None:
            inputs.append(None)
            continue
        inputs.append(Input(len(tensors)))
        tensors.append(seen(value))
    return Form(op.name.partition(".")[2] if op.name.startswith("tpu.") else op.name, op.name, tuple(tensors), tuple(inputs),
                attributes_of(op))


@FORMS("table")
def table(op: Any) -> Form:
    """A function by a table, a copy of which every lane has."""
    held = seen(op.table, "copies")
    flat = Held(op.table, (1, 1, 1, int(np.prod(held.shape))), (0, 0, 0, 1), held.dtype, "copies")
    return Form("table", op.name, (seen(op.input), flat), (Input(0), Input(1, shape="flat")), attributes_of(op))


@FORMS("conv2d")
def convolution(op: Any) -> Form:
    """A convolution: filters in the lanes of their output channels, and one tensor of bias, multipliers and shifts."""
    o, i, kh, kw = op.weights.shape
    filters = Held(op.weights, (o, i, kh, kw), (i * kh * kw, kh * kw, kw, 1), dtype_name(op.weights), "weights")
    return _product(op, seen(op.input), filters, attributes_of(op))


@FORMS("matmul")
def product(op: Any) -> Form:
    """A product with a matrix: a convolution of one by one, whose filters are the matrix's columns."""
    attributes = attributes_of(op)
    shape = tuple(op.weights.shape)
    rows, columns = shape[-2:]
    if attributes.pop("transposed", False):
        view, steps = (rows, columns, 1, 1), (columns, 1, 1, 1)
    else:
        view, steps = (columns, rows, 1, 1), (1, columns, 1, 1)
    filters = Held(op.weights, view, steps, dtype_name(op.weights), "weights")
    window = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1}
    return _product(op, seen(op.input), filters, {**attributes, **window})


def _product(op: Any, data: Held, filters: Held, attributes: Mapping[str, Any]) -> Form:
    """A convolution's form; constants a channel are joined to one tensor, which is one move."""
    channels = filters.shape[0]
    values = [None if value is None or value.shape_or_none is None else value for value in (op.bias, op.multiplier, op.shift)]
    arrays = [None if value is None else constant_of(value) for value in values]
    tensors = [data, filters]
    inputs: list[Input | None] = [Input(0), Input(1)]
    joined: dict[str, list[np.ndarray]] = {}
    places: list[Input | None] = []
    for value, constant in zip(values, arrays, strict=True):
        if value is None:
            places.append(None)
        elif constant is None:
            places.append(Input(len(tensors), 0, "channels"))
            tensors.append(Held(value, (1, channels, 1, 1), (channels, 1, 1, 1), dtype_name(value), "channels"))
        else:
            array = np.broadcast_to(constant.numpy().reshape(-1), (channels,))
            rows = joined.setdefault(dtype_name(value), [])
            places.append(Input(-1 - list(joined).index(dtype_name(value)), len(rows), "channels"))
            rows.append(array)
    first = len(tensors)
    for dtype, rows in joined.items():
        tensors.append(Held(
            None, (len(rows), channels, 1, 1), (channels, 1, 1, 1), dtype, "channels", np.ascontiguousarray(np.stack(rows))))
    inputs += [place if place is None or place.held >= 0 else Input(first - 1 - place.held, place.image, "channels")
               for place in places]
    return Form("conv2d", "tpu.conv2d", tuple(tensors), tuple(inputs), attributes)
