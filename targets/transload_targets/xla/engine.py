"""The `xla` engine: a module of the `stablehlo` dialect, compiled once, run often.

Elements that dlpack cannot carry (bf16, 8-bit floats, 2- and 4-bit integers) cross the border as unsigned words of
their bits, or as wider integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from transload.conversion import dialects_in
from transload.engine.run import check_inputs, named_outputs
from transload.errors import Finding, RunError, UsageError
from transload.ir import Module, Op, TensorType, Value, dtype_of, update_function_type
from transload.ir.attributes import Symbol
from transload.ir.core import Block, Region
from transload.ir.types import FloatType, FunctionType, IntegerType, QuantType, Type
from transload.text import print_module

from .client import Program

__all__ = ["prepare"]

_PLAIN_FLOATS = ("f16", "f32", "f64")


def prepare(module: Module, function: str = "main") -> Callable[[Mapping[str, Any], bool], dict[str, np.ndarray]]:
    """Compile a function; see `transload.plugin.Engine`. `RunError` says what XLA cannot take."""
    foreign = {name: count for name, count in dialects_in(module).items() if name != "stablehlo"}
    if foreign:
        raise UsageError(
            f"engine 'xla' runs modules in stablehlo; this one is in {', '.join(sorted(foreign))}",
            hint="run it with --engine reference, or convert it to stablehlo first",
        )
    main = module.function(function)
    programs: dict[bool, tuple[Program, list[str]]] = {}

    def execute(inputs: Mapping[str, Any], keep: bool = False) -> dict[str, np.ndarray]:
        arrays = check_inputs(main, inputs)
        if keep not in programs:
            programs[keep] = _compiled(module, main, keep)
        program, names = programs[keep]
        types = [value.type for value in main.regions[0].block.arguments]
        results = program([_outward(array, type_) for array, type_ in zip(arrays, types, strict=True)])
        kept = _kept(main) if keep else []
        returned = [value.type for value in main.regions[0].block.terminator.operands]
        values = [_inward(array, type_) for array, type_ in zip(results, [*(v.type for v in kept), *returned], strict=True)]
        outputs = named_outputs(main, values[len(kept) :])
        return {**dict(zip(names, values, strict=False)), **outputs} if keep else outputs

    return execute


def _kept(main: Op) -> list[Value]:
    """The named intermediates of a function: tensors that it computes outside of regions."""
    return [
        result
        for op in main.regions[0].block
        for result in op.results
        if result.name is not None and isinstance(result.type, TensorType)
    ]


def _compiled(module: Module, main: Op, keep: bool) -> tuple[Program, list[str]]:
    mapping: dict[Value, Value] = {}
    copy = module.clone(mapping)
    name = main.attributes["sym_name"]
    function = copy.functions[name]
    kept = _kept(main) if keep else []
    terminator = function.regions[0].block.terminator
    terminator.operands = [*(mapping[value] for value in kept), *terminator.operands]
    function.attributes.pop("res_attrs", None)
    function.attributes.pop("arg_attrs", None)
    update_function_type(function)
    _check_types(function)
    function.attributes["sym_name"] = "transload_body"
    function.attributes["sym_visibility"] = "private"
    for op in copy.walk():
        if op.name == "func.call" and op.attributes.get("callee") == name:
            op.attributes["callee"] = Symbol("transload_body")
        op.location = None
    copy.body.append(_entry(function))
    text = print_module(copy, locations=False)
    return Program(text, f"function {name!r}"), [value.name or "" for value in kept]


def _entry(function: Op) -> Op:
    """A function `main` that takes and gives what can cross the border, and calls the body."""
    type_ = function.attributes["function_type"]
    block = Block([_border(t) for t in type_.inputs])
    arguments = [_cast(block, argument, t) for argument, t in zip(block.arguments, type_.inputs, strict=True)]
    call = block.append(Op("func.call", arguments, type_.results, {"callee": Symbol("transload_body")}))
    results = [_cast(block, value, _border(value.type)) for value in call.results]
    block.append(Op("func.return", results))
    outer = FunctionType(tuple(_border(t) for t in type_.inputs), tuple(_border(t) for t in type_.results))
    return Op("func.func", (), (), {"sym_name": "main", "function_type": outer, "sym_visibility": "public"}, (Region([block]),))


def _check_types(function: Op) -> None:
    type_ = function.attributes["function_type"]
    findings = [
        Finding(
            str(t), "cannot be given to or taken from XLA", hint="the reference engine runs quantized, dynamic and token types"
        )
        for t in (*type_.inputs, *type_.results)
        if not isinstance(t, TensorType)
        or not t.is_static
        or isinstance(t.element, QuantType)
        or (isinstance(t.element, FloatType) and dtype_of(t.element).itemsize == 1 and not t.element.name.startswith("f8"))
    ]
    if findings:
        raise RunError("engine 'xla' cannot run this function", findings)


def _border_element(element: Type) -> Type:
    if isinstance(element, FloatType) and element.name not in _PLAIN_FLOATS:
        return IntegerType(16 if element.name == "bf16" else 8, "u")
    if isinstance(element, IntegerType) and 1 < element.width < 8:
        return IntegerType(8, element.signedness)
    return element


def _border(type_: Type) -> Type:
    """The type in which a value crosses."""
    return type_.with_element(_border_element(type_.element)) if isinstance(type_, TensorType) else type_


def _cast(block: Block, value: Value, wanted: Type) -> Value:
    if value.type == wanted:
        return value
    both = (value.type, wanted)
    floats = any(isinstance(t, TensorType) and isinstance(t.element, FloatType) for t in both)
    return block.append(Op("stablehlo.bitcast_convert" if floats else "stablehlo.convert", (value,), (wanted,))).result


def _outward(array: np.ndarray, type_: Type) -> np.ndarray:
    """An array as it crosses to XLA."""
    element = type_.element if isinstance(type_, TensorType) else type_
    border = _border_element(element)
    if border == element:
        return array
    return (
        np.ascontiguousarray(array).view(dtype_of(border)) if isinstance(element, FloatType) else array.astype(dtype_of(border))
    )


def _inward(array: np.ndarray, type_: Type) -> np.ndarray:
    """An array that came from XLA, as one of its type."""
    element = type_.element if isinstance(type_, TensorType) else type_
    dtype = dtype_of(element)
    if array.dtype == dtype:
        return array
    if array.dtype.itemsize == dtype.itemsize and not (isinstance(element, IntegerType) and element.width < 8):
        return np.ascontiguousarray(array).view(dtype).reshape(array.shape)  # the same bits: XLA gives random bits as unsigned
    return array.astype(dtype)
