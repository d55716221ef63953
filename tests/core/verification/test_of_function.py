"""An artifact is of one function of its model: another that is asked for beside it is refused, and said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload.ir import Module
from transload.meanings import of_function

TWO = """module {
  func.func @enc(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %z = stablehlo.tanh %x : tensor<2x3xf32>
    return %z : tensor<2x3xf32>
  }
  func.func @dec(%h: tensor<2x3xf32>, %k: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %m = stablehlo.multiply %h, %k : tensor<2x3xf32>
    return %m : tensor<2x3xf32>
  }
  func.func @neg(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %z = stablehlo.negate %x : tensor<2x3xf32>
    return %z : tensor<2x3xf32>
  }
}
"""


@pytest.mark.parametrize("asked", ["enc", "neg"])
def test_compare_says_which_function_the_artifact_is_of(asked: str, tmp_path: Path) -> None:
    """Of other inputs, and of the same, where what differs would be put down to the conversion."""
    pytest.importorskip("jaxlib", reason="it judges")
    model = tmp_path / "two.mlir"
    model.write_text(TWO)
    made = {"enc": "dec", "neg": "enc"}[asked]
    transload.convert(model, "tosa", tmp_path / "out", function=made, verify=False)
    for shapes in ({}, {"arg1": (3,)}):
        with pytest.raises(UsageError, match=f"made of the function '{made}', and '{asked}' is asked for") as raised:
            transload.compare(model, tmp_path / "out", function=asked, shapes=shapes)
        assert f"--function {asked}" in raised.value.hint
    assert not transload.compare(model, tmp_path / "out", function=made).broken


def test_a_report_without_a_function_is_said_beside_one_that_is_asked_for(tmp_path: Path) -> None:
    """It is of the main function, and what differs from another would be put down to the conversion."""
    pytest.importorskip("jaxlib", reason="it judges")
    model = tmp_path / "two.mlir"
    model.write_text(TWO.replace("@enc", "@main"))
    transload.convert(model, "tosa", tmp_path / "out", verify=False)
    found = transload.compare(model, tmp_path / "out", function="neg")
    note = "the report beside the artifact names no function, which is the model's main one then; it is compared with 'neg'"
    assert found.broken and note in found.notes and found.as_dict()["function_unsaid"] == "neg"
    assert not any("names no function" in each for each in transload.compare(model, tmp_path / "out").notes)
    samples = {"arg0": np.ones((2, 2, 3), np.float32)}
    scored = transload.evaluate([model, tmp_path / "out"], samples, function="neg", metrics=("equal",))
    assert f"{tmp_path / 'out'}: {note}" in scored.notes
    asked_nothing = transload.evaluate([model, tmp_path / "out"], samples, metrics=("equal",))
    assert not any("names no function" in each for each in asked_nothing.notes)


def test_evaluate_does_too(tmp_path: Path) -> None:
    model = tmp_path / "two.mlir"
    model.write_text(TWO)
    transload.convert(model, "tosa", tmp_path / "out", function="enc", verify=False)
    x = np.ones((2, 3), np.float32)
    with pytest.raises(UsageError, match="made of the function 'enc', and 'neg' is asked for"):
        transload.evaluate([model, tmp_path / "out"], [({"arg0": x}, x)], function="neg")


def test_a_model_without_that_function_is_asked_for_its_own() -> None:
    """A file of the same model in another format has its functions under other names."""
    main = Module()

    def read(name: str | None) -> Module:
        if name != "serving":
            from transload.errors import MissingFunction

            raise MissingFunction("none")
        return main

    assert of_function(read, "serving", "dec") is main
