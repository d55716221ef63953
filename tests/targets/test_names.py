"""Names of inputs and outputs that are no UTF-8, as files of StableHLO may have them: every format has them in its own way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.cli import run as command
from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.written import written_at
from transload_converters.tflite.writer import ModelWriter

INPUTS = ("a\udcff", "b\udcfe")
"""As Python has the bytes of a text that is none."""


def difference() -> Module:
    """A function whose two inputs cannot be exchanged."""
    module = new_module()
    function = module.add_function("main", [TensorType((2,), F32)] * 2, [*INPUTS])
    block = function.regions[0].block
    set_results(function, [Builder(block, location="y").emit("top.Sub", *block.arguments)], ["y\udcff"])
    return module


@pytest.mark.parametrize("target", ["onnx", "tflite", "tosa", "stablehlo"])
def test_artifacts_take_and_give_them(target: str, tmp_path: Path) -> None:
    """Where a format has texts of UTF-8 alone, its runtime is told of inputs by what is spelt out there."""
    pytest.importorskip({"onnx": "onnxruntime", "tflite": "ai_edge_litert"}.get(target, "numpy"))
    out, made = tmp_path / "out", tmp_path / "made.npz"
    transload.convert(difference(), target, out)
    found = written_at(out)
    assert found is not None
    given = dict(zip(INPUTS, np.array([[1, 2], [5, 8]], np.float32), strict=True))
    results = found.execute(given)
    assert {name: array.tolist() for name, array in results.items()} == {"y\udcff": [-4, -6]}
    assert command(["run", str(out), "-o", str(made)]) == 0
    with np.load(made) as archive:
        assert archive.files == ["y\\udcff"]


def test_a_tflite_file_with_them(tmp_path: Path) -> None:
    """A FlatBuffer's texts are UTF-8, and other writers than ours may not know it; LiteRT's Python runs no such file."""
    writer = ModelWriter()
    first, second, last = (writer.add_tensor(name, (2,), "float32") for name in ("aQ", "aR", "aS"))
    writer.inputs, writer.outputs = [first, second], [last]
    writer.add_operator("SUB", [first, second], [last])
    model, data = tmp_path / "names.tflite", writer.finish()
    for number, name in enumerate((b"aQ\0", b"aR\0", b"aS\0")):
        assert data.count(name) == 1
        data = data.replace(name, bytes([name[0], 0xF0 + number, 0]))
    model.write_bytes(data)
    for target in ("onnx", "tflite", "tosa", "stablehlo"):
        out = tmp_path / target
        transload.convert(model, target, out, verify=False)
        given = dict(zip(transload.load(model).inputs, np.array([[1, 2], [5, 8]], np.float32), strict=True))
        found = written_at(out)
        assert len(given) == 2 and found is not None
        (result,) = found.execute(given).values()
        assert result.tolist() == [-4, -6]
