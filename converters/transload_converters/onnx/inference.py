"""The shapes of a model's values, by ONNX's own inference, in a process that imports nothing else: it begins at once.

The package `onnx` imports numpy, protocol buffers and much of itself, which takes ten times as long as inference does. What
infers is an extension module of its C++ that takes and gives bytes, and needs none of them; it is loaded by itself where that is
so.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec

__all__ = ["with_shapes", "with_shapes_alone", "without_contradiction"]

_EXTENSION = "onnx_cpp2py_export"


def with_shapes(model: bytes) -> bytes:
    """The model with the shapes of its values, as far as `onnx.shape_inference` finds them."""
    from onnx import shape_inference

    content: bytes = shape_inference.infer_shapes(model, data_prop=True).SerializeToString()
    return content


def with_shapes_alone(model: bytes) -> bytes:
    """The same in a process that never imports the package: its C++ would be there twice, and end the process."""
    infer = _extension()
    return with_shapes(model) if infer is None else infer(model, False, False, True)  # only `data_prop`


def without_contradiction(model: bytes) -> bool:
    """Whether inference finds no shapes that contradict each other; raises what it says where it does."""
    infer = _extension()
    if infer is not None:
        infer(model, False, True, True)  # `strict_mode` and `data_prop`
        return True
    from onnx import shape_inference

    shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    return True


@cache
def _extension() -> Callable[..., bytes] | None:
    """What infers; None where the package is imported already, or has it elsewhere."""
    package = find_spec("onnx")
    if "onnx" in sys.modules or package is None:
        return None
    with contextlib.suppress(ImportError, AttributeError):
        spec = PathFinder.find_spec(_EXTENSION, package.submodule_search_locations)
        if spec is not None and spec.loader is not None:
            extension = module_from_spec(spec)
            spec.loader.exec_module(extension)
            found: Callable[..., bytes] = extension.shape_inference.infer_shapes
            return found
    return None
