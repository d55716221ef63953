"""Variables in the reference engine: every run begins with what the checkpoint holds, and assigns for itself alone.

A resource is the variable itself, which functions and regions hand on. A variable of TensorFlow 1 is its array, which assigning
writes into: whoever has a reference sees it. Constants are here, too: those of texts, which only checks and tables use, are
arrays of objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transload.errors import Finding, RunError, Unsupported
from transload.handles import Handle
from transload.ir import Dense, Op
from transload.plugin import KernelTable

from .legalize.gather import ignores_outside
from .passes.freeze import NO_VALUE

__all__ = ["Variable", "add_variables"]

_CHANGES: dict[str, Callable[[Any, Any], Any]] = {"": lambda old, new: new, "Add": np.add, "Sub": np.subtract}
_SCATTERS: dict[str, Callable[..., Any]] = {
    "Update": np.copyto, "Add": np.add.at, "Sub": np.subtract.at, "Mul": np.multiply.at, "Div": np.divide.at,
    "Min": np.minimum.at, "Max": np.maximum.at}


class Variable(Handle):
    """A variable of TensorFlow 2, which ops are given as a resource."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


def add_variables(kernels: KernelTable) -> None:
    """Enter the kernels of variables into a table."""
    native = {"quantized": "native"}
    kernels("tf.Const", **native)(_constant)
    kernels("tf.VarHandleOp", **native)(lambda op: Variable(_initial(op)))
    kernels("tf.VariableV2", "tf.Variable", **native)(lambda op: np.array(_need(op, _initial(op))))
    kernels("tf.ReadVariableOp", **native)(lambda op, variable: _need(op, variable.array))
    kernels("tf.VarIsInitializedOp", **native)(lambda op, variable: np.array(variable.array is not None))
    kernels("tf.IsVariableInitialized", **native)(lambda op, array: np.array(True))
    kernels("tf.VariableShape", **native)(lambda op, variable: np.array(np.shape(_need(op, variable.array)), np.int32))
    kernels("tf.DisableCopyOnRead", "tf.DestroyResourceOp", **native)(lambda op, variable: ())
    kernels("tf.ResourceGather", **native)(_gather)
    for word, change in _CHANGES.items():
        kernels(f"tf.Assign{word}VariableOp", **native)(_assigning(change))
        kernels(f"tf.Assign{word}", **native)(_writing(change))
    for word, scatter in _SCATTERS.items():
        kernels(f"tf.ResourceScatter{word}", **native)(_scattering(scatter, lambda indices: np.asarray(indices)[..., None]))
        kernels(f"tf.ResourceScatterNd{word}", **native)(_scattering(scatter, np.asarray))


def _constant(op: Op) -> Any:
    texts = op.attributes.get("value_strings")
    if texts is not None:
        return np.array(list(texts), object).reshape(op.result.known_shape or ())
    value = op.attributes.get("value")
    if not isinstance(value, Dense):
        raise RunError("an op cannot be run", [Finding(op.name, "is a constant without a value", (op.origin or "",))])
    return value.numpy()


def _initial(op: Op) -> Any:
    value = op.attributes.get("value")
    return value.numpy() if isinstance(value, Dense) else None


def _need(op: Op, array: Any) -> Any:
    if array is None:
        raise RunError("an op cannot be run", [Finding(
            op.name, f"its variable {NO_VALUE}", (op.origin or "",))])
    return array


def _assigning(change: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def assign(op: Op, variable: Any, value: Any) -> tuple[()]:
        variable.array = change(variable.array, value) if variable.array is not None else value
        return ()

    return assign


def _writing(change: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def assign(op: Op, array: Any, value: Any) -> Any:
        try:
            array[...] = change(array, value)
        except ValueError as error:
            raise _outside(op, error) from None
        return array

    return assign


def _gather(op: Op, variable: Any, indices: Any) -> Any:
    array, n_batches = _need(op, variable.array), int(op.attributes.get("batch_dims", 0))
    places = np.ix_(*map(np.arange, array.shape[:n_batches])) if n_batches else ()
    rest = max(np.ndim(indices) - n_batches, 0)
    try:
        return array[(*(place.reshape(place.shape + (1,) * rest) for place in places), indices)]
    except (IndexError, ValueError) as error:
        raise _outside(op, error) from None


def _outside(op: Op, error: Exception) -> RunError:
    return RunError("an op cannot be run", [
        Finding(op.name, f"its subscripts do not fit the variable: {error}", (op.origin or "",))])


def _scattering(scatter: Callable[..., Any], subscripts: Callable[[Any], np.ndarray]) -> Callable[..., Any]:
    """What writes at the `subscripts` [.., n] that it makes of indices, in the first n dimensions of a variable."""
    def write(op: Op, variable: Any, indices: Any, updates: Any) -> tuple[()]:
        array, places = np.array(_need(op, variable.array)), subscripts(indices)
        try:
            inside = ((places >= 0) & (places < array.shape[:places.shape[-1]])).all(-1)
            if _ignores(op):
                places, updates = places[inside], np.broadcast_to(
                    updates, (*inside.shape, *array.shape[places.shape[-1]:]))[inside]
            elif not inside.all():
                raise IndexError(f"{places[~inside][0].tolist()} is outside of {list(array.shape)}")
            at = tuple(np.moveaxis(places, -1, 0))
            if scatter is np.copyto:
                array[at] = updates
            else:
                scatter(array, at, updates)
        except (IndexError, ValueError) as error:
            raise _outside(op, error) from None
        variable.array = array
        return ()

    return write


def _ignores(op: Op) -> bool:
    try:
        return ignores_outside(op)
    except Unsupported as error:
        raise RunError("an op cannot be run", [Finding(op.name, error.why, (op.origin or "",))]) from None
