"""The one module that touches jaxlib: its MLIR bindings read pretty text, and write portable artifacts.

What they read comes back as MLIR bytecode, which our own reader reads (`bytecode`): pretty text, CHLO by its decomposition,
and bytecode with something that our reader has no decoder for. They read in a process of their own (`worker`), because
damaged programs end MLIR's.
"""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from transload.errors import ReadError, UsageError
from transload.ir import Op
from transload.suggest import nearest

if TYPE_CHECKING:
    pass

__all__ = ["available", "numbers", "portable_artifact", "rewritten", "version"]

_FORMAT = 4
"""The version of MLIR's bytecode that is asked for: the last that keeps all attributes of an operation in one dictionary."""


def available() -> str | None:
    """None, or what to install."""
    return (
        None if importlib.util.find_spec("jaxlib") is not None else "jaxlib is not installed: pip install 'transload[stablehlo]'"
    )


@lru_cache(maxsize=1)
def _modules() -> Any:
    why = available()
    if why:
        raise UsageError(f"this form of StableHLO cannot be read or written: {why}")
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir.dialects import chlo, stablehlo

    stablehlo.register_stablehlo_passes()
    return ir, passmanager, stablehlo, chlo


def _context() -> Any:
    """A context that knows all dialects that programs of StableHLO are written in."""
    ir, passmanager, stablehlo, chlo = _modules()
    try:
        dialects = import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext")
    except ImportError:  # before jaxlib 0.7, the last that Python 3.10 has
        dialects = import_module("jaxlib.mlir._mlir_libs.register_jax_dialects")

    context = ir.Context()
    registry = ir.DialectRegistry()
    dialects.register_dialects(registry)  # arith, cf, func, math, scf, tensor and the like
    context.append_dialect_registry(registry)
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    _register_optional(context)
    context.allow_unregistered_dialects = True
    context.emit_error_diagnostics = False
    with context, ir.Location.unknown():  # which loads `quant` and `vhlo`
        empty = ir.Module.parse("module {}")
        passmanager.PassManager.parse("builtin.module(stablehlo-legalize-to-vhlo,vhlo-legalize-to-stablehlo)").run(
            empty.operation
        )
    return context


def _register_optional(context: Any) -> None:
    """Dialects that versions of jaxlib have or have not: JAX's shardings, and MHLO."""
    try:
        from jaxlib.mlir.dialects import sdy

        sdy.register_dialect(context)
    except (ImportError, AttributeError):
        pass
    try:
        from jaxlib.mlir.dialects import mhlo

        mhlo.register_mhlo_dialect(context)
    except (ImportError, AttributeError):
        pass


def _parse(data: bytes, name: str) -> tuple[Any, Any]:
    """The bindings' module, without CHLO and VHLO, and its context."""
    ir, passmanager, stablehlo, _ = _modules()
    context = _context()
    with context, ir.Location.unknown():
        try:
            if data.startswith(b"ML\xefR") and b"StableHLO_v" in data[:40]:
                module = stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = ir.Module.parse(data)
            dialects = {op.name.partition(".")[0] for op in _walk(module.operation)}
            passes = []
            if "chlo" in dialects:
                _check_scans(module.operation, name)
                _turn_scans(module.operation)
                passes.append("func.func(chlo-legalize-to-stablehlo)")
            if "vhlo" in dialects:
                passes += [f"vhlo-to-version{{target={version()}}}", "vhlo-legalize-to-stablehlo"]
            if passes:
                run = passmanager.PassManager.parse(f"builtin.module({','.join(passes)})").run
                for each in [module.operation, *(op for op in _walk(module.operation) if op.name == "builtin.module")]:
                    run(each)
        except (ir.MLIRError, ValueError, RuntimeError) as error:  # which of them is nanobind's choice; all say what is wrong
            raise ReadError(
                f"{name}: is not StableHLO that can be read: {_first_lines(str(error))}", hint=_hint(str(error))
            ) from None
    return module, context


def _walk(operation: Any) -> Iterator[Any]:
    """The operations in regions of one, at any depth."""
    work = [operation]
    while work:
        for region in work.pop().regions:
            for block in region.blocks:
                for op in block.operations:
                    yield op.operation
                    if len(op.operation.regions):
                        work.append(op.operation)


def _check_scans(operation: Any, name: str) -> None:
    """Raise `ReadError` for scans whose function ends in another op than it has to: MLIR takes any that ends a block."""
    for op in _walk(operation):
        if op.name == "chlo.scan":
            last = list(op.regions[0].blocks[0].operations)[-1].operation.name
            if last != "stablehlo.return":
                raise ReadError(f"{name}: the function of chlo.scan ends in {last}", hint="end it in stablehlo.return")


def _turn_scans(operation: Any) -> None:
    """Say scans from the end as scans from the start, of what is reversed: their decomposition leaves out `is_reverse`."""
    ir, _, stablehlo, _ = _modules()
    for op in [op for op in _walk(operation) if op.name == "chlo.scan" and "is_reverse" in op.attributes]:
        backwards = ir.BoolAttr(op.attributes["is_reverse"]).value
        del op.attributes["is_reverse"]
        if not backwards:
            continue
        dimension = [ir.IntegerAttr(op.attributes["dimension"]).value]
        inputs = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0]
        outputs = ir.DenseI32ArrayAttr(op.attributes["resultSegmentSizes"])[0]
        with ir.InsertionPoint(op), op.location:
            for place in range(inputs):
                op.operands[place] = stablehlo.ReverseOp(op.operands[place], dimension).result
        with _behind(op), op.location:
            for result in list(op.results)[:outputs]:
                turned = stablehlo.ReverseOp(result, dimension)
                result.replace_all_uses_with(turned.result)
                turned.operation.operands[0] = result


def _behind(op: Op) -> Any:
    """Where operations are inserted behind one."""
    ir = _modules()[0]
    operations = list(op.block.operations)
    place = next(index for index, each in enumerate(operations) if each.operation == op)
    return ir.InsertionPoint(operations[place + 1])


def _first_lines(message: str) -> str:
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("note:")] or lines
    if len(lines) > 1 and lines[0].endswith("module assembly:"):  # which says no more than that something is wrong
        lines = lines[1:]
    said = re.sub(r'(?:error: )?"-":(\d+):(\d+)', r"line \1, column \2", "; ".join(lines[:3]))
    return said[:600] or "the bindings give no reason"


_unknown = re.compile(r"custom op '([\w$.]+)' is unknown|not found for custom op '([\w$.]+)'")


def _hint(message: str) -> str:
    near = next((near for names in _unknown.findall(message) if (near := _nearest_op("".join(names))) is not None), None)
    if near is not None:
        return f"the nearest op is {near!r}"
    if "not found for custom op" in message:
        return "the program uses a dialect outside of StableHLO; let the tool that wrote it convert that to StableHLO first"
    return ""


def _nearest_op(name: str) -> str | None:
    """What an op that MLIR does not know may be meant to be: one of its dialect, or of one whose name is nearly the same."""
    _, _, stablehlo, chlo = _modules()
    ops = {made for each in (vars(stablehlo), vars(chlo)) for one in each.values()
           if isinstance(made := getattr(one, "OPERATION_NAME", None), str)}
    prefix, _, rest = name.partition(".")
    dialect = nearest(prefix, {op.partition(".")[0] for op in ops})
    own = {op for op in ops if op.startswith(f"{dialect}.")}
    if prefix == dialect:
        return nearest(name, own)
    return f"{dialect}.{rest}" if f"{dialect}.{rest}" in own else None


def version() -> str:
    """The newest version of portable artifacts that is written."""
    return str(_modules()[2].get_current_version())


def rewritten(data: bytes, name: str) -> bytes:
    """A program that is to be trusted (text or bytecode) as MLIR bytecode that our own reader reads; `ReadError`."""
    ir = _modules()[0]
    module, context = _parse(data, name)
    with context:
        out = io.BytesIO()
        try:
            module.operation.write_bytecode(out, desired_version=_FORMAT)
        except ir.MLIRError as error:
            raise ReadError(f"{name}: cannot be read: {_first_lines(str(error))}") from None
    return out.getvalue()


def portable_artifact(
    text: str | bytes, name: str, target: str | None = None,
) -> bytes:
    """A program, as text, as a portable artifact of StableHLO version `target` (the newest where None).

    Raises `UsageError` with the first operation that the version has not, or where it is none that the bindings write.
    """
    ir, _, stablehlo, _ = _modules()
    oldest, newest = str(stablehlo.get_minimum_version()), version()
    if target is not None and not numbers(oldest) <= numbers(target) <= numbers(newest):
        raise UsageError(
            f"{name}: StableHLO {target} is no version that jaxlib here writes", hint=f"it writes {oldest} to {newest}")
    module, context = _parse(text.encode() if isinstance(text, str) else text, name)
    said: list[str] = []
    with context:
        def hear(diagnostic: Any) -> bool:
            said.append(str(diagnostic.message))
            return True

        handler = context.attach_diagnostic_handler(hear)
        try:
            return bytes(stablehlo.serialize_portable_artifact(module, target or version()))
        except (ir.MLIRError, ValueError, RuntimeError) as error:  # the version lacks an operation
            why = _refused(said) or _first_lines(str(error))
            raise UsageError(
                f"{name}: cannot be written as StableHLO {target or version()}: {why}",
                hint="write it for a later version; the target 'stablehlo' lists everything that a version has not",
            ) from None
        finally:
            handler.detach()


def numbers(version: str) -> tuple[int, ...]:
    """A version as what compares."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


_ILLEGAL = re.compile(r"failed to legalize operation 'vhlo\.([\w-]+)_v\d+'")
_OWNER = {"func": "func", "call": "func", "return": "func"}


def _refused(said: list[str]) -> str:
    """Which operation a version has not, of what the bindings say."""
    for message in said:
        match = _ILLEGAL.search(message)
        if match is not None:
            name = f"{_OWNER.get(match[1], 'stablehlo')}.{match[1]}"
            return f"{name}, or one of its attributes or types, came with a later version"
    return ""
