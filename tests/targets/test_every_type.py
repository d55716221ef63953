"""Every op of the hub of every element type: what a target writes, runtimes run, and it gives what the hub's kernels do."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, TransloadError
from transload.ir import Module
from transload.ir.verify import check
from transload.testing import build_op

from .forms import ELEMENTS, FORMS

SHARE = 12
"""One of so many forms is tried without `-m slow`."""
NEEDS = {"onnx": "onnxruntime", "tflite": "ai_edge_litert", "stablehlo": "jaxlib", "tosa": "numpy"}
_FLOATS = {np.dtype(np.float64): np.dtype(np.float32)}
_SMALLER = {
    "tosa": {np.dtype(np.int64): np.dtype(np.int32), np.dtype(np.uint64): np.dtype(np.uint32), **_FLOATS}, "tflite": _FLOATS}
"""What targets have in place of types of 64 bits, as their reports say."""


def _cases(target: str) -> list[object]:
    return [pytest.param(target, form, element, id=f"{target}-{form}-{element}", marks=(
        [] if crc32(f"{target} {form} {element}".encode()) % SHARE == 0 else [pytest.mark.slow]))
        for form in FORMS for element in ELEMENTS]


def _module(form: str, element: str) -> tuple[Module, dict[str, np.ndarray]] | None:
    """The op of an element type, and its inputs; None where it is not declared for it."""
    asked = FORMS[form]
    operands = asked.make(ELEMENTS[element])
    try:
        module = build_op(f"top.{asked.name}", *operands, constant=asked.constant, **asked.attributes)
    except TransloadError:
        return None
    given = [array for place, array in enumerate(operands) if array is not None and place not in asked.constant]
    return None if check(module) else (module, dict(zip(module.inputs, given, strict=True)))


@pytest.mark.parametrize(("target", "form", "element"), [case for target in NEEDS for case in _cases(target)])
def test_what_is_written_runs_and_gives_the_hubs_numbers(target: str, form: str, element: str, tmp_path: Path) -> None:
    """Sums of plain int8 were 0 in LiteRT, which took them for quantized; ONNX was written of types that its operators lack."""
    pytest.importorskip(NEEDS[target])
    made = _module(form, element)
    if made is None:
        return
    module, given = made
    try:
        transload.convert(module, target, tmp_path / "out", verify=False)
    except ConversionError as error:
        assert error.findings and "please report" not in str(error)
        return
    if target == "tosa" and element in ("u32", "u64"):
        return  # its integers have signs: `test_signedness` looks at these
    try:
        found = transload.run(tmp_path / "out", given)
    except TransloadError as error:
        assert target == "onnx", error
        _has_no_kernel(error, tmp_path / "out/model.onnx")
        return
    for wanted, array in zip(transload.run(module, given).values(), found.values(), strict=True):
        _compare(form, array, wanted.astype(_SMALLER.get(target, {}).get(wanted.dtype, wanted.dtype)))


def _has_no_kernel(error: TransloadError, model: Path) -> None:
    """What onnxruntime does not run is valid, and of a type that it has no kernel for."""
    import onnx

    assert any(words in str(error) for words in ("NOT_IMPLEMENTED", "MLDataType", "data type is not supported")), error
    onnx.checker.check_model(str(model), full_check=True)


def _compare(form: str, found: np.ndarray, wanted: np.ndarray) -> None:
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    if wanted.dtype.kind == "b":
        np.testing.assert_array_equal(found, wanted)
    elif wanted.dtype.kind in "iu":  # of integers, the fraction of what is computed in floats is cut off
        in_floats = form == "Interp linear" or form.startswith(("ReduceLog", "ReduceL2"))
        np.testing.assert_allclose(found.astype(np.int64), wanted.astype(np.int64), rtol=0, atol=int(in_floats))
    else:
        near = 3e-2 if wanted.dtype.itemsize == 2 else 2e-4
        np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=near, atol=near)
