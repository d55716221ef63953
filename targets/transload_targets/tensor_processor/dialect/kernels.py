"""The kernels of dialect `tpu`: the functions of `arithmetic`, called with an op's operands and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import InternalError
from transload.ir import Op, dtype_of
from transload.plugin import KernelTable

from ..arithmetic import operation

__all__ = ["KERNELS", "attributes_of", "dtype_name"]

KERNELS = KernelTable()


def attributes_of(op: Op) -> dict[str, Any]:
    """The attributes of an op that its operation takes: all that its declaration has, but for those that are absent."""
    declared = op.declaration.attributes if op.declaration is not None else {}
    found = {name: getattr(op, name) for name in declared}
    return {name: value for name, value in found.items() if value is not None}


def dtype_name(op: Op, index: int = 0) -> str:
    """The name of the stored element type of a result."""
    element = op.results[index].stored_element
    if element is None:
        raise InternalError(f"{op.called} has a result of {op.results[index].type}, which is no tensor")
    return str(dtype_of(element))


@KERNELS("tpu.*", quantized="native")
def execute(op: Op, *arrays: np.ndarray | None) -> Any:
    """What the operation of the op's name makes of stored numbers."""
    return operation(op.name)(*arrays, dtype=dtype_name(op), **attributes_of(op))
