"""Arguments of the library that are none end in errors that say what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, UsageError
from transload.testing import build_op

IMAGE = {"image": np.zeros((1, 1, 8, 8), np.float32)}


@pytest.mark.parametrize("shape", ["1x1x8x8", (None, 1, 8, 8), (1.5, 1, 8, 8), (-1, 1, 8, 8), 5, None])
def test_shapes(shape: Any, examples: Path) -> None:
    with pytest.raises(UsageError, match="the shape of input 'image' must be whole numbers from 0 on"):
        transload.load(examples / "digits" / "digits_float.onnx", inputs={"image": shape})


@pytest.mark.parametrize(("call", "why"), [
    (lambda file, module: transload.load(file, inputs=[("image", (1, 1, 8, 8))]), "inputs must be a dictionary"),
    (lambda file, module: transload.run(module, [IMAGE["image"]]), "must be a dictionary, and is a list"),
    (lambda file, module: transload.run(module, IMAGE, engine=3), "engine is said by its name"),
    (lambda file, module: transload.convert(module, target=3), "a target is said by its name"),
    (lambda file, module: transload.convert(3), "a model is a path or a Module, and this is a int"),
    (lambda file, module: transload.convert(None), "a model is a path or a Module"),
    (lambda file, module: transload.extract(module, []), "needs an output"),
])
def test_other_arguments(call: Callable[..., Any], why: str, examples: Path) -> None:
    file = examples / "digits" / "digits_float.onnx"
    with pytest.raises(UsageError, match=why):
        call(file, transload.load(file))


@pytest.mark.parametrize(("what", "use"), [
    ("run()", lambda module, out: transload.run(module, {"x0": np.zeros(3, np.float32)})),
    ("convert()", lambda module, out: transload.convert(module, "tosa", out)),
])
def test_modules_that_are_not_valid(what: str, use: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    """What broke its declaration went on to rewrites and kernels that rely on it: numbers of no meaning, and no word."""
    module = build_op("top.Pad", np.zeros(3, np.float32), paddings=(1, 1), mode="wrap")
    with pytest.raises(ConversionError) as raised:
        use(module, tmp_path / "out")
    assert raised.value.message.startswith(f"{what} was given a module that is not valid")
    (finding,) = raised.value.findings
    assert finding.what == "top.Pad" and "'mode' must be" in finding.why
    assert not (tmp_path / "out/model.tosa").exists()
