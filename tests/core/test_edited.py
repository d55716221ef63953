"""A module that was changed since it was read is not judged by its file without a word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.edited import note_of_edits
from transload.ir import Dense, Module


@pytest.fixture(scope="module", params=["digits_float.onnx", "digits_int8.tflite"])
def model(request: pytest.FixtureRequest, examples: Path) -> Module:
    return transload.load(examples / "digits" / request.param)


def test_nothing_is_said_of_a_module_as_it_was_read_or_converted(model: Module) -> None:
    for same in (model, transload.legalize(model), transload.api.at_hub(model), transload.lower(model)):
        assert note_of_edits(same) is None


def test_other_shapes_are_no_edits(examples: Path) -> None:
    wide = transload.load(examples / "digits" / "digits_float.onnx", inputs={"image": (3, 1, 8, 8)})
    assert note_of_edits(wide) is None


@pytest.mark.parametrize("target", ["tosa", "stablehlo"])
def test_other_numbers_are(model: Module, tmp_path: Path, target: str) -> None:
    changed = model.clone()
    constant = max((op for op in changed.ops() if op.name.endswith((".Constant", "const"))),
                   key=lambda op: op.result.type.num_elements)
    key, dense = next((key, value) for key, value in constant.attributes.items() if isinstance(value, Dense))
    constant.attributes[key] = Dense(np.zeros_like(dense.numpy()), dense.type)
    made = transload.convert(changed, target, out=tmp_path / "out")
    assert f"the module is not what {model.source} holds" in made.report.notes[-1] and key in made.report.notes[-1]
    assert made.verification is not None and made.verification.failed
    assert made.verification.notes[0] == made.report.notes[-1]
    assert not any("conversion is wrong" in note for note in made.verification.notes), "nobody says what is right"


def test_a_file_that_is_gone_is_left_to_the_judge(tmp_path: Path, examples: Path) -> None:
    file = tmp_path / "m.tflite"
    file.write_bytes((examples / "digits" / "digits_int8.tflite").read_bytes())
    module = transload.load(file)
    file.unlink()
    assert note_of_edits(module) is None


def test_other_names_of_inputs_are(model: Module, tmp_path: Path) -> None:
    """The file is given what it calls otherwise; `transload.extract` renames what is told so."""
    changed = model.clone()
    changed.main.attributes["arg_attrs"] = [{"ml_program.identifier": "picture"}]
    assert "has no input 'picture'" in (note_of_edits(changed) or "")
