"""What somebody else's function is given of arrays that others go on using: it may be written to compute in place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

__all__ = ["apart", "copied", "kept", "lending", "read_only"]


def copied(value: Any) -> Any:
    """A value with copies of the arrays in it, by name or in tuples."""
    return _each(value, lambda array: array.copy())


def read_only(value: Any) -> Any:
    """A value with arrays in it, by name or in tuples, that raise `ValueError` where they are written to."""
    return _each(value, _locked)


def kept(value: Any) -> Any:
    """What somebody else's function may read, and whose owner goes on with it as it is: of a module a copy, which shares the
    constants, and of samples and the like what raises `ValueError` where it is written to."""
    from .ir import Module

    if isinstance(value, Module):
        return value.clone()
    if hasattr(type(value), "lent"):  # samples that are read from somewhere
        return value.lent()
    return type(value)(map(read_only, value)) if type(value) in (list, tuple) else read_only(value)


def lending(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that gets arrays, its operands and what its regions give, that raise `ValueError` where it writes to them."""
    @wraps(kernel)
    def called(op: Any, *arrays: Any, **how: Any) -> Any:
        if (run := how.get("run")) is not None:
            how["run"] = lambda region, *inputs: [read_only(each) for each in run(region, *inputs)]
        return kernel(op, *map(read_only, arrays), **how)

    made: Any = called
    if hasattr(kernel, "wants_values"):
        made.wants_values = kernel.wants_values
    if hasattr(kernel, "plans"):
        plans = kernel.plans
        made.plans = lambda op, plan: lending(plans(op, plan))
    return called


def apart(values: Mapping[str, Any], lent: Iterable[Any]) -> dict[str, Any]:
    """Values by name, each array in memory of its own: copied are those that lie in another one's, in what was lent, or in a
    constant's, which is read-only."""
    taken = {id(_held(array)) for array in lent}

    def own(array: Any) -> Any:
        held = id(_held(array))
        if held in taken or not array.flags.writeable:
            return array.copy()
        taken.add(held)
        return array

    return {name: _each(value, own) for name, value in values.items()}


def _held(array: Any) -> Any:
    """The array in whose memory one lies: what it is a view of, or itself."""
    kind = sys.modules["numpy"].ndarray
    while isinstance(array, kind) and isinstance(array.base, kind):
        array = array.base
    return array


def _locked(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    numpy = sys.modules.get("numpy")  # where nobody imported it, nothing is one of its arrays
    if numpy is not None and isinstance(value, numpy.ndarray):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _each(each, change) for name, each in value.items()}
    return tuple(_each(each, change) for each in value) if type(value) is tuple else value
