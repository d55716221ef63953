"""The lowering as a whole: what is done to a module of `top` ops before, during and after the conversion."""

from __future__ import annotations

from typing import Any

from transload.errors import ConversionError, merge_findings
from transload.ir import Module, update_function_type
from transload.plugin import resolve
from transload.plugin_host import host
from transload.rewrite import convert_ops
from transload_hub.analysis.integer_widths import narrowable

from .prepare.block_scales import spell_out_blocks
from .prepare.doubles import findings_of_doubles
from .prepare.fixed_point import fuse_fixed_point
from .prepare.float_islands import tabulate_islands
from .prepare.signedness import make_signed, strip_quantized_types

__all__ = ["lower"]

BEFORE: tuple[tuple[str, dict[str, Any]], ...] = (("fold-constants", {}), ("canonicalize", {}), ("layout", {"to": "NHWC"}))
AFTER: tuple[tuple[str, dict[str, Any]], ...] = (("dce", {}), ("tosa-canonicalize", {}), ("cse", {}), ("dce", {}))
"""Passes, with options, run before and after the conversion."""


def lower(module: Module, int64: str = "proved", f64: str = "narrowed") -> None:
    """Convert a module of `top` ops to TOSA, in place.

    The arguments and results of its entry functions keep their bits; quantized types become their storage,
    unsigned 8- and 16-bit types signless ones, and 64-bit types 32-bit ones: where that is proved to change no
    number, or, with `int64="assumed"`, where it is possible that it does not (see `int64`). f64 becomes f32,
    which is noted on the module, or is refused with `f64="refused"`. Raises
    `ConversionError` with every op that cannot be converted.
    """
    _run(module, BEFORE)
    if fuse_fixed_point(module, int64 == "assumed"):
        _run(module, (("dce", {}),))
    findings = narrowable(module, assumed=int64 == "assumed")
    findings += findings_of_doubles(module, f64)
    spell_out_blocks(module)
    make_signed(module)
    tabulate_islands(module)
    try:
        convert_ops(module, host().table("top-to-tosa"), "top", hint=_hint, options={"int64": int64})
    except ConversionError as error:
        findings.extend(error.findings)
    if findings:
        findings = merge_findings(findings)
        kinds = len({finding.what for finding in findings})
        raise ConversionError(
            f"{sum(finding.count for finding in findings)} op(s) of {kinds} kind(s) cannot be converted from 'top'", findings)
    _drop_absent(module)
    strip_quantized_types(module)
    for function in module.functions.values():
        if function.regions[0].blocks:
            update_function_type(function)
    _run(module, AFTER)


def _run(module: Module, passes: tuple[tuple[str, dict[str, Any]], ...]) -> None:
    for name, options in passes:
        resolve(host().get("passes", name).run)(module, **options)


def _drop_absent(module: Module) -> None:
    """Remove what stood for absent operands."""
    for op in list(module.walk()):
        if op.name == "top.None" and not op.result.uses:
            op.erase()


def _hint(op_name: str) -> str:
    return (f"a plugin can add it: hook register_conversions with Conversion(extends='top-to-tosa', "
            f"table=<a RewriteTable with {op_name!r}>)")
