"""What somebody else's function is given of arrays that others go on using, and gives: it may be written to compute in place, or
in a buffer of its own, which it gives each time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any

__all__ = ["apart", "copied", "lending", "owned", "read_only"]


def copied(value: Any) -> Any:
    """A value with copies of the arrays in it, by name or in tuples."""
    return _each(value, lambda array: array.copy())


def owned(value: Any, lent: Sequence[Any] = ()) -> Any:
    """A value with the arrays in it, by name, in tuples or lists of any class, in memory that who gave them writes into no more.

    Whether that goes on using an array cannot be seen of it: all are copied, but for those that lie in what was `lent`, which it
    cannot write into. What is repeated (`np.broadcast_to`) is copied once.
    """
    def own(array: Any) -> Any:
        if array.base is None:  # what is lent is a view
            return array.copy()
        held = _held(array)
        return array if any(_held(each) is held for each in lent) else _copy(array)

    if isinstance(value, tuple | list):  # a namedtuple is a tuple to who takes it
        made = [owned(each, lent) for each in value]
        return made if isinstance(value, list) else tuple(made)
    return {name: owned(each, lent) for name, each in value.items()} if isinstance(value, Mapping) else _each(value, own)


def read_only(value: Any) -> Any:
    """A value with arrays in it, by name or in tuples, that raise `ValueError` where they are written to."""
    return _each(value, _locked)


def lending(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that gets arrays, its operands and what its regions give, that raise `ValueError` where it writes to them.

    What it gives is `owned`: it may compute in a buffer that it keeps, and would change results of before.
    """
    @wraps(kernel)
    def called(op: Any, *arrays: Any, **how: Any) -> Any:
        if (run := how.get("run")) is not None:
            how["run"] = lambda region, *inputs: [read_only(each) for each in run(region, *inputs)]
        return owned(kernel(op, *map(read_only, arrays), **how), arrays)

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


def _copy(array: Any) -> Any:
    """A copy of an array, which repeats what the array repeats."""
    once = array[tuple(slice(None) if stride else slice(0, 1) for stride in array.strides)].copy()
    return once if once.shape == array.shape else sys.modules["numpy"].broadcast_to(once, array.shape)


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
