"""What is verified is what was written: a writer that errs is found out, as a lowering is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import ArrayData, Dense, Module
from transload_targets.tosa.target import TosaTarget

pytest.importorskip("ai_edge_litert")


def other_weights(module: Module) -> Module:
    """The same with half of its largest constant turned round."""
    made = module.clone()
    constant = max((op for op in made.ops() if op.name == "tosa.const"), key=lambda op: op.values.data.numpy().size)
    array = np.array(constant.values.data.numpy())
    flat = array.reshape(-1)
    flat[:flat.size // 2] = flat[:flat.size // 2][::-1]
    constant.attributes["values"] = Dense(ArrayData(array))
    return made


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_a_writer_that_writes_something_else(
    examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quantize: str | None,
) -> None:
    """The module in memory was run, and the file never looked at."""
    write = TosaTarget.emit

    def emit(self: TosaTarget, module: Module, *given: Any) -> Any:
        return write(self, other_weights(module), *given)

    model = examples / "digits" / ("digits_int8.tflite" if quantize is None else "digits_float.tflite")
    images = np.load(examples / "digits" / "test_images.npz")["images"][:8].reshape(-1, 8, 8, 1) / np.float32(16)
    how: dict[str, Any] = {} if quantize is None else {"quantize": quantize, "data": images}
    assert transload.convert(model, "tosa", tmp_path / "right", **how).verification.passed
    monkeypatch.setattr(TosaTarget, "emit", emit)
    wrong = transload.convert(model, "tosa", tmp_path / "wrong", **how)
    assert wrong.verification.failed and wrong.report.exit_code == 4


def test_a_file_that_cannot_be_read_back_is_told(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = TosaTarget.emit

    def emit(self: TosaTarget, module: Module, *given: Any) -> Any:
        emitted = write(self, module, *given)
        emitted.files[0].write_bytes(b"no flatbuffer")
        return emitted

    monkeypatch.setattr(TosaTarget, "emit", emit)
    made = transload.convert(examples / "digits" / "digits_int8.tflite", "tosa", tmp_path)
    assert made.verification.status == "inconclusive" and "digits_int8.tosa cannot be read back" in made.verification.why
    assert "right: digits_int8.tosa is no TOSA flatbuffer" in made.verification.why  # it named a directory that is gone by now
