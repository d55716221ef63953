"""Files of TFLite that are written as they were read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from transload.api import load, save
from transload_converters.tflite.writer import ModelWriter

from tests.support.litert import run_litert
from tests.support.tflite_ops import cases_sparse
from tests.support.tflite_ops.build import build
from tests.support.tflite_ops.spec import Case


def again(content: bytes, folder: Path) -> bytes:
    (folder / "model.tflite").write_bytes(content)
    save(load(folder / "model.tflite"), folder / "again.tflite")
    return (folder / "again.tflite").read_bytes()


def test_scalars_that_the_file_gives_no_shape(tmp_path: Path) -> None:
    """The shape of what is computed of scalars may be left out, and the version of SUB follows from the rank."""
    model = ModelWriter()
    x, y = (model.add_tensor(name, (), "float32") for name in "xy")
    inner, out = model.add_tensor("inner", None, "float32"), model.add_tensor("out", None, "float32")
    model.add_operator("SUB", [x, y], [inner])
    model.add_operator("MAXIMUM", [inner, y], [out])
    model.inputs, model.outputs = [x, y], [out]
    content, given = model.finish(), {"x": np.float32(3), "y": np.float32(1)}
    np.testing.assert_array_equal(*(run_litert(each, given)[0] for each in (content, again(content, tmp_path))))


@pytest.mark.parametrize("case", cases_sparse.CASES, ids=str)
def test_sparse_constants(case: Case, tmp_path: Path) -> None:
    """They are dense when they are read, and LiteRT's DENSIFY takes sparse ones alone."""
    built = build(case)
    np.testing.assert_array_equal(
        *(run_litert(content, built.feeds)[0] for content in (built.content, again(built.content, tmp_path))))
