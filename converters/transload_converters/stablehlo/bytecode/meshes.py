"""Groups of processes that are said by axes of a mesh of devices, as what they are: rows of numbers.

A mesh is an array of devices, in row-major order or as it lists them, whose dimensions have names. A group of processes are
those that differ along the axes that are named, in their order; a part of an axis is a dimension that it is reshaped into.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from transload.ir.constants import Dense

from .cursor import BytecodeError, UnknownConstruct

__all__ = ["Axis", "Mesh", "MeshAxis", "SubAxis", "groups_along"]

MOST_DEVICES = 1 << 20


class SubAxis(NamedTuple):
    """A part of an axis: that is `before * size * rest` long, reshaped so, and this is the middle."""

    before: int
    size: int


class Axis(NamedTuple):
    """An axis of a mesh, or a part of it."""

    name: Any
    part: SubAxis | None


class MeshAxis(NamedTuple):
    name: Any
    size: int


class Mesh(NamedTuple):
    axes: Sequence[Any]
    devices: Dense | None


def groups_along(mesh: Any, axes: Any) -> Dense:
    """The groups along axes of a mesh. Raises `UnknownConstruct` where the mesh is only named."""
    if isinstance(mesh, str):
        raise UnknownConstruct(f"groups are along axes of the mesh {mesh}, which is an operation of another dialect")
    if not isinstance(mesh, Mesh) or not isinstance(axes, list) or not all(isinstance(axis, Axis) for axis in axes):
        raise BytecodeError("groups are along what is no axis of a mesh")
    if not isinstance(mesh.axes, list) or not all(isinstance(axis, MeshAxis) and axis.size > 0 for axis in mesh.axes):
        raise BytecodeError("a mesh has what is no axis, or one that is empty")
    if not all(isinstance(axis.name, str) for axis in (*mesh.axes, *axes)):
        raise BytecodeError("the name of a mesh's axis is no text")
    sizes = {axis.name: axis.size for axis in mesh.axes}
    count = math.prod(sizes.values())
    if len(sizes) != len(mesh.axes) or count > MOST_DEVICES or any(axis.name not in sizes for axis in axes):
        raise BytecodeError("the axes of a mesh are not those that groups are along, or it is too large")
    devices = np.arange(count) if mesh.devices is None else mesh.devices.numpy().reshape(-1)
    if devices.size != count or devices.dtype.kind != "i":
        raise BytecodeError(f"a mesh of {count} devices lists {devices.size}")
    places, shape = _places(sizes, axes)
    chosen = [places[axis] for axis in _whole(axes, sizes)]
    if len(set(chosen)) != len(chosen):
        raise BytecodeError("groups are twice along one axis of a mesh")
    others = [place for place in range(len(shape)) if place not in chosen]
    size = math.prod(shape[place] for place in chosen)
    return Dense(devices.reshape(shape).transpose([*others, *chosen]).reshape(-1, size).astype(np.int64))


def _whole(axes: Sequence[Axis], sizes: dict[Any, int]) -> list[Axis]:
    """The axes, whole ones as a part that is all of them."""
    return [axis if axis.part is not None else Axis(axis.name, SubAxis(1, sizes[axis.name])) for axis in axes]


def _places(sizes: dict[Any, int], axes: Sequence[Axis]) -> tuple[dict[Axis, int], list[int]]:
    """The dimensions that all axes are reshaped into so that each of `axes` is one of them: where each is, and the sizes."""
    places: dict[Axis, int] = {}
    shape: list[int] = []
    for name, size in sizes.items():
        parts = {axis.part for axis in _whole(axes, sizes) if axis.name == name and axis.part is not None}
        cuts = sorted({1, size, *(part.before for part in parts), *(part.before * part.size for part in parts)})
        if cuts[0] < 1 or cuts[-1] != size or any(after % before for before, after in pairwise(cuts)):
            raise BytecodeError(f"axis {name!r} of a mesh is {size} long, and has no such parts")
        for before, after in pairwise(cuts):
            places[Axis(name, SubAxis(before, after // before))] = len(shape)
            shape.append(after // before)
        if size == 1 and parts:
            places[Axis(name, SubAxis(1, 1))] = len(shape)
            shape.append(1)
    missing = [axis for axis in _whole(axes, sizes) if axis not in places]
    if missing:
        raise BytecodeError(f"parts of axis {missing[0].name!r} of a mesh lie over each other")
    return places, shape
