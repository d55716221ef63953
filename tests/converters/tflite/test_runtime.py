"""LiteRT as a runtime, and the plugin as a whole: registered names, and what happens without the packages it needs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.budget import allowed
from transload.errors import RunError
from transload.plugin import resolve
from transload.plugin_host import host
from transload_converters.tflite.runtime import available, open_model
from transload_converters.tflite.writer import ModelWriter

from tests.support.tflite_models import write_operator

pytestmark = pytest.mark.skipif(available() is not None, reason="LiteRT is not installed")
F = "float32"


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """`y = |x|`, `z = y * 2`, with a dynamic batch."""
    model = ModelWriter()
    x, y, z = (model.add_tensor(name, (1, 2), F, shape_signature=(-1, 2)) for name in "xyz")
    two = model.add_tensor("two", (), F, np.array(2, np.float32))
    model.add_operator("ABS", [x], [y])
    model.add_operator("MUL", [y, two], [z])
    model.inputs, model.outputs = [x], [z]
    path = tmp_path / "chain.tflite"
    path.write_bytes(model.finish())
    return path


def test_outputs_and_intermediates(chain: Path) -> None:
    run = open_model(chain)
    x = np.array([[-1, 2], [3, -4], [5, 6]], np.float32)
    assert {name: array.tolist() for name, array in run({"x": x}).items()} == {"z": (abs(x) * 2).tolist()}
    kept = run({"x": x}, keep=True)
    assert list(kept)[-1] == "z" and kept["y"].tolist() == abs(x).tolist()
    assert run({"x": x[:1]})["z"].shape == (1, 2), "the shape may change from run to run"


def test_inputs_that_do_not_fit(chain: Path) -> None:
    run = open_model(chain)
    with pytest.raises(RunError, match="is missing"):
        run({})
    with pytest.raises(RunError, match="not an input"):
        run({"x": np.zeros((1, 2), np.float32), "w": np.zeros(1)})


def test_state_starts_anew_in_every_run(tmp_path: Path, write: Callable[..., bytes]) -> None:
    ones: Any = lambda *shape: (shape, F, np.ones(shape, np.float32))  # noqa: E731
    path = tmp_path / "rnn.tflite"
    path.write_bytes(write("RNN", [((1, 2), F), ones(3, 2), ones(3, 3), ones(3), ((1, 3), F, "variable")], [((1, 3), F)]))
    run = open_model(path)
    first = run({"in0": np.ones((1, 2), np.float32)})["out0"]
    assert np.array_equal(first, run({"in0": np.ones((1, 2), np.float32)})["out0"])


def test_models_that_litert_refuses(tmp_path: Path, write: Callable[..., bytes]) -> None:
    path = tmp_path / "mystery.tflite"
    path.write_bytes(write("Mystery", [((2,), F)], [((2,), F)], custom_options=b""))
    with pytest.raises(RunError, match="Mystery"):
        open_model(path)({"in0": np.zeros(2, np.float32)})


@pytest.mark.models
def test_real_models_that_litert_refuses(models: Path) -> None:
    with pytest.raises(RunError, match="quantized_dimension"):
        open_model(models / "tflite/tflm_person_detect_int8/person_detect.tflite")({"input": np.zeros((1, 96, 96, 1), np.int8)})
    with pytest.raises(RunError, match="would take it for int16"):
        open_model(models / "tflite/tflm_keyword_scrambled_svdf_int8/keyword_scrambled_8bit.tflite")


def test_the_plugin_is_registered(chain: Path) -> None:
    assert "tfl" in host().dialects and "tfl-to-top" in host().conversions
    assert inspect.unwrap(resolve(host().runtimes["litert"].open)) is open_model
    module = transload.load(chain)
    assert module.source_format == "tflite"
    outputs = transload.run(module, {"x": np.array([[-1, 2]], np.float32)})
    assert outputs["z"].tolist() == [[2, 4]]


def test_reading_needs_no_package(chain: Path) -> None:
    """The schema is a table of ours: neither LiteRT nor what the FlatBuffers compiler made of it is imported."""
    program = (
        "import sys; sys.modules.update(dict.fromkeys(('tflite', 'flatbuffers', 'ai_edge_litert')))\n"
        "import transload\n"
        f"print(transload.lower(transload.load({str(chain)!r}), 'tosa').main.name)\n")
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "func.func\n"


@pytest.mark.parametrize(("said", "told"), [
    ("not supported by floor_div.Node number 0 (FLOOR_DIV) failed to prepare.",
     "not supported by floor_div. Node number 0 (FLOOR_DIV) failed to prepare."),
    ("got 4Node number 0 (DIV) failed\n", "got 4. Node number 0 (DIV) failed"),
    ("one\nNode number 3 (DIV) failed", "one; Node number 3 (DIV) failed"), ("", "RuntimeError")])
def test_what_litert_says_has_breaks(said: str, told: str) -> None:
    from transload_converters.tflite.litert import _first_line

    assert _first_line(RuntimeError(said)) == told


def test_outputs_take_no_more_than_is_allowed(tmp_path: Path) -> None:
    """A file of a kilobyte that says another shape than its RESIZE has gave 704 MB, three times at once."""
    path = tmp_path / "large.tflite"
    sizes = ((2,), "int32", np.array([64, 512], np.int32))
    path.write_bytes(write_operator("RESIZE_NEAREST_NEIGHBOR", [((1, 2, 2, 1), "float32"), sizes], [((7,), "float32")]))
    with allowed(memory=1 << 16), pytest.raises(RunError, match=r"take 131,072 bytes, and 65,536 are allowed: .*memory=131072"):
        open_model(path)({"in0": np.zeros((1, 2, 2, 1), np.float32)})
    with allowed(memory=1 << 17):
        assert open_model(path)({"in0": np.zeros((1, 2, 2, 1), np.float32)})["out0"].shape == (1, 64, 512, 1)
