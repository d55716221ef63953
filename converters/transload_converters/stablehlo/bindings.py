"""The one module that touches jaxlib: its MLIR bindings turn every form of StableHLO into generic text.

    text, constants = generic_text(data, "model.mlirbc")

Large constants are left out of the text and come beside it, in the order of their ops, as arrays over the memory of
the bindings: nothing is copied.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from transload.errors import ReadError, UsageError

__all__ = ["BYTECODE", "artifact", "available", "generic_text", "portable_artifact", "version"]

BYTECODE = b"ML\xefR"
artifact = re.compile(rb"ML\xefR.StableHLO_v", re.DOTALL)
"""How a portable artifact begins: the mark of MLIR bytecode, its version, and who wrote it."""
_LARGE = 32  # elements; larger constants are not printed

Constant = Callable[[], np.ndarray] | str
"""Gives the array, or is the attribute's text where numpy cannot read it (elements of 2, 4, and 8 bits, bf16)."""


def available() -> str | None:
    """None, or what to install."""
    return (
        None if importlib.util.find_spec("jaxlib") is not None else "jaxlib is not installed: pip install 'transload[stablehlo]'"
    )


@lru_cache(maxsize=1)
def _modules() -> Any:
    why = available()
    if why:
        raise UsageError(f"this form of StableHLO cannot be read: {why}")
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir.dialects import chlo, stablehlo

    stablehlo.register_stablehlo_passes()
    return ir, passmanager, stablehlo, chlo


def _context() -> Any:
    """A context that knows all dialects of StableHLO programs."""
    ir, passmanager, stablehlo, chlo = _modules()
    context = ir.Context()
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    with context, ir.Location.unknown():  # which loads `quant` and `vhlo`
        empty = ir.Module.parse("module {}")
        passmanager.PassManager.parse("builtin.module(stablehlo-legalize-to-vhlo,vhlo-legalize-to-stablehlo)").run(
            empty.operation
        )
    return context


def _parse(data: bytes, name: str) -> tuple[Any, Any]:
    """The bindings' module, and its context."""
    ir, passmanager, stablehlo, _ = _modules()
    context = _context()
    with context, ir.Location.unknown():
        try:
            if artifact.match(data):
                module = stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = ir.Module.parse(data)
            head = str(module.operation.get_asm(print_generic_op_form=True, large_elements_limit=1))
            if '"chlo.' in head:
                passmanager.PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))").run(module.operation)
            if '"vhlo.' in head:
                passmanager.PassManager.parse("builtin.module(vhlo-legalize-to-stablehlo)").run(module.operation)
        except Exception as error:  # MLIRError, ValueError, RuntimeError: all say what is wrong with the file
            raise ReadError(
                f"{name}: is not StableHLO that can be read: {_first_lines(str(error))}", hint=_hint(str(error), data)
            ) from None
    return module, context


_TRIAL = "import sys; from transload_converters.stablehlo import bindings as b; b.trial(sys.stdin.buffer.read())"


def _try_apart(data: bytes, name: str) -> None:
    """Read bytecode in a process of its own first: damaged bytecode can make MLIR end the process that reads it."""
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", _TRIAL], input=data, capture_output=True, env={**os.environ, "PYTHONPATH": paths}, check=False
    )
    if done.returncode != 0:
        raise ReadError(
            f"{name}: the bytecode is damaged: MLIR cannot go on reading it", hint="write the file again, or get it anew"
        )


def trial(data: bytes) -> None:
    """Read a program, and leave what is wrong with it to whoever reads it in earnest."""
    with suppress(ReadError):
        _parse(data, "trial")


def _first_lines(message: str) -> str:
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    return "; ".join(lines[:3])[:600] or "the bindings give no reason"


def _hint(message: str, data: bytes) -> str:
    if "not found for custom op" in message:
        return "the program uses a dialect outside of StableHLO; let the tool that wrote it convert that to StableHLO first"
    if artifact.match(data):
        return f"portable artifacts of StableHLO 0.9 to {version()} can be read"
    return ""


def version() -> str:
    """The newest version of portable artifacts that is read and written."""
    return str(_modules()[2].get_current_version())


def generic_text(data: bytes, name: str) -> tuple[str, list[Constant]]:
    """A program as MLIR text in generic form, and those of its constants that are not in the text, in order.

    `data` is text, MLIR bytecode or a portable artifact. Raises `ReadError` with what the bindings say.
    """
    if data.startswith(BYTECODE):
        _try_apart(data, name)
    module, context = _parse(data, name)
    ir = _modules()[0]
    with context:
        text = module.operation.get_asm(
            print_generic_op_form=True, enable_debug_info=True, large_elements_limit=_LARGE, assume_verified=True
        )
        constants: list[Constant] = []
        _collect(module.operation, constants, ir)
    return text, constants


def _collect(operation: Any, found: list[Constant], ir: Any) -> None:
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                inner = op.operation
                if inner.name == "stablehlo.constant":
                    found.append(_reader_of(inner.attributes["value"], ir))
                _collect(inner, found, ir)


class _Held:
    """Memory of the bindings, kept by whoever holds an array over it: numpy makes this the array's base."""

    def __init__(self, attribute: Any) -> None:
        self.attribute = attribute
        self.array = np.asarray(attribute)
        self.__array_interface__ = self.array.__array_interface__


def _reader_of(attribute: Any, ir: Any) -> Constant:
    """How to get at a constant later."""

    def read() -> np.ndarray:
        return np.asarray(_Held(attribute))

    if not isinstance(attribute, ir.DenseElementsAttr):  # a resource: the text has it, or nobody has
        return "__elided__"
    element = str(ir.ShapedType(attribute.type).element_type)
    readable = element in ("f16", "f32", "f64") or element in ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
    if not readable:
        return str(attribute)
    return read


def portable_artifact(text: str, name: str, target: str | None = None) -> bytes:
    """A program, as text, as a portable artifact of StableHLO version `target` (the newest where None)."""
    stablehlo = _modules()[2]
    module, context = _parse(text.encode(), name)
    with context:
        try:
            return bytes(stablehlo.serialize_portable_artifact(module, target or version()))
        except Exception as error:
            raise UsageError(f"{name}: cannot be written as StableHLO {target}: {_first_lines(str(error))}") from None
