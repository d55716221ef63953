"""Cases as modules of dialect `aten`, and how near their results must come to torch's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import transload
from transload.ir import ArrayData, Block, ComplexType, Dense, DenseArray, Module, Op, TensorType, Value, new_module, set_results
from transload.ir.constants import element_type_of
from transload.ir.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, NONE, UI8, Type
from transload_converters.pytorch.schemas import schema_of

from .spec import Case, Dt, T
from tests.networks.journey import fitted

__all__ = ["distance", "inputs_of", "module_of", "results_of"]

ELEMENTS: dict[str, Type] = {"f32": F32, "f64": F64, "f16": F16, "bf16": BF16, "i64": I64, "i32": I32, "i16": I16, "i8": I8,
                             "ui8": UI8, "i1": BOOL, "c64": ComplexType(F32)}


FIRST = {
    "_embedding_bag.default", "_embedding_bag_forward_only.default", "embedding_bag.default", "embedding_bag.padding_idx",
    "_native_batch_norm_legit_no_training.default", "_scaled_dot_product_flash_attention_for_cpu.default",
    "_scaled_dot_product_attention_math.default", "native_batch_norm.default", "_batch_norm_no_update.default",
    "_native_batch_norm_legit_functional.default", "_batch_norm_impl_index.default", "_weight_norm_interface.default",
    "log_sigmoid_forward.default", "_linalg_det.default"}
"""Operators whose other results are for training."""


def module_of(case: Case, results: Sequence[np.ndarray]) -> Module:
    """One op of `aten` in a function whose arguments are the tensors that are no constants."""
    made = case.make()
    tensors = [(spec, array) for key in case.arguments for spec, array in _flat(case.arguments[key], made[key])
               if isinstance(spec, T)]
    module = new_module()
    free = [(spec, array) for spec, array in tensors if not spec.constant]
    main = module.add_function("main", [_given(spec, array) for spec, array in free],
                               [f"x{i}" for i in range(len(free))])
    block = main.regions[0].block
    arguments = iter(block.arguments)
    segments: list[int] = []
    operands: list[Value] = []
    attributes: dict[str, Any] = {}

    def operand(spec: Any, array: Any) -> Value:
        if spec is None:
            return block.append(Op("aten.NoValue", (), (NONE,))).results[0]
        if not spec.constant:
            value = next(arguments)
            if spec.dtype == "c64":
                value = _emit(block, "view_as_complex", value, TensorType(array.shape, ELEMENTS["c64"]))
            return value
        dense = Dense(ArrayData(array))
        return block.append(Op("aten.Constant", (), (dense.type,), {"value": dense})).results[0]

    schema = schema_of(f"aten.{case.op}")
    assert schema is not None
    for argument in schema.arguments:
        given = case.arguments.get(argument.name)
        if argument.is_tensor:
            parts = _flat(given, made.get(argument.name)) if argument.many or given is not None else [(None, None)]
            segments.append(len(parts))
            operands += [operand(*part) for part in parts]
        elif given is not None:
            attributes[argument.name] = _attribute(given, argument.kind)
    if sum(a.is_tensor and a.many for a in schema.arguments) > 1:
        attributes["segments"] = tuple(segments)
    types = [TensorType(result.shape, element_type_of(result.dtype)) for result in results]
    op = block.append(Op(f"aten.{case.op}", operands, types, attributes, (), "y"))
    kept = list(op.results[:1] if case.op in FIRST else op.results)
    for place, value in enumerate(kept):
        if isinstance(value.element, ComplexType):
            kept[place] = _emit(block, "view_as_real", value, TensorType((*value.static_shape, 2), F32))
    set_results(main, kept, [f"y{i}" for i in range(len(kept))])
    return module


def _given(spec: T, array: np.ndarray) -> TensorType:
    """The type of an argument; complex numbers are given as pairs."""
    return TensorType((*array.shape, 2), F32) if spec.dtype == "c64" else TensorType(array.shape, ELEMENTS[spec.dtype])


def _emit(block: Block, name: str, value: Value, type_: TensorType) -> Value:
    return block.append(Op(f"aten.{name}.default", (value,), (type_,))).results[0]


def _flat(spec: Any, made: Any) -> list[tuple[Any, Any]]:
    return list(zip(spec, made, strict=True)) if isinstance(spec, list) else [(spec, made)]


def _attribute(given: Any, kind: str) -> Any:
    if isinstance(given, Dt):
        return ELEMENTS[given.name]
    if isinstance(given, complex):
        return str(given)  # as the reader writes it
    if isinstance(given, list):
        numbers = all(isinstance(each, int) for each in given)
        return tuple(given) if numbers else DenseArray(tuple(map(float, given)), F64)
    return float(given) if kind == "float" else given


def inputs_of(case: Case) -> list[np.ndarray]:
    """The arrays of the arguments."""
    made = case.make()
    arrays = [array for key in case.arguments for spec, array in _flat(case.arguments[key], made[key])
              if isinstance(spec, T) and not spec.constant]
    return list(map(_pairs, arrays))


def _pairs(array: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of real ones in a last dimension."""
    return np.stack([array.real, array.imag], -1) if array.dtype == np.complex64 else array


def results_of(module: Module, case: Case) -> list[np.ndarray]:
    """What the reference engine makes of a module."""
    given = dict(zip(module.inputs, fitted(module, inputs_of(case)), strict=True))
    return list(transload.run(module, given, engine="reference").values())


TOLERANCES = {"float32": 1e-5, "float64": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


def distance(results: Sequence[np.ndarray], wanted: Sequence[np.ndarray], case: str) -> float:
    """By how much the worst result is off: floats relative to the greatest number (or 1); raises where that is too much."""
    assert results, case
    worst = 0.0
    for place, (result, expected) in enumerate(zip(results, map(_pairs, wanted), strict=False)):
        assert result.shape == expected.shape, f"{case}, result {place}: {result.shape}, and torch gives {expected.shape}"
        if str(expected.dtype) not in TOLERANCES:
            np.testing.assert_array_equal(result.astype(np.int64), expected.astype(np.int64), err_msg=f"{case}, result {place}")
            continue
        a, b = result.astype(np.float64), expected.astype(np.float64)
        assert (np.isfinite(a) == np.isfinite(b)).all(), f"{case}, result {place}"
        finite = np.isfinite(b)
        np.testing.assert_array_equal(a[~finite], b[~finite], err_msg=f"{case}, result {place}")
        scale = max(float(np.abs(b[finite]).max(initial=0.0)), 1.0)
        off = float(np.abs(a[finite] - b[finite]).max(initial=0.0)) / scale
        assert off <= TOLERANCES[str(expected.dtype)] and not math.isnan(off), f"{case}, result {place}: off by {off:.1e}"
        worst = max(worst, off)
    return worst
