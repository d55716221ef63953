"""Functions of scalars (the bodies of reductions, comparators, ...) applied to many elements at once.

Where a region is made of element-wise ops on scalars, its kernels run as they are on whole arrays. Any other region
(one with control flow in it) runs element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transload.ir.constants import dtype_of
from transload.ir.core import Region
from transload.ir.types import QuantType, TensorType

from ..types import element_of, shape_of
from .elementwise import convert_to
from .table import Array

__all__ = ["Lanes"]


def _is_elementwise(region: Region) -> bool:
    """Whether a region computes each element from scalars by element-wise ops alone."""
    for op in region.block:
        declaration = op.declaration
        if declaration is None or not declaration.traits & {"elementwise", "constant", "terminator"}:
            return False
        if any(not isinstance(value.type, TensorType) or value.type.shape != () for value in (*op.operands, *op.results)):
            return False
        if any(isinstance(element_of(value), QuantType) and not element_of(value).per_tensor for value in op.results):
            return False
    return True


class Lanes:
    """A region as a function of arrays of one shape, applied element by element.

    Arguments are converted to the types of the region's arguments (`to_destination_type`).
    """

    def __init__(self, region: Region, run: Callable[..., list[Array]]) -> None:
        self.region = region
        self.run = run
        self.dtypes = [_dtype(argument.type) for argument in region.block.arguments]
        self.whole = _is_elementwise(region)

    def __call__(self, *arrays: Array) -> list[Array]:
        converted = [
            convert_to(array, dtype) if dtype is not None else array for array, dtype in zip(arrays, self.dtypes, strict=True)
        ]
        shape = np.broadcast_shapes(*(np.shape(array) for array in converted))
        if self.whole or shape == ():
            return [np.broadcast_to(out, shape) for out in self.run(self.region, *converted)]
        return self._one_by_one(shape, [np.broadcast_to(array, shape) for array in converted])

    def _one_by_one(self, shape: Sequence[int], arrays: list[Array]) -> list[Array]:
        outputs: list[Array] = []
        for index in np.ndindex(*shape):
            results = self.run(self.region, *(array[index] for array in arrays))
            if not outputs:
                outputs = [np.empty(shape, np.asarray(result).dtype) for result in results]
            for output, result in zip(outputs, results, strict=True):
                output[index] = result
        if not outputs:  # no elements
            outputs = [np.empty(shape, _dtype(value.type)) for value in self.region.block.terminator.operands]
        return outputs

    def reduce(self, inits: Sequence[Array], inputs: Sequence[Array]) -> list[Array]:
        """Elements along the first axis combined, by a tree that keeps their order, behind the initial values."""
        current = [convert_to(array, dtype) for array, dtype in zip(inputs, self.dtypes, strict=False)]
        while len(current[0]) > 1:
            count = len(current[0])
            even = count - count % 2
            combined = self(*(array[0:even:2] for array in current), *(array[1:even:2] for array in current))
            if even < count:
                combined = [np.concatenate([new, old[even:]]) for new, old in zip(combined, current, strict=True)]
            current = list(combined)
        shape = current[0].shape[1:]
        first = [np.broadcast_to(convert_to(init, dtype), shape) for init, dtype in zip(inits, self.dtypes, strict=False)]
        return self(*first, *(array[0] for array in current)) if len(current[0]) else [np.array(init) for init in first]


def _dtype(type_: Any) -> Any:
    return dtype_of(type_.element) if isinstance(type_, TensorType) and shape_of(type_) == () else None
