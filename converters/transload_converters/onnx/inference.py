"""The shapes of a model's values, by ONNX's own inference, in a process that imports nothing else: it begins at once.

The package `onnx` imports numpy, protocol buffers and much of itself, which takes ten times as long as inference does. What
infers is an extension module of its C++ that takes and gives bytes, and needs none of them; it is loaded by itself where that is
so.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path

__all__ = ["with_shapes", "with_shapes_alone", "without_contradiction"]

_EXTENSION = "onnx_cpp2py_export"
_MEMORY, _MEMORY_OF_ONE = 1 << 28, 64
"""Bytes that inference may take beside what the process has, and those for each byte of the model."""


def with_shapes(model: bytes, data: bool = True) -> bytes:
    """The model with the shapes of its values, as far as `onnx.shape_inference` finds them; from numbers, too, with `data`."""
    from onnx import shape_inference

    content: bytes = shape_inference.infer_shapes(model, data_prop=data).SerializeToString()
    return content


def with_shapes_alone(model: bytes) -> bytes:
    """The same in a process that never imports the package: its C++ would be there twice, and end the process.

    Numbers are followed as far as memory goes, since shapes are made of some: a model of a kilobyte may double one for ever.
    """
    infer = _extension()
    for data in (True, False):
        with contextlib.suppress(MemoryError), _limited(_MEMORY + _MEMORY_OF_ONE * len(model)):
            return with_shapes(model, data) if infer is None else infer(model, False, False, data)
    raise MemoryError


@contextlib.contextmanager
def _limited(most: int) -> Iterator[None]:
    """Let no more than so many bytes be taken beside those that the process has, where the system has such limits."""
    try:
        import resource

        with Path("/proc/self/status").open(encoding="ascii", errors="replace") as status:
            held = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData:"))
    except (ImportError, OSError, StopIteration, ValueError, IndexError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = held + most
    resource.setrlimit(resource.RLIMIT_DATA, (limit if soft < 0 else min(limit, soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


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
