"""Arguments of the public functions that are of another kind: told by name, before anything is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload.kinds import MAPPING, PATH, TEXTS, takes

pytest.importorskip("onnx")


@pytest.fixture
def model(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


@pytest.mark.parametrize("name", [
    "out", "options", "inputs", "tolerance", "excepts", "input_data", "data", "preprocess", "quantize", "quantizer_options",
    "tell", "format", "function", "weights", "outputs", "passes", "dump", "start", "add_postprocess", "engine",
    "target", "verify"])
def test_convert_is_given_a_number(model: Path, tmp_path: Path, name: str) -> None:
    """Twelve of them ended in TypeError or AttributeError, `preprocess` when all the rest was done."""
    given: dict[str, Any] = {"target": "tosa", "out": tmp_path / "out", name: 5}
    with pytest.raises(UsageError):
        transload.convert(model, **given)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("call", [
    lambda model: transload.convert(model, "tosa", seed="x"), lambda model: transload.compare(model, model, seed="x"),
    lambda model: transload.compare(model, model, excepts=5), lambda model: transload.compare(model, model, shapes=[1]),
    lambda model: transload.evaluate(5, []), lambda model: transload.partition(5, 5),
    lambda model: transload.partition(transload.load(model), 5),
    lambda model: transload.calibrate(transload.load(model), 5), lambda model: transload.evaluate(model, [], metrics=5),
    lambda model: transload.evaluate(model, [], resume=5), lambda model: transload.convert_all(5, "tosa"),
    lambda model: transload.convert_all([model], "tosa", workers="many")])
def test_others_are_given_something_else(model: Path, call: Callable[[Path], Any]) -> None:
    with pytest.raises(UsageError, match=r"^\w+\(\) takes .* as \w+, and was given \w+"):
        call(model)


def test_kinds() -> None:
    @takes(path=PATH, table=MAPPING, names=TEXTS)
    def function(path: Any, table: Any = None, *, names: Any = ()) -> Any:
        """What it does."""
        return path, table, names

    assert function.__doc__ == "What it does."
    assert function("x", None, names=["a"]) == ("x", None, ["a"]) and function(Path("x"), {}, names=iter("ab"))[1] == {}
    for given, named in ((["x", 5], {}), ([5], {}), (["x"], {"table": []}), (["x"], {"names": [1]}), (["x"], {"names": None})):
        with pytest.raises(UsageError):
            function(*given, **named)
    with pytest.raises(TypeError):
        function()
    assert np.int64(3).__index__() == 3
