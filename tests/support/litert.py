"""LiteRT's kernels as the judge of TFLite models; what asks for them is skipped where LiteRT is not installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

__all__ = ["interpreter_of", "run_litert"]


def interpreter_of(content: bytes, reference: bool = True) -> Any:
    """An interpreter of a model, with LiteRT's reference kernels.

    A few operators have no reference kernel: there, or with `reference=False`, the usual kernels run.
    """
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    kernels = litert.OpResolverType
    if reference:
        try:
            return litert.Interpreter(model_content=content, experimental_op_resolver_type=kernels.BUILTIN_REF)
        except ValueError as error:
            if "Didn't find op" not in str(error):
                raise
    usual = kernels.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return litert.Interpreter(model_content=content, experimental_op_resolver_type=usual)


def run_litert(
    content: bytes, inputs: Mapping[str, np.ndarray] | Sequence[np.ndarray], reference: bool = True,
) -> list[np.ndarray]:
    """The outputs of one run; inputs by name or in order, resized where they have other shapes."""
    interpreter = interpreter_of(content, reference)
    details = interpreter.get_input_details()
    arrays = [inputs[detail["name"]] for detail in details] if isinstance(inputs, Mapping) else list(inputs)
    for detail, array in zip(details, arrays, strict=True):
        if tuple(detail["shape"]) != array.shape:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(details, arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
