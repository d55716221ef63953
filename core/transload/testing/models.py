"""Small modules to test with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import UsageError
from ..ir import Module, TensorType, Type, Value, element_type_of, new_module, set_results
from ..ir.build import Builder
from ..outcomes import a_kind

__all__ = ["build_module", "build_op"]


def build_module(
    input_types: Sequence[Type], build: Callable[..., Any], names: Sequence[str] | None = None,
) -> Module:
    """A module whose `main` takes arguments of `input_types` and returns what `build(builder, *arguments)` does."""
    module = new_module()
    names = names or [f"x{index}" for index in range(len(input_types))]
    main = module.add_function("main", input_types, names)
    block = main.regions[0].block
    values = build(Builder(block, location="y"), *block.arguments)
    results = (values,) if isinstance(values, Value) else tuple(values)
    set_results(main, results, ["y"] if len(results) == 1 else [f"y{index}" for index in range(len(results))])
    return module


def build_op(
    name: str, *inputs: np.ndarray | None, element: Type | None = None, types: Sequence[Type] | None = None,
    input_elements: Sequence[Type | None] = (), constant: Sequence[int] = (), **attributes: Any,
) -> Module:
    """A module of one op on inputs shaped like the given arrays.

    An input of None is absent; those whose index is in `constant` are constants of the op's dialect
    instead of arguments. `input_elements` gives element types where they are not the arrays' own
    (quantized ones); `element` and `types` are as in `Builder.emit`. Raises `UsageError` where inputs are named that
    there are not, and for inputs that are no arrays.
    """
    for place, given in enumerate(inputs):
        is_array = isinstance(given, np.ndarray | np.generic)
        if given is not None and (not is_array or given.dtype.hasobject):
            what = "an array of Python objects" if is_array else a_kind(given)
            raise UsageError(f"build_op() takes arrays of numbers as the inputs of {name}, and number {place} is {what}",
                             hint="numpy.asarray(..., numpy.float32) makes one of numbers")
    if len(input_elements) > len(inputs) or any(index not in range(len(inputs)) for index in constant):
        raise UsageError(
            f"build_op() was given {len(inputs)} inputs of {name}, {len(input_elements)} input_elements, and constant={constant}",
            hint="constant= holds indices of inputs from 0, input_elements= no more than one for each input")
    elements = [*input_elements, *[None] * (len(inputs) - len(input_elements))]
    arguments = [
        TensorType(array.shape, wanted or element_type_of(array.dtype))
        for index, (array, wanted) in enumerate(zip(inputs, elements, strict=True)) if array is not None and index not in constant
    ]

    def build(builder: Builder, *values: Value) -> Any:
        given = iter(values)
        operands = [
            None if array is None else builder.constant(array, wanted) if index in constant else next(given)
            for index, (array, wanted) in enumerate(zip(inputs, elements, strict=True))
        ]
        return builder.emit(name, *operands, element=element, types=types, **attributes)

    return build_module(arguments, build)
