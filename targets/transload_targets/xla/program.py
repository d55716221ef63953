"""From a module to a program that XLA compiles: StableHLO, one function, static shapes, large constants as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from transload.contents import dialects_in
from transload.errors import ConversionError, Finding, RunError, merge_findings
from transload.ir import Dense, Module, Op, QuantType, TensorType, Value, dtype_of, update_function_type
from transload.ir.core import Block
from transload.ir.types import FloatType, Type
from transload.journey import convert_to
from transload.passes.dce import eliminate_dead_code
from transload.passes.inline import inline_calls
from transload.roles import hub
from transload.text import print_module

from .allowed import findings_of, has_known_calls
from .client import XLA
from .narrow_bits import count_own_bits
from .precision import at_highest_precision
from .prepare_cpu import prepare_cpu
from .prepare_cpu_fusion import options_for
from .prepare_gpu import prepare_gpu
from .quantized import without_quantized_types

__all__ = ["Written", "cannot_cross", "crosses", "in_stablehlo", "specialized", "written"]

INLINE_BYTES = 1024
"""Constants up to this size stay in the program's text, where XLA can use their values; splats stay whatever their size."""


@dataclass
class Written:
    """A program for XLA, and what it is called with besides the inputs."""

    text: str
    constants: list[np.ndarray]
    """Arguments after the inputs, in order."""
    inputs: list[Type]
    results: list[Type]
    options: dict[str, Any]
    """For the compiler."""


def in_stablehlo(module: Module, platform: str = "cpu") -> Module:
    """A copy of a module in the `stablehlo` dialect. `ConversionError` lists what no registered conversion takes there.

    On the way through the hub, for the CPU, the graph is turned to channels last, which its backend wants: it would
    transpose each convolution's operands by itself.
    """
    copy = _without_known_calls(module)
    pipeline = hub().pipeline
    convert_to(copy, ("stablehlo",), at_hub=f"layout{{to=NHWC}},{pipeline}" if platform == "cpu" else pipeline)
    return copy


def _without_known_calls(module: Module) -> Module:
    """A copy in the hub's dialect where a program calls what XLA is not given and the hub knows; else, and where the hub does not
    take the rest of it, in its own."""
    if has_known_calls(module):
        copy = module.clone()
        with suppress(ConversionError):
            convert_to(copy, (hub().name,))
            return copy
    return module.clone()


def specialized(module: Module, function: str, arrays: Sequence[np.ndarray]) -> Module:
    """A copy of a module whose function takes arrays of just these shapes; in StableHLO, so are all values in it."""
    copy = module.clone()
    main = copy.function(function)
    for argument, array in zip(main.regions[0].block.arguments, arrays, strict=True):
        if isinstance(argument.type, TensorType):
            argument.type = argument.type.with_shape(array.shape)
    update_function_type(main)
    if set(dialects_in(copy)) - {"stablehlo"}:
        from transload.passes.shapes import infer_shapes

        infer_shapes(copy)
        return copy
    return _refined(copy, main)


def _refined(module: Module, main: Op) -> Module:
    """All shapes of a StableHLO module, as they follow from those of its main function's arguments."""
    from transload.plugin import Source
    from transload.plugin_host import host

    name, attributes = main.attributes["sym_name"], {k: main.attributes.get(k) for k in ("arg_attrs", "res_attrs")}
    main.attributes["sym_name"] = "main"
    for other in module.functions.values():
        if other is not main:
            other.attributes["sym_visibility"] = "private"
    for key in attributes:
        main.attributes.pop(key, None)
    try:
        data = bytes(XLA.call("transload_targets.xla.program:refined", print_module(module)))
    except RunError as error:
        raise type(error)(f"function {name!r}: its shapes do not follow from the inputs': {error.message}") from None
    refined = host().get("readers", "stablehlo")(Source(_data=data, name=f"function {name!r} refined"))
    function: Op = refined.function("main")
    function.attributes["sym_name"] = name
    function.attributes.update({key: value for key, value in attributes.items() if value is not None})
    return refined


def refined(text: str) -> bytes:
    """A program whose main function has arguments of known shapes, with all shapes that follow, as bytecode (`XLA` runs it)."""
    from jaxlib import _jax

    try:
        return bytes(_jax.mlir.refine_polymorphic_shapes(text.encode(), enable_shape_assertions=False))
    except (ValueError, RuntimeError) as error:  # XlaRuntimeError is one: the shapes do not follow from the inputs'
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise RunError("; ".join(lines[:3])[:600]) from None


def written(module: Module, function: str, platform: str, rewrite: bool = True) -> Written:
    """The program of a module in stablehlo with static shapes. Raises `RunError` with everything XLA cannot take."""
    copy = module.clone()
    main = copy.function(function)
    terminator = main.regions[0].block.terminator
    for key in ("res_attrs", "arg_attrs"):
        main.attributes.pop(key, None)
    update_function_type(main)
    inputs = [argument.type for argument in main.regions[0].block.arguments]
    results = [value.type for value in terminator.operands]
    _only(copy, main)
    findings = [*cannot_cross([*inputs, *results]), *findings_of(copy)]
    if findings:
        raise RunError("engine 'xla' cannot run this function", findings)
    without_quantized_types(copy)
    count_own_bits(copy)
    if platform == "cpu" and rewrite:
        prepare_cpu(copy)
    elif platform == "gpu":
        prepare_gpu(copy)
    elif platform != "cpu":
        at_highest_precision(copy)
    eliminate_dead_code(copy)
    options = options_for(main) if platform == "cpu" else {}
    constants = _as_arguments(main)
    update_function_type(main)
    return Written(print_module(copy, locations=False), constants, inputs, results, options)


def _only(module: Module, main: Op) -> None:
    """Make `main` the public function, put what it calls in place of the calls, and drop what nobody calls then."""
    for function in module.functions.values():
        function.attributes["sym_visibility"] = "public" if function is main else "private"
    inline_calls(module)
    if "main" not in module.functions:
        main.attributes["sym_name"] = "main"


def crosses(type_: Type) -> bool:
    """Whether a value of a type can be given to XLA or taken from it."""
    if not isinstance(type_, TensorType) or not type_.is_static:
        return False
    element = type_.element.storage if isinstance(type_.element, QuantType) else type_.element
    if isinstance(element, FloatType) and element.name.startswith("f6E"):
        return False
    try:
        dtype_of(element)
    except ValueError:
        return False
    return True


def cannot_cross(types: Sequence[Type]) -> list[Finding]:
    """A finding for each type of an input or result that cannot be given to XLA or taken from it."""
    return merge_findings([
        Finding(str(type_), "cannot be given to or taken from XLA",
                hint="the reference engine takes these" if isinstance(type_, TensorType) else "give the function tensors alone")
        for type_ in types
        if not crosses(type_)
    ])


def _as_arguments(main: Op) -> list[np.ndarray]:
    """Make large constants arguments of the function, also those in regions of its ops; equal ones share one."""
    block: Block = main.regions[0].block
    arrays: list[np.ndarray] = []
    arguments: dict[Dense, Value] = {}
    for op in list(main.walk()):
        dense = op.attributes.get("value") if op.name == "stablehlo.constant" else None
        if not isinstance(dense, Dense) or dense.nbytes <= INLINE_BYTES or dense.splat_value() is not None:
            continue
        if dense not in arguments:
            arguments[dense] = block.add_argument(op.results[0].type)
            arrays.append(dense.numpy())
        op.replace_with([arguments[dense]])
    return arrays
