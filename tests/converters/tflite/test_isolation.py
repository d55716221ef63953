"""Models that end the process of LiteRT, or make it refuse: ours goes on, and the conversion says that nobody judged it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import TransloadError

from tests.support.tflite_models import write_operator

pytest.importorskip("ai_edge_litert")


def int8(shape: tuple[int, ...], scale: float = 0.5, zero_point: int = 0) -> tuple:
    return shape, "int8", None, ([scale], [zero_point])


MODELS = {
    "softmax with beta 0": write_operator("SOFTMAX", [int8((2, 4))], [int8((2, 4), 1 / 256, -128)], {"beta": 0.0}),
    "sum with a scale of 3e38": write_operator("ADD", [int8((4,), 3e38), int8((4,))], [int8((4,))]),
    "scale of a denormal": write_operator("MUL", [int8((4,), 1e-45), int8((4,), 1e-45)], [int8((4,))]),
    "pool with a window of 0": write_operator(
        "AVERAGE_POOL_2D", [((1, 4, 4, 1), "float32")], [((1, 4, 4, 1), "float32")],
        {"filter_height": 0, "filter_width": 0, "stride_h": 1, "stride_w": 1}),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_conversion_survives_its_judge(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(MODELS[name])
    try:
        artifact = transload.convert(path, "tosa", tmp_path / "out")
    except TransloadError as error:
        assert not (tmp_path / "out" / "m.tosa").exists()
        assert str(error)
        return
    assert (tmp_path / "out" / "m.tosa").is_file()
    assert artifact.verification is not None
    if artifact.verification.status == "skipped":
        assert "could not judge" in artifact.verification.why


def test_a_judge_that_ends_could_not_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transload_converters.tflite.runtime import LITERT

    monkeypatch.setattr(LITERT, "open", lambda *how, **limits: lambda inputs, keep=False: LITERT.call("os:abort"))
    path = tmp_path / "m.tflite"
    path.write_bytes(write_operator("RELU", [((2, 4), "float32")], [((2, 4), "float32")]))
    artifact = transload.convert(path, "tosa", tmp_path / "out")
    assert artifact.verification is not None
    assert artifact.verification.status == "skipped"
    assert "could not judge" in artifact.verification.why
    assert "SIGABRT" in artifact.verification.why
    monkeypatch.undo()
    assert transload.convert(path, "tosa", tmp_path / "out").verified


def test_litert_is_not_in_this_process(tmp_path: Path) -> None:
    """Softmax with beta 0 divides by zero in LiteRT's preparation."""
    from transload_converters.tflite.runtime import open_model

    path = tmp_path / "m.tflite"
    path.write_bytes(MODELS["softmax with beta 0"])
    try:
        open_model(path)({"in0": np.zeros((2, 4), np.int8)})
    except TransloadError as error:
        assert error.message
