"""How ops of dialect `tpu` become instructions: which operation, what its inputs are, how they lie in the lanes.

A form is a fact of the kind `form`, a function of the op. An op without one is an instruction of its own name, its operands in
the aligned layout. What a form says holds for the whole op; slices of it have parts of the same operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from transload.errors import InternalError
from transload.facts import FactTable
from transload.ir import DialectType, Op, Value, dtype_of, is_absent
from transload.ir.build import constant_of

from ..dialect.kernels import attributes_of
from ..regions import Shape
from ..shapes import local_shape, places_of_rank
from .copies import Copy

__all__ = ["FORMS", "Form", "Held", "Input", "dtype_name", "form_of", "seen", "sizes_of", "steps_of", "view_of"]

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
    first: int = 0
    """Which element of the original is at (0, 0, 0, 0)."""

    @property
    def key(self) -> Any:
        """Two with the same key are the same tensor."""
        return (self.value if self.data is None else id(self.data), self.shape, self.steps, self.layout, self.first)


@dataclass(frozen=True)
class Input:
    """An input of an instruction: which of the form's tensors, and which of its images where it has only that."""

    held: int
    image: int | None = None
    shape: str = "box"
    """Which shape the operation wants: that of the `box`, `channels` alone, `flat`, or the tensor's `own`."""


@dataclass(frozen=True)
class Form:
    """An op as an instruction. Rules of regions and cycles are those of `rule`, an op's name; their operands are `tensors`."""

    operation: str
    rule: str
    tensors: tuple[Held, ...]
    inputs: tuple[Input | None, ...]
    attributes: Mapping[str, Any]
    own: bool = False
    """Whether the operation wants and gives tensors with their own dimensions; it cannot be cut then."""


FORMS = FactTable("tpu")


def steps_of(shape: tuple[int, ...]) -> Steps:
    """Elements between neighbours of (n, c, h, w) in a row-major tensor of this shape, as `local_shape` sees it."""
    _, c, h, w = local_shape(shape)
    if len(shape) >= 4:
        return (c * h * w, h * w, w, 1)
    if len(shape) >= 2:
        return (c * h, 1, c, 1)
    return (c, 1, 1, 1)


def view_of(value: Value, copy: Copy, shape: tuple[int, ...]) -> Held | None:
    """A tensor of this shape as a view of another of which it holds some elements; None where the lanes' dimensions do not
    allow it.
    """
    places = places_of_rank(len(shape))
    if places is None or not all(shape):
        return None
    steps = [1, 1, 1, 1]
    for place, step in zip(places, copy.source_steps, strict=True):
        steps[place] = step
    return Held(value, local_shape(shape), (steps[0], steps[1], steps[2], steps[3]), dtype_name(value), first=copy.source)


def dtype_name(value: Value) -> str:
    """The name of the type that a tensor's elements are stored as: of another dialect's, which no chip has, that dialect's."""
    element = value.stored_element
    if element is None:
        raise InternalError(f"{value.type} is no tensor")
    return str(element if isinstance(element, DialectType) else dtype_of(element))


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


def plain(op: Op, own: bool = False) -> Form:
    """An instruction of the op's name, of the same operands; of rank 4, or with their own dimensions."""
    tensors: list[Held] = []
    inputs: list[Input | None] = []
    for value in op.operands:
        if is_absent(value):
            inputs.append(None)
            continue
        inputs.append(Input(len(tensors), shape="own" if own else "box"))
        tensors.append(seen(value))
    return Form(_operation(op), "" if own else op.name, tuple(tensors), tuple(inputs), attributes_of(op), own)


def _operation(op: Op) -> str:
    """The name of an op's operation: those of `tpu` are known without the dialect."""
    return op.name.removeprefix("tpu.")


@FORMS("softmax")
def softmax(op: Any) -> Form:
    """Along the dimension of the lanes' layout that the axis is; every lane has a copy of the exponentials."""
    places = places_of_rank(len(op.input.shape))
    if places is None:
        return plain(op, own=True)
    tensors, inputs = [seen(op.input)], [Input(0)]
    if not is_absent(op.exponentials):
        tensors.append(_flat(op.exponentials))
        inputs.append(Input(1, shape="flat"))
    return Form("softmax", op.name, tuple(tensors), tuple(inputs), {**attributes_of(op), "axis": places[op.axis]})


@FORMS("reduce")
def reduce(op: Any) -> Form:
    """Along the dimensions of the lanes' layout that the axes are, where that keeps the order in which floats are summed."""
    places = places_of_rank(len(op.input.shape))
    axes = None if places is None else tuple(places[axis] for axis in sorted(op.axes))
    if axes is None or (op.input.is_float and list(axes) != sorted(axes)):
        return plain(op, own=True)
    return Form("reduce", op.name, (seen(op.input),), (Input(0),), {**attributes_of(op), "axes": axes})


@FORMS("arg")
def extreme(op: Any) -> Form:
    """Along the dimension of the lanes' layout that the axis is."""
    places = places_of_rank(len(op.input.shape))
    if places is None:
        return plain(op, own=True)
    return Form("arg", op.name, (seen(op.input),), (Input(0),), {**attributes_of(op), "axis": places[op.axis]})


def _flat(value: Value) -> Held:
    """A table, of which every lane has a copy."""
    return Held(value, (1, 1, 1, prod(sizes_of(value))), (0, 0, 0, 1), dtype_name(value), "copies")


@FORMS("table")
def table(op: Any) -> Form:
    """A function by a table, a copy of which every lane has."""
    return Form("table", op.name, (seen(op.input), _flat(op.table)), (Input(0), Input(1, shape="flat")), attributes_of(op))


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
    shape = sizes_of(op.weights)
    if prod(shape[:-2]) > 1:  # matrices of their own for each
        return _stacks(op, attributes)
    rows, columns = shape[-2:]
    if attributes.pop("transposed", False):
        view, steps = (rows, columns, 1, 1), (columns, 1, 1, 1)
    else:
        view, steps = (columns, rows, 1, 1), (1, columns, 1, 1)
    filters = Held(op.weights, view, steps, dtype_name(op.weights), "weights")
    window = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1}
    return _product(op, seen(op.input), filters, {**attributes, **window})


def _stacks(op: Any, attributes: Mapping[str, Any]) -> Form:
    """Products of stacks of matrices, with their own dimensions."""
    tensors, inputs = [seen(op.input), seen(op.weights)], [Input(0, shape="own"), Input(1, shape="own")]
    places: list[Input | None] = []
    for value in (op.bias, op.multiplier, op.shift):
        if is_absent(value):
            places.append(None)
        else:
            count = prod(sizes_of(value))
            places.append(Input(len(tensors), 0, "channels"))
            tensors.append(Held(value, (1, count, 1, 1), (count, 1, 1, 1), dtype_name(value), "channels"))
    return Form("matmul", "tpu.matmul", tuple(tensors), (*inputs, *places), attributes, own=True)


def _product(op: Any, data: Held, filters: Held, attributes: Mapping[str, Any]) -> Form:
    """A convolution's form; constants a channel are joined to one tensor, which is one move."""
    channels = filters.shape[0]
    values = [None if is_absent(value) else value for value in (op.bias, op.multiplier, op.shift)]
    arrays = [None if value is None else constant_of(value) for value in values]
    tensors = [data, filters]
    inputs: list[Input | None] = [Input(0), Input(1)]
    joined: dict[str, list[np.ndarray]] = {}
    places: list[Input | None] = []
    for value, constant in zip(values, arrays, strict=True):
        if value is None:
            places.append(None)
        elif constant is None:  # a vector or a number as it lies in the lanes
            places.append(Input(len(tensors), 0, "channels"))
            tensors.append(seen(value))
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
